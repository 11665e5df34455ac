local fs = require "std.fs"
local json = require "std.json"
local process = require "std.process"
local discovery = require "alisio.analysis.discovery"

-- The interpreter this machine has, or none.
local real = discovery.find {}

describe("alisio.analysis.discovery", function()
  local dir

  -- A program in a folder of PATH; `body` is a shell script.
  local function program(name, body)
    local file = dir .. "/" .. name
    assert(fs.mkdirs(file:match "^(.*)/"))
    assert(fs.write(file, "#!/bin/sh\n" .. body .. "\n", { mode = 448 }))
    return file
  end

  -- One that counts its runs and then is a Python of that version, or the real one.
  local function python(name, version)
    local count = ("echo run >> %s/runs\n"):format(dir)
    if not version then
      return program(name, count .. ('exec %s "$@"'):format(real.executable))
    end
    return program(name, count .. ([[printf '{"version":[%s],"executable":"%s","prefix":"/p","basePrefix":"/p","path":["","/p/lib"]}']])
      :format(version:gsub("%.", ","), dir .. "/" .. name))
  end

  local function runs()
    return select(2, (fs.read(dir .. "/runs") or ""):gsub("\n", ""))
  end

  local function find(options)
    options = options or {}
    local vars = { PATH = options.path or dir .. "/bin:/usr/bin:/bin", HOME = dir, PYENV_ROOT = options.pyenv }
    return discovery.find {
      configured = options.configured, state_dir = dir .. "/state", locale = "en",
      env = function(name)
        return vars[name]
      end,
    }
  end

  before_each(function()
    dir = assert(fs.temp_dir("/tmp", "alisio-discovery-"))
  end)

  after_each(function()
    fs.remove(dir)
  end)

  it("asks a shim who it is and keeps the answer", function()
    if not real then
      return pending "no Python 3.10 on this machine"
    end
    local shim = python "bin/python3"
    local found = assert(find())
    assert.equal(real.executable, found.executable)
    assert.equal(real.version, found.version)
    assert.equal(shim, found.candidate)
    assert.is_true(#found.path > 0)
    assert.are.same(found, assert(find()))
    assert.equal(1, runs())
    local stat = fs.stat(dir .. "/state/runtimes/python/discovery.json")
    assert.equal(384, stat.mode)
  end)

  it("asks again when a file that led to the answer changes", function()
    python("bin/python3", "3.11.4")
    assert.equal("3.11.4", assert(find()).version)
    python("bin/python3", "3.12.10")
    assert.equal("3.12.10", assert(find()).version)
    assert.equal(2, runs())
  end)

  it("asks again when an earlier candidate appears or the interpreter is gone", function()
    python("bin/python3.12", "3.12.0")
    local path = dir .. "/first:" .. dir .. "/bin:/usr/bin:/bin"
    assert.equal("3.12.0", assert(find { path = dir .. "/bin" }).version)
    python("first/python3", "3.13.1")
    assert.equal("3.13.1", assert(find { path = path }).version)
    assert(fs.remove(dir .. "/first/python3"))
    assert.equal("3.12.0", assert(find { path = dir .. "/first:" .. dir .. "/bin" }).version)
  end)

  it("passes by what is too old, broken or no Python", function()
    program("bin/python3", "exit 127")
    python("bin/python3.12", "2.7.18")
    program("bin/python3.11", "echo hello")
    python("bin/python3.10", "3.10.0")
    assert.equal("3.10.0", assert(find { path = dir .. "/bin" }).version)
  end)

  it("passes by what answers as no Python does", function()
    local answer = [[{"version":%s,"executable":"%s","prefix":"/p","basePrefix":"/p","path":%s}]]
    local itself = dir .. "/bin/python3"
    python("bin/python3.14", "3.14.1")
    for _, said in ipairs {
      answer:format("[]", itself, "[]"), answer:format("[3]", itself, "[]"), answer:format('["3","11","2"]', itself, "[]"),
      answer:format("[3,11,2]", itself, "5"), answer:format("[3,11,2]", "/no/such/python3", "[]"),
      answer:format("[3,11,2]", dir, "[]"), '{"version":[3,11,2],"executable":"' .. itself .. '","path":[]}', "[]", "3", "",
    } do
      program("bin/python3", "printf %s '" .. said .. "'")
      assert.equal(dir .. "/bin/python3.14", assert(find { path = dir .. "/bin" }).executable, said)
    end
    program("bin/python3", "printf %s '" .. answer:format("[3,11,2]", itself, '["/p",7,null]') .. "'")
    assert.same({ "/p" }, { table.unpack(assert(find { path = dir .. "/bin" }).path) })
  end)

  it("prefers python3, then the newest name", function()
    python("bin/python3.10", "3.10.1")
    python("bin/python3.13", "3.13.1")
    assert.equal("3.13.1", assert(find { path = dir .. "/bin" }).version)
    python("bin/python3", "3.11.1")
    assert.equal("3.11.1", assert(find { path = dir .. "/bin" }).version)
  end)

  it("finds the newest version of pyenv when PATH has none", function()
    for _, version in ipairs { "3.9.18", "3.10.2", "3.12.9" } do
      python("pyenv/versions/" .. version .. "/bin/python3", version)
    end
    assert.equal("3.12.9", assert(find { path = "/nowhere", pyenv = dir .. "/pyenv" }).version)
  end)

  it("asks again when pyenv is told to use another version", function()
    python("bin/python3", "3.12.9")
    assert(fs.mkdirs(dir .. "/pyenv"))
    assert(fs.write(dir .. "/pyenv/version", "3.12.9\n"))
    assert(find { pyenv = dir .. "/pyenv" })
    assert(fs.write(dir .. "/pyenv/version", "3.11.0\n"))
    assert(find { pyenv = dir .. "/pyenv" })
    assert.equal(2, runs())
  end)

  it("never looks in the working folder", function()
    local found, _, id = find { path = ".:" .. ":bin:" }
    assert.is_true(found == nil or not found.candidate:find "^%.")
    assert.is_true(found ~= nil or id == "python_missing")
  end)

  it("says how to install one when there is none", function()
    python("bin/python3", "3.9.2")
    local found, message, id, fields = find { path = dir .. "/bin", pyenv = "/nowhere" }
    if found then
      return -- a Homebrew of this machine
    end
    assert.is_nil(found)
    assert.equal("python_missing", id)
    assert.matches("Python 3.10 or newer was not found", message, 1, true)
    assert.matches("is Python 3.9.2", message, 1, true)
    assert.is_string(fields.detail)
    assert.equal("old", fields.refused[1].why)
    assert.is_nil(fs.stat(dir .. "/state/runtimes/python/discovery.json"))
  end)

  it("tries the configured one and no other", function()
    python("bin/python3", "3.12.0")
    local own = python("own/python", "3.10.5")
    assert.equal("3.10.5", assert(find { configured = own }).version)
    local cases = {
      { dir .. "/nothing", "is not there" },
      { python("old/python", "3.8.1"), "is Python 3.8.1" },
      { program("bad/python", "exit 1"), "does not answer as Python does" },
    }
    for _, case in ipairs(cases) do
      local found, message, id = find { configured = case[1] }
      assert.is_nil(found)
      assert.equal("python_missing", id)
      assert.matches(case[1], message, 1, true)
      assert.matches(case[2], message, 1, true)
    end
  end)

  it("gives a candidate no key of the environment", function()
    local seen = dir .. "/seen"
    program("bin/python3", "env > " .. seen .. "; exit 1")
    find { path = dir .. "/bin" }
    local text = fs.read(seen)
    for name in pairs(process.environment()) do
      if name:find "KEY" or name:find "TOKEN" or name:find "^ALISIO" then
        assert.is_nil(text:find(name .. "=", 1, true), name)
      end
    end
    assert.is_nil(text:find("ALISIO_", 1, true))
  end)

  it("does not believe a damaged record", function()
    python("bin/python3", "3.11.4")
    assert(find())
    for _, text in ipairs { "", "{", "[]", '{"v":1}', '{"v":1,"python":{"executable":7}}', json.encode { v = 9 } } do
      assert(fs.write(dir .. "/state/runtimes/python/discovery.json", text))
      assert.equal("3.11.4", assert(find()).version)
    end
  end)
end)
