---@meta host.tool
-- The registry of tools and its door, as std.tool uses them.

local M = {}

---@param def table
function M.register(def) end

---@param name string
---@return boolean there
function M.remove(name) end

---@param name string
---@return table? def
function M.get(name) end

---@return table[] defs
function M.list() end

---@param fn fun(step: table): boolean?, string?, string?
function M.set_gate(fn) end

---@async
---@param name string
---@param input table
---@param call table
---@return any result
---@return string? err
---@return string? id
function M.call(name, input, call) end

return M
