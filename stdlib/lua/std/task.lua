--- Tasks: code that waits without blocking anything else.
---
--- Everything in std that waits must run in a task; the program and every script already do. Where
--- one is cancelled, its wait raises the string "cancelled", and so does every later wait, except in
--- `__close` handlers, which may wait up to one second in all.
local host = require "host.task"
local M = {}

---@class std.Task
---@field wait fun(self: std.Task): true?, ...  true and its results; or nil and its error
---@field cancel fun(self: std.Task)            its waits raise "cancelled"; no-op once it is over
---@field over fun(self: std.Task): boolean     whether it has ended; a task can end before its first line runs

--- Starts fn(...) as a task of its own. An error that no one waits for is reported once.
---@param fn function
---@param ... any arguments of fn
---@return std.Task
function M.spawn(fn, ...)
  return host.spawn(fn, ...)
end

--- The task that is running.
---@return std.Task? task  nil outside of any task
function M.current()
  return host.current()
end

--- Sets what gets the errors of tasks that no one waited for: their text, with a traceback. Without
--- it they are written to standard error.
---@param fn fun(text: string)? must not wait
function M.on_error(fn)
  host.on_error(fn)
end

--- Waits. Zero lets the other tasks that are ready run first.
---@async
---@param ms integer milliseconds
function M.sleep(ms)
  host.sleep(ms)
end

-- A crew is a set of tasks that does not outlive the block that made it.
local Crew = {}
Crew.__index = Crew

local function new_crew()
  return setmetatable({}, Crew)
end

function Crew:spawn(fn, ...)
  local place = #self + 1
  self[place] = false -- should memory run out, it does so before the task is there
  self[place] = host.spawn(fn, ...)
  return self[place]
end

function Crew:cancel()
  for _, task in ipairs(self) do
    if task then
      task:cancel()
    end
  end
end

function Crew:__close()
  self:cancel()
  for _, task in ipairs(self) do
    if task then
      task:wait()
    end
  end
end

-- Waits until all are over. When one raised, or `stop` says so after an end, the others are
-- cancelled; what was raised is raised here.
function Crew:wait(stop)
  local open, raised = { table.unpack(self) }, nil
  while open[1] do
    local task = host.wait_any(table.unpack(open))
    for i = #open, 1, -1 do
      if open[i] == task then
        table.remove(open, i)
      end
    end
    local ok, err = task:wait()
    if not ok and err ~= "cancelled" then
      raised = raised or err
    end
    if raised or stop() then
      self:cancel()
    end
  end
  if raised then
    error(raised, 0)
  end
end

--- Runs fn(item) for each item of a list, side by side. A call that returns nil and an error, or
--- raises, cancels the rest.
---@async
---@param list any[]
---@param fn fun(item: any): any, string?, string?
---@param opts? { limit?: integer }  how many run at a time; without it, all
---@return any[]? results  the first value of each call, in the order of the list
---@return string? err     of the first that failed
---@return string? id      its id
function M.map(list, fn, opts)
  local count, results, failure = #list, {}, nil
  local limit = opts and opts.limit or count
  if limit < 1 and count > 0 then
    error("limit must be at least 1", 2)
  end
  local crew <close> = new_crew()
  local following = 1
  local function work()
    while following <= count and not failure do
      local i = following
      following = i + 1
      local value, err, id = fn(list[i])
      if value == nil and err ~= nil then
        failure = failure or { err, id }
        return
      end
      results[i] = value
    end
  end
  for _ = 1, math.min(limit, count) do
    crew:spawn(work)
  end
  crew:wait(function()
    return failure
  end)
  if failure then
    return nil, failure[1], failure[2]
  end
  return results
end

local function call(fn)
  return fn()
end

--- Runs functions side by side: `map` over calling them.
---@async
---@param fns (fun(): any, string?, string?)[]
---@return any[]? results
---@return string? err
---@return string? id
function M.all(fns)
  return M.map(fns, call)
end

