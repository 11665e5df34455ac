--- Models: a profile of the configuration names a provider; a provider turns a request into a
-- stream. Providers are files of this folder or tables a user adds with alisio.model.
--
-- A provider is { name, stream = function(request, emit) }. The request holds system, messages,
-- tools, limits and profile; emit gets { type = "text"|"reasoning", text } and { type = "tool_call",
-- id, name, input | badInput }; stream returns { stop, usage, extra } or nil, message, id.
local schema = require "std.schema"
local secret = require "std.secret"
local words = require "alisio.kernel.words"
local registry = require "alisio.agent.registry"

local M = {}

--- Adds a provider of the user's own; its name works like a profile's.
---@param provider { name: string, stream: function }
---@return fun() remove
function M.add(provider)
  if type(provider) ~= "table" or type(provider.name) ~= "string" or type(provider.stream) ~= "function" then
    error("model: give a name and stream = function(request, emit)", 2)
  end
  registry.check_keys("model", provider, { "name", "stream" }, 2)
  local remove = registry.add("model", provider, 2)
  return remove
end

local function own(name)
  for _, entry in ipairs(registry.list "model") do
    if entry.value.name == name then
      return entry.value
    end
  end
end

--- Puts the key of a profile into it, as a secret.
---@async
local function add_key(profile, config, required)
  if profile.auth == "none" then
    return profile
  end
  local key, err, id, fields = config:credential(profile.name, profile.keyEnv)
  if err then
    return nil, err, id, fields
  elseif key then
    profile.key = secret.new(secret.reveal(key):match "^%s*(.-)%s*$")
  elseif required then
    fields = {
      object = "models." .. profile.name,
      detail = words.t(config.locale, "model.no_key", { variable = profile.keyEnv, name = profile.name }),
    }
    return nil, words.error(config.locale, "config_invalid", fields), "config_invalid", fields
  end
  return profile
end

--- Finds the provider and profile of a model name.
---@async
---@param name string
---@param config table
---@return table? provider
---@return table|string profile  { label, … }, or the message
---@return string? id
---@return table? fields
function M.open(name, config)
  local user = own(name)
  if user then
    return user, { label = name }
  end
  if name == "offline" then
    return require "alisio.agent.model.offline", { label = "offline" }
  end
  local names, profile = config:names "models", nil
  for _, known in ipairs(names) do
    profile = known == name and config:group("models." .. name) or profile
  end
  local base_url, required = config:get "baseUrl", profile ~= nil
  if not profile and base_url then
    -- A server named on the command line needs no profile: the name is the server's own. A server on
    -- this machine needs no key either.
    profile = { provider = "openai", auth = "bearer", keyEnv = "OPENAI_API_KEY", idleTimeoutMs = 120000 }
  end
  if not profile then
    names[#names + 1] = "offline"
    for _, entry in ipairs(registry.list "model") do
      names[#names + 1] = entry.value.name
    end
    local fields = { object = name, reason = "model", nearest = schema.nearest(name, names) }
    return nil, words.error(config.locale, "not_found", fields), "not_found", fields
  end
  profile.label, profile.name = name, name
  profile.model = profile.model or name
  profile.baseUrl = base_url or profile.baseUrl
  local ready, err, id, fields = add_key(profile, config, required)
  if not ready then
    return nil, err, id, fields
  end
  return require("alisio.agent.model." .. profile.provider), profile
end

return M
