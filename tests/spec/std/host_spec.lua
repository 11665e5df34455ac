local host = require "std.host"

describe("std.host", function()
  it("knows its version, its arguments and its system", function()
    assert.matches("^%d+%.%d+%.%d+$", host.version)
    assert.equal("script", host.argv()[1])
    local uname <close> = assert(io.popen "uname -s")
    assert.equal(uname:read(), host.platform().os)
  end)

  it("finds the programs installed with it and nothing else", function()
    assert.matches("/libexec/alisio/jail$", assert(host.helper "jail"))
    local path, err, id = host.helper "sh"
    assert.is_nil(path)
    assert.equal("not_found", id)
    assert.matches("libexec/alisio", err, 1, true)
  end)

  it("loads a module of the program #oom", function()
    package.loaded["std.asset"] = nil
    assert.is_function(require("std.asset").read)
  end)

  it("says which module it does not have #oom", function()
    local ok, err = pcall(require, "std.no_such_module")
    assert.is_false(ok)
    assert.matches("std.no_such_module", err, 1, true)
  end)

  it("puts a folder in front of package.path, but not of the program's own modules", function()
    local before <close> = setmetatable({ package.path }, { __close = function(saved)
      package.path = saved[1]
    end })
    host.add_lua_path "/no/such"
    assert.equal("/no/such/?.lua;/no/such/?/init.lua;" .. before[1], package.path)
    assert.has_error(function()
      host.add_lua_path "/a;b"
    end)
  end)

  it("does not load modules from the working folder", function()
    for entry in (package.path .. ";" .. package.cpath):gmatch "[^;]+" do
      assert.is_nil(entry:find "^%./", entry)
    end
  end)
end)
