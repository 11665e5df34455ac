--- A conversation in a folder: opened new or again, prompted, cancelled, closed. Faces listen with
-- `on` and answer questions with `ask`.
local clock = require "std.clock"
local fs = require "std.fs"
local events = require "alisio.kernel.events"
local ids = require "alisio.kernel.ids"
local words = require "alisio.kernel.words"
local context = require "alisio.agent.context"
local hooks = require "alisio.agent.hooks"
local loop = require "alisio.agent.loop"
local models = require "alisio.agent.model"
local permission = require "alisio.agent.permission"

local M = {}

local Session = {}
Session.__index = Session

local limit_names = { "turns", "timeMs", "outputTokens", "contextCharacters", "totalTokens" }

--- Title of a session: the first line of its first prompt.
local function title_of(prompt)
  local line = prompt:match "[^\r\n]+" or ""
  if utf8.len(line) and utf8.len(line) > 60 then
    line = line:sub(1, utf8.offset(line, 60) - 1) .. "…"
  end
  return line
end

--- Opens a session. A new one is stored with its first prompt.
---@async
---@param options table
---  runtime; kind = "run"|…; face = who holds it; id? = of a session to open again; cwd?;
---  ask? = function(request) → decision, reason; read_only?; agent? = { name, system, tools, model, limits }
---@return table? session
---@return string? message
---@return string? id
---@return table? fields
function M.open(options)
  local runtime = options.runtime
  local store, agent = runtime.store, options.agent or {}
  local self = setmetatable({
    runtime = runtime,
    config = runtime.config,
    store = store,
    kind = options.kind or "run",
    face = options.face or options.kind or "run",
    cwd = options.cwd or runtime.cwd,
    locale = options.locale or "en",
    agent = agent.name or "alisio",
    system = agent.system,
    model = agent.model or runtime.config:get "model",
    limits = {},
    call_ids = {},
    listeners = {},
    ask_face = options.ask,
    wait_total = 0,
  }, Session)
  for _, name in ipairs(limit_names) do
    self.limits[name] = (agent.limits or {})[name] or runtime.config:get("agent.limits." .. name)
  end
  if agent.tools then
    self.tools = {}
    for _, name in ipairs(agent.tools) do
      self.tools[name] = true
    end
  end
  if options.id then
    local record, message, id = store:session(options.id)
    if not record then
      return nil, message, id
    end
    self.id, self.record, self.resumed = record.id, record, true
    self.cwd = options.cwd or record.cwd
  else
    self.id = store:create_session { kind = self.kind, cwd = self.cwd, title = "" }
    self.resumed = false
  end
  local lock, message, id, fields = store:hold(self.id, self.face)
  if not lock then
    return nil, message, id, fields
  end
  self.lock = lock
  if self.resumed then
    store:recover(self.id)
  end
  self.workspace, message, id = fs.open_root(self.cwd, { links = "inside" })
  if not self.workspace then
    lock:close()
    return nil, message, id
  end
  self.permission = permission.new {
    config = self.config,
    store = store,
    session = self.id,
    flags = runtime.flags,
    read_only = options.read_only,
    ask = options.ask and function(request)
      return self:question(request)
    end,
  }
  self.notes = context.notes(self.workspace)
  return self
end

--- Asks the face, one question at a time, and keeps the time a person took out of the time limit.
function Session:question(request)
  self.asking = true
  local since = clock.monotonic()
  local _ <close> = setmetatable({}, { __close = function()
    self.asking = false
    self.wait_total = self.wait_total + clock.monotonic() - since
  end })
  return self.ask_face(request)
end

--- Milliseconds of this run spent waiting for a person.
---@return number
function Session:waited()
  return self.wait_total
end

--- Listens to all events of the session's runs.
---@param fn fun(event: table)
---@return fun() remove
function Session:on(fn)
  self.listeners[#self.listeners + 1] = fn
  return function()
    for i, other in ipairs(self.listeners) do
      if other == fn then
        table.remove(self.listeners, i)
        return
      end
    end
  end
end

--- Runs the hooks in front of a step on behalf of a tool.
---@param point string
---@param step table
---@return boolean? ok
---@return string? reason
function Session:before(point, step)
  return hooks.run(point, step)
end

--- The stored events, oldest first.
---@async
---@return table[]
function Session:events()
  return self.store:events(self.id, {})
end

--- A bus for one run: stored first, then to the listeners, then to the user's Lua.
local function open_bus(self, run_id, on)
  local bus = events.bus(self.store, self.id, run_id)
  bus:on(function(event)
    for _, fn in ipairs(self.listeners) do
      fn(event)
    end
    if on then
      on(event)
    end
  end)
  bus:on(function(event)
    hooks.emit(event, function(report)
      bus:emit("log", { level = "warn", text = report })
    end)
  end)
  return bus
end

--- Sends a prompt and runs it to its end. An empty text goes on where the last run stopped.
---@async
---@param prompt string
---@param options? { on: fun(event: table)? }
---@return table? result  { status, limit?, usage, durationMs, error?, notOffered?, text? }
---@return string? message  when nothing was run
---@return string? id
function Session:prompt(prompt, options)
  if self.run then
    return nil, words.error(self.locale, "session_busy", {}), "session_locked"
  end
  local step = { text = prompt, session = self.id }
  local ok, reason = hooks.run("prompt", step)
  if not ok then
    return nil, reason, "permission_denied"
  end
  prompt = step.text
  local provider, profile, id = models.open(self.model, self.config, self.runtime)
  if not provider then
    return nil, profile, id
  end
  local run = {
    id = ids.new "run",
    session = self,
    provider = provider,
    profile = profile,
    model = profile.label or self.model,
    limits = self.limits,
    system = context.system(self),
  }
  self.run, self.wait_total = run, 0
  local _ <close> = setmetatable({}, { __close = function()
    self.run = nil
  end })
  run.bus = open_bus(self, run.id, options and options.on)
  self.bus, self.permission.bus = run.bus, run.bus
  self.permission.not_offered = {}
  local history = self:events()
  for _, event in ipairs(history) do
    if event.type == "tool_started" then
      self.call_ids[event.callId] = true
    end
  end
  run.messages = context.messages(history)
  if #history == 0 then
    self.title = title_of(prompt)
    self.store:update_session(self.id, { title = self.title })
  end
  if not self.announced then
    self.announced = true
    run.bus:emit("session_opened", { title = self.title or (self.record or {}).title or "", resumed = self.resumed })
  end
  run.bus:emit("run_started", { prompt = prompt, model = run.model, agent = self.agent })
  if prompt ~= "" then
    run.messages[#run.messages + 1] = { role = "user", text = prompt }
  end
  return loop.run(run)
end

--- Stops the run that is going on; its prompt returns with status `cancelled`.
function Session:cancel()
  local run = self.run
  if run and run.task then
    run.stopped = true
    run.task:cancel()
  end
end

--- Lets go of the session.
function Session:close()
  if self.lock then
    self.lock:close()
    self.lock = nil
    self.workspace:close()
  end
end

Session.__close = Session.close

return M
