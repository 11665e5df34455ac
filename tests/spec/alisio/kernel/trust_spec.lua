local fs = require "std.fs"
local json = require "std.json"
local path = require "std.path"
local trust = require "alisio.kernel.trust"

describe("trust", function()
  local dir, project, state

  before_each(function()
    dir = assert(fs.temp_dir(fs.env "TMPDIR" or "/tmp", "trust"))
    project, state = path.join(dir, "project"), path.join(dir, "state")
    assert(fs.mkdirs(project))
    assert(fs.mkdirs(state))
  end)
  after_each(function() fs.remove(dir) end)

  local function put(name, bytes)
    assert(fs.write(path.join(project, ".alisio", name), bytes, { parents = true }))
  end
  local function status()
    return trust.status(state, assert(trust.snapshot(project)))
  end

  it("has nothing to say about a folder without .alisio", function()
    assert.equal("none", status())
    assert(fs.mkdirs(path.join(project, ".alisio")))
    assert.equal("none", status())
  end)

  it("binds to every byte and every name", function()
    put("init.lua", "return 1")
    put("lua/tool.lua", "return 2")
    assert.equal("untrusted", status())
    local snapshot = assert(trust.snapshot(project))
    assert.same({ "init.lua", "lua/tool.lua" }, snapshot.names)
    assert.equal("return 2", snapshot.files["lua/tool.lua"])
    assert(trust.grant(state, snapshot))
    assert.equal("trusted", status())

    put("lua/tool.lua", "return 3")
    assert.equal("changed", status())
    put("lua/tool.lua", "return 2")
    assert.equal("trusted", status())
    put("lua/more.lua", "")
    assert.equal("changed", status())
    assert(fs.remove(path.join(project, ".alisio", "lua", "more.lua")))
    assert(fs.rename(path.join(project, ".alisio", "lua", "tool.lua"), path.join(project, ".alisio", "lua", "t.lua")))
    assert.equal("changed", status())
  end)

  it("does not take one split of names and bytes for another", function()
    put("a", "b")
    put("c", "d")
    local one = assert(trust.snapshot(project)).sha256
    assert(fs.remove(path.join(project, ".alisio")))
    put("a", "bcd")
    assert.are_not.equal(one, assert(trust.snapshot(project)).sha256)
  end)

  it("grants what was shown, not what stands there meanwhile", function()
    put("init.lua", "harmless()")
    local shown = assert(trust.snapshot(project))
    put("init.lua", "harmful()")
    assert(trust.grant(state, shown))
    assert.equal("changed", status())
  end)

  it("is taken back, for this folder alone, in a private file", function()
    put("init.lua", "")
    local snapshot = assert(trust.snapshot(project))
    assert(trust.grant(state, { dir = "/elsewhere", sha256 = "x", files = {}, names = {} }))
    assert(trust.grant(state, snapshot))
    assert.equal(384, assert(fs.stat(path.join(state, "trust.json"))).mode)
    assert(trust.revoke(state, snapshot))
    assert.equal("untrusted", status())
    assert.is_truthy(json.decode((assert(fs.read(path.join(state, "trust.json"))))).folders["/elsewhere"])
  end)

  it("refuses links, for they lead to what is not hashed", function()
    put("init.lua", "")
    os.execute(("ln -s /etc/passwd '%s/.alisio/link'"):format(project))
    local snapshot, message, id = trust.snapshot(project)
    assert.is_nil(snapshot)
    assert.equal("config_invalid", id)
    assert.matches(".alisio/link: is neither a file nor a folder", message, 1, true)
  end)

  it("refuses what is too much", function()
    put("big.lua", ("x"):rep(1024 * 1024 + 1))
    assert.matches("larger than 1 MiB", (select(2, trust.snapshot(project))), 1, true)
    assert(fs.remove(path.join(project, ".alisio")))
    put("1/2/3/4/5/6/7/8/9/deep.lua", "")
    assert.matches("too deep", (select(2, trust.snapshot(project))), 1, true)
  end)

  it("says when its own file is damaged", function()
    put("init.lua", "")
    assert(fs.write(path.join(state, "trust.json"), "{"))
    local answer, message = status()
    assert.is_nil(answer)
    assert.matches("trust.json: is damaged", message, 1, true)
  end)
end)
