---@meta host.signal
-- Signals, as std.process uses them.

---@class host.Signals
local Signals = {}

---@async
---@return string name
function Signals:wait() end

function Signals:close() end

local M = {}

---@param names string[] such as "INT"
---@return host.Signals? signals
---@return string? err
---@return string? id
---@return table? fields
function M.open(names) end

return M
