---@meta host.asset
-- The files inside the program, as std.asset uses them.

local M = {}

---@param prefix string
---@return string[] names of the program and of ALISIO_ASSET_PATH, in no order, some twice
function M.list(prefix) end

---@param name string
---@return string? bytes
---@return string? err
---@return string? id
---@return table? fields
function M.read(name) end

---@param name string
---@return string? hex
---@return string? err
---@return string? id
---@return table? fields
function M.sha256(name) end

return M
