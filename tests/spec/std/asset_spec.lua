local asset = require "std.asset"

describe("std.asset", function()
  it("reads a file of the program #oom", function()
    assert.matches("^%-%-%- The files inside the program", assert(asset.read "stdlib/lua/std/asset.lua"))
  end)

  it("names what it does not have #oom", function()
    local bytes, err, id = asset.read "stdlib/lua/std/nothing.lua"
    assert.is_nil(bytes)
    if id == "not_found" then
      assert.matches("stdlib/lua/std/nothing.lua", err, 1, true)
    else
      error(err)
    end
  end)

  it("lists what begins with a prefix, sorted, each once", function()
    local names = asset.list "stdlib/lua/std/"
    local before = ""
    for _, name in ipairs(names) do
      assert.matches("^stdlib/lua/std/", name)
      assert.is_true(before < name, name)
      before = name
    end
    assert.is_true(#names > 5)
    assert.are.same({}, asset.list "no/such/")
  end)

  it("knows the SHA-256 of what it reads", function()
    local name = "stdlib/lua/std/asset.lua"
    local openssl <close> = assert(io.popen("openssl dgst -sha256 -r " .. name))
    assert.equal(openssl:read(64), asset.sha256(name))
    local hex, _, id = asset.sha256 "no/such"
    assert.is_nil(hex)
    assert.equal("not_found", id)
  end)
end)