--- Runs functions side by side until the first returns; the others are cancelled.
---@async
---@param fns (fun(): ...)[]
---@return any ... what the first to return has returned
function M.race(fns)
  if #fns == 0 then
    error("a race needs at least one function", 2)
  end
  local crew <close> = new_crew()
  local first
  for _, fn in ipairs(fns) do
    crew:spawn(function()
      local results = table.pack(fn())
      first = first or results
    end)
  end
  crew:wait(function()
    return first
  end)
  return table.unpack(first, 1, first.n)
end

--- Runs fn, for no longer than ms.
---@async
---@param ms integer milliseconds
---@param fn fun(): ...
---@return any ... what fn returns; or nil, a message and "timeout"
function M.timeout(ms, fn)
  local crew <close> = new_crew()
  local late = false
  local runner = crew:spawn(fn)
  crew:spawn(function()
    host.sleep(ms)
    late = true
    runner:cancel()
  end)
  local results = table.pack(runner:wait())
  if results[1] then
    return table.unpack(results, 2, results.n)
  end
  if late and results[2] == "cancelled" then
    return nil, ("took longer than %d ms"):format(ms), "timeout"
  end
  error(results[2], 0)
end

---@class std.Channel
local Channel = {}
Channel.__index = Channel

--- A way to pass values from task to task, in order.
---@param capacity? integer values that may wait in it; 0, the default: a send waits for its receive
---@return std.Channel
function M.channel(capacity)
  return setmetatable({
    capacity = capacity or 0,
    values = {}, first = 1, last = 0, -- sent, not received
    receivers = {}, senders = {}, -- waiters, oldest first
    closed = false,
  }, Channel)
end

local function wake_first(waiters, ...)
  while waiters[1] do
    if table.remove(waiters, 1):wake(...) then
      return true
    end
  end
  return false
end

local function push(ch, value)
  ch.last = ch.last + 1
  ch.values[ch.last] = value
end

--- Sends without waiting.
---@param value any not nil
---@return boolean sent  false when nobody receives and the channel is full, or it is closed
function Channel:try_send(value)
  if value == nil then
    error("nil cannot be sent", 2)
  end
  if self.closed then
    return false
  end
  if wake_first(self.receivers, value) then
    return true
  end
  if self.last - self.first + 1 < self.capacity then
    push(self, value)
    return true
  end
  return false
end

--- Sends, and waits while the channel is full.
---@async
---@param value any not nil
---@return true? sent
---@return string? err  the channel was closed first
---@return string? id   "closed"
function Channel:send(value)
  if self:try_send(value) then
    return true
  end
  if self.closed then
    return nil, "the channel is closed", "closed"
  end
  local sender = { waiter = host.waiter(), value = value }
  table.insert(self.senders, sender)
  return sender.waiter:wait()
end

-- The value of the oldest task that waits to send, which goes on.
local function take_from_sender(ch)
  while ch.senders[1] do
    local sender = table.remove(ch.senders, 1)
    if sender.waiter:wake(true) then
      return sender.value
    end
  end
end

--- Receives the oldest value; waits for one while the channel is empty and open.
---@async
---@param from? std.Task  who will send: nobody waits for it once it is over
---@return any value  nil once the channel is empty, and closed or `from` over
function Channel:receive(from)
  if self.first > self.last then
    local value = take_from_sender(self)
    if value ~= nil or self.closed then
      return value
    end
    local waiter = host.waiter()
    table.insert(self.receivers, waiter)
    return waiter:wait(from)
  end
  local value = self.values[self.first]
  self.values[self.first] = nil
  self.first = self.first + 1
  local next_value = take_from_sender(self)
  if next_value ~= nil then
    push(self, next_value)
  end
  return value
end

--- Ends the channel: what is in it can still be received, nothing more can be sent.
function Channel:close()
  self.closed = true
  while wake_first(self.receivers) do end
  for i = #self.senders, 1, -1 do
    self.senders[i].waiter:wake(nil, "the channel is closed", "closed")
    self.senders[i] = nil
  end
end

return M
