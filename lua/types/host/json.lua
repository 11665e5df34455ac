---@meta host.json
-- JSON, as std.json uses it.

local M = {}

---@type userdata
M.null = nil

---@param text string
---@param options { maxDepth: integer?, maxBytes: integer? }?
---@return any value
---@return string? err
---@return string? id
---@return table? fields
function M.decode(text, options) end

---@param value any
---@param options { pretty: boolean? }?
---@return string
function M.encode(value, options) end

---@param t table?
---@return table t
function M.array(t) end

---@param value any
---@return boolean
function M.is_array(value) end

---@param text string valid JSON
---@return userdata
function M.raw(text) end

return M
