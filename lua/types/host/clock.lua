---@meta host.clock
-- Time and randomness, as std.clock uses them.

local M = {}

---@return integer ms since 1970
function M.now() end

---@return number ms from an arbitrary start
function M.monotonic() end

---@param n integer
---@return string bytes
function M.random(n) end

return M
