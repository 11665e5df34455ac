---@meta host.task
-- Tasks, as std.task uses them.

---@class host.Waiter
local Waiter = {}

---@async
---@param from std.Task?
---@return any ... what wake passes; nothing when `from` is over first
function Waiter:wait(from) end

---@param ... any
---@return boolean woken  false: no task was waiting
function Waiter:wake(...) end

local M = {}

---@param fn function
---@param ... any
---@return std.Task
function M.spawn(fn, ...) end

---@return std.Task?
function M.current() end

---@async
---@param ms integer
function M.sleep(ms) end

---@return host.Waiter
function M.waiter() end

---@async
---@param ... std.Task
---@return std.Task first that is over
function M.wait_any(...) end

---@param fn fun(text: string)?
function M.on_error(fn) end

return M
