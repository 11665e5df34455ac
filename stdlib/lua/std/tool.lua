--- The door: the one way to call a tool. A tool runs only after the gate (the permission policy,
-- set once) has let the call through; without a gate every call is refused.
local door = require "host.tool"

local M = {}

--- Adds a tool. Raises when its name is taken or its definition is incomplete.
---@param def table  { name, description, effect, capability?, input, run, … }
function M.register(def)
  door.register(def)
end

--- Takes a tool away; harmless when it is not there.
---@param name string
---@return boolean there  whether it was
function M.remove(name)
  return door.remove(name)
end

--- The definition of a tool.
---@param name string
---@return table? def
function M.get(name)
  return door.get(name)
end

--- All tools, sorted by name.
---@return table[]
function M.list()
  return door.list()
end

--- Sets the gate, once: it gets { tool, input, call } and returns true, or nil, reason, id.
---@param fn fun(step: table): boolean?, string?, string?
function M.set_gate(fn)
  door.set_gate(fn)
end

--- Calls a tool through the gate.
---@async
---@param name string
---@param input table
---@param call table  what the tool is handed beside its input
---@return any result
---@return string? message
---@return string? id
---@return table? fields  what the tool tells of its failure
function M.call(name, input, call)
  return door.call(name, input, call)
end

return M
