--- Signals to a command that runs no prompt: the first one cancels what it does, which cleans up
--- behind itself; the second ends the program.
local process = require "std.process"
local task = require "std.task"

local M = {}

local function obey(signals, work)
  if signals:wait() then
    work:cancel()
  end
  if signals:wait() then
    os.exit(130)
  end
end

--- Calls fn in this task, which a signal cancels.
---@async
---@param fn function
---@param ... any
---@return any ...  what fn returns
function M.run(fn, ...)
  local signals <close> = process.signals { "INT", "TERM", "HUP" }
  local guard = task.spawn(obey, signals, task.current())
  local _ <close> = setmetatable({}, { __close = function() guard:cancel() end })
  return fn(...)
end

return M
