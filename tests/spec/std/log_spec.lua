local fs = require "std.fs"
local json = require "std.json"
local path = require "std.path"
local secret = require "std.secret"

describe("log", function()
  local dir, file, log

  before_each(function()
    package.loaded["std.log"] = nil
    log = require "std.log"
    dir = assert(fs.temp_dir(fs.env "TMPDIR" or "/tmp", "log"))
    file = path.join(dir, "logs", "alisio.log")
    log.open(file)
  end)
  after_each(function()
    package.loaded["std.log"] = nil
    fs.remove(dir)
  end)

  local function lines(name)
    local out = {}
    for line in (fs.read(name or file) or ""):gmatch "[^\n]+" do
      out[#out + 1] = assert(json.decode(line))
    end
    return out
  end

  it("writes one JSON object a line into a private file", function()
    log.info("started", { version = "0.1", n = 3 })
    log.error "two\nlines"
    local list = lines()
    assert.same({ "info", "started", "0.1", 3 }, { list[1].level, list[1].text, list[1].version, list[1].n })
    assert.matches("^%d%d%d%d%-%d%d%-%d%dT", list[1].time)
    assert.equal("two\nlines", list[2].text)
    assert.equal(384, assert(fs.stat(file)).mode)
  end)

  it("keeps what its level asks for", function()
    log.debug "no"
    log.open(file, "debug")
    log.debug "yes"
    log.open(file, "error")
    log.warn "no"
    local list = lines()
    assert.same({ 1, "yes" }, { #list, list[1].text })
  end)

  it("writes no secret, wherever it hides", function()
    local key = secret.new "hunter2-hunter2"
    log.info("key hunter2-hunter2 and sk-abcdefgh12345678", {
      key = key,
      headers = { Authorization = "Basic abc", ["X-Api-Key"] = "k", accept = "text/html" },
      list = { "Bearer abc.def-ghi", { password = "p" } },
      url = "https://h/?q=hunter2-hunter2",
    })
    local entry = lines()[1]
    assert.equal("key *** and sk-***", entry.text)
    assert.equal("***", entry.key)
    assert.same({ Authorization = "***", ["X-Api-Key"] = "***", accept = "text/html" }, entry.headers)
    assert.same({ "Bearer ***", { password = "***" } }, entry.list)
    assert.equal("https://h/?q=***", entry.url)
  end)

  it("puts a full file aside and keeps five", function()
    local big = ("x"):rep(15000)
    for i = 1, 6 * 72 do
      log.info(big, { i = i })
    end
    local names = {}
    for _, entry in ipairs(assert(fs.list(path.join(dir, "logs")))) do
      if not entry.name:find "lock" then
        names[#names + 1] = entry.name
        assert.is_true(entry.size < 1024 * 1024 + 16 * 1024, entry.name)
      end
    end
    assert.same({ "alisio.log", "alisio.log.1", "alisio.log.2", "alisio.log.3", "alisio.log.4" }, names)
    local list = lines()
    assert.equal(6 * 72, list[#list].i)
    assert.equal(384, assert(fs.stat(file)).mode)
  end)

  it("cuts a line that is too long and survives what is no JSON", function()
    log.info(("y"):rep(100000))
    log.info("odd", { fn = print })
    local list = lines()
    assert.is_true(#list[1].text <= 4096)
    assert.same({ "odd", "the fields are no JSON" }, { list[2].text, list[2].log })
  end)

  it("never raises, whatever the disk says", function()
    log.open "/proc/no/such/alisio.log"
    log.error "nobody reads this"
    log.open(dir)
    log.error "nor this"
  end)

  it("tells listeners, without secrets", function()
    local heard = {}
    local key <const> = secret.new "topsecret-value"
    local remove = log.listen(function(level, text) heard[#heard + 1] = level .. ":" .. text end)
    log.warn "w topsecret-value"
    log.debug "d"
    remove()
    log.warn "later"
    assert.same({ "warn:w ***" }, heard)
    assert.equal("***", tostring(key))
  end)
end)
