--- The one stream of a session. Durable events are stored before any face is told of them; faces are
-- told in the order of `seq`, whichever task emitted. message_delta and tool_progress are not stored:
-- at most 20 of them go out in a second; texts of message_delta are joined, none is lost, and of
-- tool_progress the newest line counts.
local clock = require "std.clock"
local json = require "std.json"
local schema = require "std.schema"
local task = require "std.task"
local store_module = require "alisio.kernel.store"
local types = require "alisio.kernel.event_types"

local M = {}

local MOST_PER_SECOND = 20
local SPACING_MS = 60 -- leaves room for what must go out before a durable event

local by_type, names = {}, {}
for _, entry in ipairs(types) do
  local fields, arrays = {}, {}
  for _, field in ipairs(entry.fields) do
    fields[field[1]] = field[2]
    arrays[#arrays + 1] = field[2]:find "%[%]%??$" and field[1] or nil
  end
  local compiled = schema.compile(fields)
  compiled.json.additionalProperties = nil -- "Fields not listed may be added"
  by_type[entry.type] = { ephemeral = entry.ephemeral, schema = compiled, arrays = arrays }
  names[#names + 1] = entry.type
end

---@class alisio.Bus
---@field session string
---@field run string?  id of the run whose events these are; may be set between runs
local Bus = {}
Bus.__index = Bus

--- Makes the bus of a session.
---@param store alisio.Store
---@param session string
---@param run string?
---@return alisio.Bus
function M.bus(store, session, run)
  return setmetatable({
    store = store, session = session, run = run, listeners = {}, queue = {}, pending = {}, sent = {},
    last_sent = -math.huge,
  }, Bus)
end

--- Whether a task still works. Its end is looked at from outside: one that runs out of memory may end
--- before its first line, or fail to say that it ends.
local function works(worker)
  return worker and not worker:over()
end

--- Listens. fn is called with each event, in the bus's own task: it may wait, but not for something
--- that emits on this bus. When it raises, that is said once in a log event and the run goes on.
---@param fn fun(event: table)
---@return fun() remove
function Bus:on(fn)
  local listener = { fn = fn }
  self.listeners[#self.listeners + 1] = listener
  return function()
    listener.gone = true
    for i, other in ipairs(self.listeners) do
      if other == listener then
        table.remove(self.listeners, i)
        return
      end
    end
  end
end

local function make_event(self, type_name, fields)
  local event = {}
  for key, value in pairs(fields or {}) do
    event[key] = value
  end
  for _, name in ipairs(by_type[type_name].arrays) do
    if event[name] and #event[name] == 0 then
      event[name] = json.array {} -- an empty Lua table would be written as an object
    end
  end
  event.v, event.time, event.type = 1, clock.now(), type_name
  event.session, event.run = self.session, event.run or self.run
  return event
end

-- Events without seq ----------------------------------------------------------------------------

local function key_of(event)
  return event.type == "message_delta" and event.channel or event.callId
end

--- Joins an event to the one of its kind that still waits, or lets it wait.
local function defer(self, event)
  for _, waiting in ipairs(self.pending) do
    if waiting.type == event.type and key_of(waiting) == key_of(event) then
      if event.type == "message_delta" then -- joined when it goes out: there may be thousands
        waiting.parts = waiting.parts or { waiting.text }
        table.insert(waiting.parts, event.text)
      else
        waiting.text = event.text
      end
      return
    end
  end
  table.insert(self.pending, event)
end

--- Takes the event that waited longest.
local function next_pending(self)
  local event = table.remove(self.pending, 1)
  if event.parts then
    event.text, event.parts = table.concat(event.parts), nil
  end
  return event
end

--- Hands one waiting event at a time to the queue, spaced.
local function tick(self)
  while self.pending[1] do
    local wait = self.last_sent + SPACING_MS - clock.monotonic()
    if wait > 0 then
      task.sleep(math.ceil(wait))
    else
      self:enqueue { event = next_pending(self) }
      self.last_sent = clock.monotonic()
    end
  end
end

--- Whether an event without seq may go out now; a delta waits until it may.
local function admitted(self, event)
  while true do
    local now = clock.monotonic()
    while self.sent[1] and self.sent[1] <= now - 1000 do
      table.remove(self.sent, 1)
    end
    if #self.sent < MOST_PER_SECOND then
      self.sent[#self.sent + 1], self.last_sent = now, now
      return true
    elseif event.type ~= "message_delta" then
      return false
    end
    task.sleep(math.ceil(self.sent[1] + 1000 - now))
  end
end

-- The queue ---------------------------------------------------------------------------------------

local function tell(self, event)
  for _, listener in ipairs(table.move(self.listeners, 1, #self.listeners, 1, {})) do
    if not listener.gone then
      local ok, err = pcall(listener.fn, event)
      if not ok and not listener.reported then
        listener.reported = true
        self:enqueue(self:durable("log", { level = "error", text = "a listener failed: " .. tostring(err) }))
      end
    end
  end
end

--- Stores the durable events of a batch; each item gets its outcome.
local function keep(self, batch)
  local items, events, bodies = {}, {}, {}
  for _, item in ipairs(batch) do
    if item.body then
      local n = #items + 1
      items[n], events[n], bodies[n] = item, item.event, item.body
    end
  end
  if #items == 0 then
    return
  end
  local seqs, err, id, fields = self.store:append_all(self.session, events, bodies)
  for i, item in ipairs(items) do
    item.event.seq = seqs and seqs[i]
    item.outcome = seqs and { seqs[i] } or { nil, err, id, fields }
  end
end

local function pump(self)
  while #self.queue > 0 do
    local batch = self.queue
    self.queue = {}
    local ok, err = pcall(keep, self, batch) -- when it raises, who waits is answered all the same
    for _, item in ipairs(batch) do
      if item.body and not ok then
        item.outcome = { nil, tostring(err), "internal" }
      elseif item.body and item.outcome[1] or not item.body and admitted(self, item.event) then
        tell(self, item.event)
      end
      if item.done then
        item.done:send(item.outcome)
        item.done = nil
      end
    end
  end
end

function Bus:enqueue(item)
  if not works(self.pump_task) then
    self.queue = {} -- left by a pump that ended early: who waited for these was told that they are not stored
    self.pump_task = task.spawn(pump, self)
  end
  self.queue[#self.queue + 1] = item
end

--- Lets out what waits for its turn.
function Bus:release()
  while self.pending[1] do
    self:enqueue { event = next_pending(self) }
  end
end

function Bus:durable(type_name, fields)
  local event = make_event(self, type_name, fields)
  return { event = event, body = store_module.body(event) }
end

--- Emits an event. For a durable one it returns when it is stored and every listener has had it; in
--- a task that is being cancelled, and inside a listener, it is stored and told all the same but
--- not waited for.
---@async
---@param type_name string   of event_types.lua; another raises, and so do wrong fields
---@param fields table?
---@return integer|boolean? seq  true for an event without seq
---@return string? err           it could not be stored, and no listener has had it
---@return string? id            "no_space", "io_error", …
---@return table? about
function Bus:emit(type_name, fields)
  local kind = by_type[type_name]
  if not kind then
    error(("no event type %q%s"):format(tostring(type_name), schema.hint(type_name, names)), 2)
  end
  local ok, wrong = kind.schema:check(fields or {})
  if not ok then
    error(("%s: %s"):format(type_name, wrong), 2)
  end
  if kind.ephemeral then
    defer(self, make_event(self, type_name, fields))
    if not works(self.ticker) then
      self.ticker = task.spawn(tick, self)
    end
    return true
  end
  local item = self:durable(type_name, fields)
  self:release() -- what was said before goes out before
  local current = task.current()
  if not current or current == self.pump_task then
    self:enqueue(item)
    return true
  end
  local done = task.channel(1)
  item.done = done
  self:enqueue(item)
  local outcome = done:receive(self.pump_task) or item.outcome
  if not outcome then
    return nil, "the event was not stored", "internal"
  end
  return table.unpack(outcome, 1, 4)
end

--- Waits until all that was emitted so far is stored and told.
---@async
function Bus:flush()
  self:release()
  while works(self.pump_task) do
    task.sleep(5)
  end
end

return M
