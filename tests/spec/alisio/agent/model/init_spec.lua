local config = require "alisio.kernel.config"
local fs = require "std.fs"
local json = require "std.json"
local model = require "alisio.agent.model"
local secret = require "std.secret"

describe("alisio.agent.model.open", function()
  local dir, env

  before_each(function()
    dir = assert(fs.temp_dir "/tmp")
    env = {}
  end)

  after_each(function() fs.remove(dir) end)

  local function open(name, models, flags)
    assert(fs.write(dir .. "/config.json", json.encode { models = models }))
    local cfg = assert(config.load { config_dir = dir, flags = flags, env = function(key) return env[key] end })
    return model.open(name, cfg)
  end

  local function credentials(text, mode)
    assert(fs.write(dir .. "/credentials.json", text, { mode = mode }))
  end

  it("takes the key from the variable first, then from the file, as a secret", function()
    credentials('{"work":"sk-from-file"}', 384)
    local provider, profile = open("work", { work = { model = "m", keyEnv = "WORK_KEY" } })
    assert.equal("openai", provider.name)
    assert.equal("m", profile.model)
    assert.equal("***", tostring(profile.key))
    assert.equal("sk-from-file", secret.reveal(profile.key))
    env.WORK_KEY = " sk-from-env\n"
    profile = select(2, open("work", { work = { keyEnv = "WORK_KEY" } }))
    assert.equal("sk-from-env", secret.reveal(profile.key))
    assert.equal("work", profile.model)
  end)

  it("refuses a file that others can read", function()
    credentials('{"work":"sk-from-file"}', 420)
    local provider, message, id = open("work", { work = { keyEnv = "WORK_KEY" } })
    assert.is_nil(provider)
    assert.matches("credentials.json", message, 1, true)
    assert.matches("chmod 600", message, 1, true)
    assert.is_nil(message:find("sk-from-file", 1, true))
    assert.equal("config_invalid", id)
  end)

  it("says where a key is looked for when there is none", function()
    local provider, message, id = open("work", { work = { keyEnv = "WORK_KEY" } })
    assert.is_nil(provider)
    assert.matches("models.work", message, 1, true)
    assert.matches("WORK_KEY", message, 1, true)
    assert.matches('{"work": "…"}', message, 1, true)
    assert.equal("config_invalid", id)
  end)

  it("asks for no key where none is wanted", function()
    local _, profile = open("here", { here = { auth = "none", baseUrl = "http://127.0.0.1:8080/v1" } })
    assert.is_nil(profile.key)
    assert.equal("http://127.0.0.1:8080/v1", profile.baseUrl)
  end)

  it("takes a server of the command line without a profile, with a key or none", function()
    local flags = { model = "llama", baseUrl = "http://127.0.0.1:1/v1" }
    local _, profile = open("llama", nil, flags)
    assert.equal("llama", profile.model)
    assert.equal("http://127.0.0.1:1/v1", profile.baseUrl)
    assert.is_nil(profile.key)
    env.OPENAI_API_KEY = "sk-env"
    profile = select(2, open("llama", nil, flags))
    assert.equal("sk-env", secret.reveal(profile.key))
  end)

  it("names the nearest profile", function()
    local provider, message, id = open("wrok", { work = {} })
    assert.is_nil(provider)
    assert.matches("work", message)
    assert.equal("not_found", id)
  end)
end)
