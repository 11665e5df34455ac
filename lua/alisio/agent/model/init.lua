--- Models: a profile of the configuration names a provider; a provider turns a request into a
-- stream. Providers are files of this folder or tables a user adds with alisio.model.
--
-- A provider is { name, stream = function(request, emit) }. The request holds system, messages,
-- tools, limits and profile; emit gets { type = "text"|"reasoning", text } and { type = "tool_call",
-- id, name, input | badInput }; stream returns { stop, usage, extra } or nil, message, id.
local schema = require "std.schema"
local registry = require "alisio.agent.registry"

local M = {}

local profile_keys = {
  "provider", "model", "baseUrl", "auth", "keyEnv", "maxOutputTokens", "temperature", "idleTimeoutMs",
}

--- Adds a provider of the user's own; its name works like a profile's.
---@param provider { name: string, stream: function }
---@return fun() remove
function M.add(provider)
  if type(provider) ~= "table" or type(provider.name) ~= "string" or type(provider.stream) ~= "function" then
    error("model: give a name and stream = function(request, emit)", 2)
  end
  for key in pairs(provider) do
    if key ~= "name" and key ~= "stream" then
      error(("model: unknown key %q; there are: name, stream"):format(tostring(key)), 2)
    end
  end
  return registry.add("model", provider, 2)
end

local function own(name)
  for _, entry in ipairs(registry.list "model") do
    if entry.value.name == name then
      return entry.value
    end
  end
end

--- Names of the profiles in the configuration.
local function profiles(config)
  local seen, names = {}, {}
  for _, key in ipairs(config:keys()) do
    local name = key:match "^models%.(.-)%.[%w]+$"
    if name and name ~= "*" and not seen[name] then
      seen[name] = true
      names[#names + 1] = name
    end
  end
  return names
end

--- Finds the provider and profile of a model name.
---@param name string
---@param config table
---@param runtime table
---@return table? provider
---@return table|string profile  { label, … }, or the message
---@return string? id
function M.open(name, config, runtime)
  local user = own(name)
  if user then
    return user, { label = name }
  end
  if name == "offline" then
    return require "alisio.agent.model.offline", { label = "offline" }
  end
  local names = profiles(config)
  local profile
  for _, known in ipairs(names) do
    if known == name then
      profile = { name = name }
      for _, key in ipairs(profile_keys) do
        profile[key] = config:get(("models.%s.%s"):format(name, key))
      end
    end
  end
  local base_url = config:get "baseUrl"
  if not profile and base_url then
    -- A server named on the command line needs no profile: the name is the server's.
    profile = { name = name, provider = "openai", model = name, auth = "bearer", keyEnv = "OPENAI_API_KEY" }
  end
  if not profile then
    names[#names + 1] = "offline"
    for _, entry in ipairs(registry.list "model") do
      names[#names + 1] = entry.value.name
    end
    local near = schema.nearest(name, names)
    return nil, ("there is no model profile %q%s; there are: %s"):format(name,
      near and (" (did you mean %s?)"):format(near) or "", table.concat(names, ", ")), "config_invalid"
  end
  profile.label = name
  profile.model = profile.model or name
  profile.baseUrl = base_url or profile.baseUrl
  profile.configDir = runtime.config_dir
  return require("alisio.agent.model." .. profile.provider), profile
end

return M
