---@meta host.host
-- The program itself, as std.host uses it.

local M = {}

---@type string
M.version = nil

---@param dir string
function M.add_path(dir) end

---@return string[] argv the program at 0
function M.argv() end

---@param name string
---@return string? path
---@return string? err
---@return string? id
---@return table? fields
function M.helper(name) end

---@return integer
function M.pid() end

---@return { os: string, release: string, machine: string }
function M.platform() end

return M
