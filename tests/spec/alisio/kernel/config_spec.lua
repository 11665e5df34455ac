local fs = require "std.fs"
local path = require "std.path"
local secret = require "std.secret"
local config = require "alisio.kernel.config"
local keys = require "alisio.kernel.config_schema"
local trust = require "alisio.kernel.trust"
local words = require "alisio.kernel.words"

local function env_of(values)
  return function(name) return values[name] end
end

describe("configuration", function()
  local dir, file

  before_each(function()
    dir = assert(fs.temp_dir(fs.env "TMPDIR" or "/tmp", "config"))
    file = path.join(dir, "config.json")
  end)
  after_each(function() fs.remove(dir) end)

  local function load(text, options)
    if text then
      assert(fs.write(file, text))
    end
    options = options or {}
    options.config_dir = dir
    options.env = options.env or env_of {}
    return config.load(options)
  end

  --- Expects a failure and returns its message and fields.
  local function refused(text, options)
    local cfg, message, id, fields = load(text, options)
    assert.is_nil(cfg)
    assert.equal("config_invalid", id)
    return message, fields
  end

  it("has its defaults without any file", function()
    local cfg = assert(load())
    assert.equal(120000, cfg:get "analysis.limits.timeoutMs")
    assert.equal("offline", cfg:get "model")
    assert.is_nil(cfg:get "analysis.python")
    assert.equal("default", cfg:origin "model")
    assert.same({}, cfg:notes())
  end)

  it("reads values, false among them, and says the line they stand on", function()
    local cfg = assert(load [[
{
  "analysis": { "enabled": false,
    "limits": { "timeoutMs": 5000 } },
  "permissions": { "deny": ["shell"] }
}]])
    assert.is_false(cfg:get "analysis.enabled")
    assert.equal(5000, cfg:get "analysis.limits.timeoutMs")
    assert.same({ "shell" }, cfg:get "permissions.deny")
    assert.same({ "config", file .. ":3" }, { cfg:origin "analysis.limits.timeoutMs" })
  end)

  it("accepts a byte order mark and whole floats", function()
    local cfg = assert(load '\xEF\xBB\xBF{"analysis":{"limits":{"timeoutMs":5e3}}}')
    assert.equal("integer", math.type(cfg:get "analysis.limits.timeoutMs"))
  end)

  it("names file, line and column of broken JSON", function()
    local message, fields = refused '{\n  "model": "x",\n  oops\n}'
    assert.equal(3, fields.line)
    assert.equal(3, fields.column)
    assert.matches(file .. ", line 3, column 3: not valid JSON", message, 1, true)
    assert.matches("config.json, line 1", (refused ""))
  end)

  it("names the nearest key, with line and column", function()
    local message, fields = refused '{\n "analysis": {\n  "limits": { "timoutMs": 1 } } }'
    assert.same({ 3, 15 }, { fields.line, fields.column })
    assert.equal(file .. ", line 3, column 15: unknown key analysis.limits.timoutMs; the nearest is analysis.limits.timeoutMs.", message)
    assert.matches("unknown key timeoutMs; the nearest is analysis.limits.timeoutMs", (refused '{"timeoutMs": 1}'), 1, true)
    assert.matches("unknown key zzzzzz. `alisio doctor --config` lists them", (refused '{"zzzzzz": 1}'), 1, true)
    assert.matches("unknown key models.work.modl; the nearest is models.work.model", (refused '{"models":{"work":{"modl":"x"}}}'), 1, true)
  end)

  it("names the key and its range", function()
    assert.matches("analysis.limits.timeoutMs must be a whole number from 1000 to 3600000, got 5", (refused '{"analysis":{"limits":{"timeoutMs":5}}}'), 1, true)
    assert.matches("analysis.enabled must be true or false, got \"yes\"", (refused '{"analysis":{"enabled":"yes"}}'), 1, true)
    assert.matches("permission must be one of read-only, ask, auto, full, got \"never\"", (refused '{"permission":"never"}'), 1, true)
    assert.matches("permissions.deny must be a list of texts, got [1]", (refused '{"permissions":{"deny":[1]}}'), 1, true)
    assert.matches("analysis must be an object, got 3", (refused '{"analysis":3}'), 1, true)
    assert.matches("model must be a text, got null", (refused '{"model":null}'), 1, true)
    assert.matches("models.work.temperature must be a number from 0 to 2, got 3", (refused '{"models":{"work":{"temperature":3}}}'), 1, true)
    assert.matches("config.json must be an object", (refused '[]'), 1, true)
    assert.matches("models. x must be a name", (refused '{"models":{" x":{}}}'), 1, true)
  end)

  it("refuses a key that stands twice", function()
    local message = refused '{"model":"a",\n"mod\\u0065l":"b"}'
    assert.matches("line 2, column 1: the key model stands twice", message, 1, true)
  end)

  it("speaks Spanish", function()
    local message = refused('{"permission":"never"}', { env = env_of { LANG = "es_CO.UTF-8" } })
    assert.matches("línea 1, columna 2: permission debe ser uno de", message, 1, true)
  end)

  it("holds model profiles of any name", function()
    local cfg = assert(load '{"models":{"gpt-4.1":{"model":"x","temperature":0},"bare":{},"a.model":{}}}')
    assert.same({ "a.model", "bare", "gpt-4.1" }, cfg:names "models")
    assert.is_nil(cfg:get "models.a.model.model")
    assert.equal(0, cfg:get "models.gpt-4.1.temperature")
    assert.equal("openai", cfg:get "models.bare.provider")
    assert.same({
      provider = "openai", model = "x", temperature = 0, auth = "bearer", keyEnv = "OPENAI_API_KEY",
      baseUrl = "https://api.openai.com/v1", idleTimeoutMs = 120000,
    }, cfg:group "models.gpt-4.1")
  end)

  it("takes later places over earlier ones", function()
    local env = { ALISIO_ANALYSIS_LIMITS_MAX_FILES = "7" }
    local cfg = assert(load('{"analysis":{"limits":{"maxFiles":5,"openFiles":64}},"model":"a"}', {
      env = env_of(env), flags = { ["analysis.limits.maxFileBytes"] = "9" },
    }))
    assert(cfg:setup({ model = "b", analysis = { limits = { maxFiles = 6, maxFileBytes = 8 } } }, "init.lua:3"))
    assert.same({ "b", "init", "init.lua:3" }, { cfg:get "model", cfg:origin "model" })
    assert.same({ 7, "environment", "ALISIO_ANALYSIS_LIMITS_MAX_FILES" },
      { cfg:get "analysis.limits.maxFiles", cfg:origin "analysis.limits.maxFiles" })
    assert.same({ 9, "flag" }, { cfg:get "analysis.limits.maxFileBytes", (cfg:origin "analysis.limits.maxFileBytes") })
    assert.equal(64, cfg:get "analysis.limits.openFiles")
  end)

  it("checks the environment and flags as it checks the file", function()
    local message = refused(nil, { env = env_of { ALISIO_ANALYSIS_ENABLED = "maybe" } })
    assert.equal('ALISIO_ANALYSIS_ENABLED: analysis.enabled must be true or false, got "maybe".', message)
    assert.matches("--permission: permission must be one of", (refused(nil, { flags = { permission = "x" } })), 1, true)
    assert.is_false(assert(load(nil, { env = env_of { ALISIO_ANALYSIS_ENABLED = "false" } })):get "analysis.enabled")
    assert.equal("offline", assert(load(nil, { env = env_of { ALISIO_MODEL = "" } })):get "model")
  end)

  it("takes over what another was given by setup", function()
    local first, second = assert(load()), assert(load())
    assert(first:setup({ permission = "auto", models = { mine = { provider = "openai" } } }, "init.lua:3"))
    second:adopt_setup(first)
    assert.equal("auto", second:get "permission")
    assert.same({ "init", "init.lua:3" }, { second:origin "permission" })
    assert.equal("openai", second:get "models.mine.provider")
  end)

  it("changes nothing when setup has a mistake", function()
    local cfg = assert(load())
    local ok, message, id = cfg:setup({ model = "x", permission = "nope" }, "init.lua:9")
    assert.is_nil(ok)
    assert.equal("config_invalid", id)
    assert.matches("init.lua:9: permission must be one of", message, 1, true)
    assert.equal("offline", cfg:get "model")
  end)

  it("raises for a key that is none", function()
    local cfg = assert(load())
    local _, err = pcall(function() cfg:get "analysis.limits.timeout" end)
    assert.matches("config_spec.lua:%d+: no configuration key .*mean analysis.limits.timeoutMs", err)
  end)

  it("says when a key has no effect", function()
    local cfg = assert(load '{"analysis":{"data":{"maxInteractiveRows":5}}}')
    assert.equal("analysis.data.maxInteractiveRows is accepted and has no effect.", words.note("en", cfg:notes()[1]))
  end)

  it("lists every key, with those of named profiles", function()
    local cfg = assert(load '{"models":{"w":{}}}')
    local listed = {}
    for _, key in ipairs(cfg:keys()) do
      listed[key] = true
      cfg:get(key)
    end
    assert.is_true(listed["models.w.baseUrl"])
    assert.is_true(listed["log.level"])
    assert.is_nil(listed["models.*.baseUrl"])
  end)

  describe("of a project", function()
    local project, state
    before_each(function()
      project, state = path.join(dir, "project"), path.join(dir, "state")
      assert(fs.mkdirs(path.join(project, ".alisio")))
      assert(fs.mkdirs(state))
    end)

    local function with_project(text, options)
      assert(fs.write(path.join(project, ".alisio", "config.json"), text))
      if not (options and options.untrusted) then
        assert(trust.grant(state, assert(trust.snapshot(project))))
      end
      return load(options and options.user, { project_dir = project, state_dir = state, env = options and options.env })
    end

    it("is inert until it is trusted, and again when it changed", function()
      local text = '{"analysis":{"enabled":false}}'
      local cfg = assert(with_project(text, { untrusted = true }))
      assert.is_true(cfg:get "analysis.enabled")
      assert.equal("untrusted", cfg.project.status)
      assert.equal("project_untrusted", cfg:notes()[1].id)

      cfg = assert(with_project(text))
      assert.is_false(cfg:get "analysis.enabled")
      assert.equal("project", (cfg:origin "analysis.enabled"))

      cfg = assert(with_project('{"analysis":{"enabled": false}}', { untrusted = true }))
      assert.is_true(cfg:get "analysis.enabled")
      assert.equal("project_changed", cfg:notes()[1].id)
    end)

    it("lowers, switches off and adds", function()
      local cfg = assert(with_project('{"analysis":{"enabled":false,"limits":{"timeoutMs":2000}},"permissions":{"deny":["shell"]}}',
        { user = '{"permissions":{"deny":["run_process"]}}' }))
      assert.is_false(cfg:get "analysis.enabled")
      assert.equal(2000, cfg:get "analysis.limits.timeoutMs")
      assert.same({ "run_process", "shell" }, cfg:get "permissions.deny")
    end)

    it("never raises, switches on, or chooses", function()
      local cfg = assert(with_project([[{"analysis":{"enabled":true,"runtime":"auto","python":"/x","limits":{"timeoutMs":200000},
        "retention":{"jobsDays":1}},"permission":"full","model":"x","baseUrl":"http://x","permissions":{"allow":["shell"]},
        "models":{"m":{"baseUrl":"http://y"}}}]],
        { user = '{"analysis":{"enabled":false,"limits":{"timeoutMs":3000}}}' }))
      assert.is_false(cfg:get "analysis.enabled")
      assert.equal(3000, cfg:get "analysis.limits.timeoutMs")
      assert.equal("offline", cfg:get "model")
      assert.equal("ask", cfg:get "permission")
      assert.same({}, cfg:get "permissions.allow")
      local said = {}
      for _, note in ipairs(cfg:notes()) do
        said[note.key] = note.id
      end
      assert.same({
        ["analysis.enabled"] = "project_loosens", ["analysis.limits.timeoutMs"] = "project_loosens",
        ["analysis.runtime"] = "project_ignored", ["analysis.python"] = "project_ignored",
        ["analysis.retention.jobsDays"] = "project_ignored", permission = "project_ignored", model = "project_ignored",
        baseUrl = "project_ignored", ["permissions.allow"] = "project_ignored",
        ["models.m.baseUrl"] = "project_ignored",
      }, said)
      assert.same({}, cfg:names "models")
    end)

    it("is weighed against init.lua, and stands below environment and flags", function()
      local cfg = assert(with_project '{"analysis":{"limits":{"timeoutMs":5000}}}')
      assert.equal(5000, cfg:get "analysis.limits.timeoutMs")
      assert(cfg:setup { analysis = { limits = { timeoutMs = 4000 } } })
      assert.equal(4000, cfg:get "analysis.limits.timeoutMs")
      cfg = assert(with_project('{"analysis":{"limits":{"timeoutMs":5000}}}', { env = env_of { ALISIO_ANALYSIS_LIMITS_TIMEOUT_MS = "7000" } }))
      assert.equal(7000, cfg:get "analysis.limits.timeoutMs")
    end)

    it("fails on a mistake in a trusted file", function()
      local cfg, message = with_project '{"modell":1}'
      assert.is_nil(cfg)
      assert.matches("project/.alisio/config.json, line 1, column 2: unknown key modell; the nearest is model", message, 1, true)
    end)
  end)

  describe("credentials", function()
    it("come from the variable, else from a file nobody else can read", function()
      local credentials = path.join(dir, "credentials.json")
      assert(fs.write(credentials, '{"work":"from the file"}', { mode = 384 }))
      local cfg = assert(load(nil, { env = env_of { KEY = "from the variable" } }))
      assert.equal("from the variable", secret.reveal(cfg:credential("work", "KEY")))
      assert.equal("from the file", secret.reveal(cfg:credential("work", "OTHER")))
      assert.same({}, { cfg:credential("home", "OTHER") })
      assert(fs.write(credentials, '{"work":"x"}', { mode = 416 }))
      local key, message = cfg:credential "work"
      assert.is_nil(key)
      assert.matches("other users can read it; run `chmod 600`", message, 1, true)
      assert(fs.write(credentials, '{"work":3}', { mode = 384 }))
      assert.matches("one text for each model profile", (select(2, cfg:credential "work")), 1, true)
    end)
  end)
end)

describe("configuration schema", function()
  it("is complete and consistent", function()
    local seen = {}
    for _, spec in ipairs(keys) do
      assert.is_nil(seen[spec.key], spec.key)
      seen[spec.key] = true
      assert.is_truthy(spec.help.en ~= "" and spec.help.es ~= "", spec.key)
      if spec.type == "integer" then
        assert.is_truthy(spec.min and spec.max, spec.key)
        assert.is_true(spec.default == nil or spec.default >= spec.min and spec.default <= spec.max, spec.key)
      elseif spec.type == "choice" then
        assert.is_true(spec.default == nil or table.concat(spec.choices, " "):find(spec.default, 1, true) ~= nil, spec.key)
      end
      local ways = { lower = "integer", off = "boolean", add = "list" }
      assert.is_true(spec.project == nil or ways[spec.project] == spec.type, spec.key)
    end
  end)

  it("gives each plain key a variable", function()
    assert.equal("ALISIO_ANALYSIS_LIMITS_MAX_FILE_BYTES", config.variable "analysis.limits.maxFileBytes")
    assert.equal("ALISIO_BASE_URL", config.variable "baseUrl")
    assert.is_nil(config.variable "permissions.deny")
    assert.is_nil(config.variable "models.*.model")
  end)
end)
