--- Listeners of events (`on`) and steps in front of a step (`before`).
--
-- A listener that raises is reported once, with its place, and the run goes on. A hook that raises
-- refuses the step: what was put in front of it to stop something must not let it through.
local log = require "std.log"
local schema = require "std.schema"
local event_types = require "alisio.kernel.event_types"
local registry = require "alisio.agent.registry"

local M = {}

--- Where a hook can stand.
local points = { "prompt", "model", "tool", "permission", "python", "publish", "reply" }

--- Events a listener can hear; "*" hears all.
local heard = { "*" }
for i, event in ipairs(event_types) do
  heard[i + 1] = event.type
end

local Denial = {}

--- What a hook returns to refuse its step.
---@param reason string  shown to the user and to the model
---@return table denial
function M.deny(reason)
  return setmetatable({ reason = reason }, Denial)
end

local function check_name(name, names, what, level)
  for _, known in ipairs(names) do
    if known == name then
      return
    end
  end
  local near = schema.nearest(tostring(name), names)
  local hint = near and "did you mean " .. near .. "?" or "there are: " .. table.concat(names, ", ")
  error(("there is no %s %q; %s"):format(what, tostring(name), hint), level + 1)
end

local function check_function(fn, what, level)
  if type(fn) ~= "function" then
    error(("%s: the second argument is a function, not a %s"):format(what, type(fn)), level + 1)
  end
end

--- Listens to the events of a type.
---@param name string  a type of event, "*" for all
---@param fn fun(event: table)
---@return fun() remove
function M.on(name, fn)
  check_name(name, heard, "event", 2)
  check_function(fn, "alisio.on", 2)
  local remove = registry.add("on", { name = name, fn = fn }, 2)
  return remove
end

--- Stands in front of a step.
---@param point string
---@param fn fun(step: table): table?  may change the table, or returns a denial
---@return fun() remove
function M.before(point, fn)
  check_name(point, points, "step", 2)
  check_function(fn, "alisio.before", 2)
  local remove = registry.add("before", { name = point, fn = fn }, 2)
  return remove
end

--- Hands an event to its listeners.
---@param event table
---@param report? fun(text: string)  told once about a listener that raised
function M.emit(event, report)
  for _, entry in ipairs(registry.list "on") do
    local listener = entry.value
    if listener.name == event.type or listener.name == "*" then
      local ok, err = pcall(listener.fn, event)
      if not ok then
        if err == "cancelled" then
          error(err, 0)
        end
        if not listener.reported then
          listener.reported = true
          local text = ("listener of %s (%s): %s"):format(listener.name, entry.where, tostring(err))
          log.warn(text)
          if report then
            report(text)
          end
        end
      end
    end
  end
end

--- Runs the hooks of a step, in the order they came.
---@param point string
---@param step table   hooks may change it
---@return boolean? ok
---@return string? reason  why it was refused
---@return string? where   file and line of the hook that refused
function M.run(point, step)
  for _, entry in ipairs(registry.list "before") do
    local hook = entry.value
    if hook.name == point then
      local ok, result = pcall(hook.fn, step)
      if not ok then
        if result == "cancelled" then
          error(result, 0)
        end
        local text = ("hook in front of %s (%s) failed: %s"):format(point, entry.where, tostring(result))
        log.warn(text)
        return nil, text, entry.where
      elseif getmetatable(result) == Denial then
        return nil, result.reason, entry.where
      end
    end
  end
  return true
end

--- The hooks and listeners there are.
---@return table[]  { kind = "on"|"before", name, owner, where }
function M.list()
  local list = {}
  for _, kind in ipairs { "before", "on" } do
    for _, entry in ipairs(registry.list(kind)) do
      list[#list + 1] = { kind = kind, name = entry.value.name, owner = entry.owner, where = entry.where }
    end
  end
  return list
end

return M
