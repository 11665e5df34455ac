--- Where scripts run. A runtime is a file in runtimes/, a table of
---   name        as in analysis.runtime
---   find        function(config) → what it can do here ({}: nothing special), or nil, why not in words by locale
---   words       function(locale, found) → what it prevents and what it does not, in sentences
---   start       function(place, found) → { argv, cwd, env, jail } for std.process
--- where place is { dir, python, flags, env, id, config }: the job's folder as it is without links, the
--- interpreter, its flags, the environment to extend, the id of the execution, the configuration.
local words = require "alisio.kernel.words"

local M = {}

--- All there are, in the order they are shown.
---@type string[]
M.NAMES = { "managed", "sandbox" }

local AUTO = { "sandbox", "managed" } -- the first that can be had

---@class alisio.Runtime
---@field name string
---@field kind table       the runtime's module
---@field found table      what it can do here
---@field instead string?  with `auto`: why it is not a stricter one, in words

local function kind_of(name)
  return require("alisio.analysis.runtimes." .. name)
end

--- One runtime as it is on this machine.
---@async
---@param name string
---@param config alisio.Config
---@param locale string
---@return alisio.Runtime? runtime
---@return string? why  in words
function M.get(name, config, locale)
  local kind = kind_of(name)
  local found, why = kind.find(config, locale)
  if not found then
    return nil, why
  end
  return { name = name, kind = kind, found = found }
end

--- The runtime that the user's configuration asks for. Without one of its layers it is refused, never
--- replaced by less; only `auto` leaves the choice.
---@async
---@param config alisio.Config
---@param locale string
---@return alisio.Runtime? runtime
---@return string? message
---@return string? id      runtime_unavailable
---@return table? fields
function M.choose(config, locale)
  local wanted = config:get "analysis.runtime"
  local instead
  for _, name in ipairs(wanted == "auto" and AUTO or { wanted }) do
    local runtime, why = M.get(name, config, locale)
    if runtime then
      runtime.instead = instead
      return runtime
    end
    instead = why
  end
  local fields = { object = wanted, detail = instead }
  return nil, words.error(locale, "runtime_unavailable", fields), "runtime_unavailable", fields
end

--- What it prevents and what it does not, in sentences: those with ✓ hold, those with ! do not.
---@param runtime alisio.Runtime
---@param locale string
---@return string[]
function M.words(runtime, locale)
  local list = runtime.kind.words(locale, runtime.found)
  if runtime.instead then
    table.insert(list, 1, words.t(locale, "runtime.instead", { detail = runtime.instead }))
  end
  return list
end

return M
