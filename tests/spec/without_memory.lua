--- What the #oom tests cannot see: that nobody waits for ever for what memory has ended.
local task = require "std.task"
local has_hooks, hooks = pcall(require, "host.test")

local MOST_MS = 2000

--- Calls fn in a task of its own, again and again with one allocation of Lua failing, the first, the
--- second, …, until none fails. The task must end by itself each time; `check` is called after it,
--- with memory again. Without test hooks fn is called once.
---@param fn function
---@param check fun(n: integer)
return function(fn, check)
  task.on_error(function() end)
  local _ <close> = setmetatable({}, { __close = function() task.on_error(nil) end })
  fn()
  task.sleep(0) -- what the loop below needs itself is there from now on
  local n, fired = 0
  repeat
    n = n + 1
    local doomed, turns = task.spawn(fn), 0
    if has_hooks then
      hooks.fail("lua", n)
    end
    repeat
      task.sleep(1)
      turns = turns + 1
    until doomed:over() or turns > MOST_MS
    fired = has_hooks and hooks.fail("lua", 0)
    if not doomed:over() then
      doomed:cancel()
      error(("it waits for ever without allocation %d"):format(n), 2)
    end
    check(n)
  until not fired
end
