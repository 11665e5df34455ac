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

---@class alisio.Session
---@field id string
---@field cwd string          real path of the workspace
---@field workspace table     std.fs root of it
---@field store alisio.Store
---@field config alisio.Config
---@field bus alisio.Bus
---@field locale "en"|"es"
---@field result table?       of the last prompt
local Session = {}
Session.__index = Session

--- What a run is limited by: keys of an agent's limits, and of agent.limits.
M.LIMITS = { "turns", "timeMs", "outputTokens", "contextCharacters", "totalTokens" }
local WRITE_WAIT_MS = 5000

--- Title of a session: the first line of its first prompt.
local function title_of(prompt)
  local line = prompt:match "[^\r\n]+" or ""
  local length = utf8.len(line)
  if length and length > 60 then
    line = line:sub(1, utf8.offset(line, 60) - 1) .. "…"
  end
  return line
end

--- Parts of a session that are made when first asked for.
local parts = {
  data = function(session)
    return require("alisio.data").new { session = session }
  end,
  artifacts = function(session)
    return require("alisio.artifacts").new { session = session }
  end,
}

Session.__index = function(session, key)
  local make = parts[key]
  if make then
    local made = make(session)
    rawset(session, key, made)
    return made
  end
  return Session[key]
end

--- Makes the session object around a stored session.
local function make(options, id)
  local runtime, agent = options.runtime, options.agent or {}
  local config = runtime.config
  local self = setmetatable({
    id = id,
    runtime = runtime,
    config = config,
    store = runtime.store,
    locale = config.locale,
    kind = options.kind or "run",
    agent = agent.name or "alisio",
    system = agent.system,
    model = agent.model or config:get "model",
    tools = agent.tools and {},
    limits = {},
    call_ids = {},
    listeners = {},
    ask_face = options.ask,
    wait_total = 0,
  }, Session)
  for _, name in ipairs(M.LIMITS) do
    self.limits[name] = (agent.limits or {})[name] or config:get("agent.limits." .. name)
  end
  for _, name in ipairs(agent.tools or {}) do
    self.tools[name] = true
  end
  self.bus = events.bus(self.store, id)
  self.bus:on(function(event)
    for _, fn in ipairs(self.listeners) do
      fn(event)
    end
  end)
  self.bus:on(function(event)
    hooks.emit(event, function(report)
      self.bus:emit("log", { level = "warn", text = report })
    end)
  end)
  self.permission = permission.new {
    config = config,
    store = self.store,
    session = id,
    bus = self.bus,
    flags = runtime.flags,
    read_only = options.read_only,
    ask = options.ask and function(request)
      return self:question(request)
    end,
  }
  return self
end

--- Opens a session: a new one, or with `id` one that is stored. The process holds it until it is
-- closed; the session that commands share (`shared`) is held only around each write.
---@async
---@param options table
---  runtime; kind = "run"|…; id?; cwd?; shared?; ask? = function(request) → decision, reason;
---  read_only?; agent? = { name, system, tools, model, limits }
---@return alisio.Session? session
---@return string? message
---@return string? id  "session_locked", "not_found", …
---@return table? fields
function M.open(options)
  local store = options.runtime.store
  local kind = options.kind or "run"
  local cwd = options.cwd or options.runtime.cwd
  local id, record, message, err, fields
  if options.id then
    record, message, err, fields = store:session(options.id)
    id = record and options.id
    cwd = options.cwd or record and record.cwd
  elseif options.shared then
    id, message, err, fields = store:shared_session(kind, cwd)
  else
    id, message, err, fields = store:create_session { kind = kind, cwd = cwd, title = "" }
  end
  if not id then
    return nil, message, err, fields
  end
  local workspace
  workspace, message, err, fields = fs.open_root(cwd, { links = "inside" })
  if not workspace then
    return nil, message, err, fields
  end
  local self = make(options, id)
  self.cwd, self.workspace, self.record = cwd, workspace, record
  self.resumed = record ~= nil
  if not options.shared then
    self.lock, message, err, fields = store:hold(id, kind)
    if not self.lock then
      workspace:close()
      return nil, message, err, fields
    end
    if record then
      local recovered
      recovered, message, err, fields = store:recover(id, self.locale)
      if not recovered then
        self:close()
        return nil, message, err, fields
      end
    end
  end
  self.notes = context.notes(workspace)
  return self
end

--- Asks the face, and keeps the time a person took out of the time limit.
---@async
---@param request table  the fields of permission_requested
---@return string decision
---@return string? reason
function Session:question(request)
  local since = clock.monotonic()
  self.asking = true
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

--- Listens to the events of the session's runs.
---@param fn fun(event: table)
---@return fun() remove
function Session:on(fn)
  table.insert(self.listeners, fn)
  return function()
    for i, other in ipairs(self.listeners) do
      if other == fn then
        table.remove(self.listeners, i)
        return
      end
    end
  end
end

--- What a tool is handed beside its input.
---@param id string
---@param name string  of the tool
---@param progress fun(call: table, line: string)
---@return table call
function Session:call(id, name, progress)
  return {
    id = id, name = name, session = self, cwd = self.cwd, workspace = self.workspace, config = self.config,
    bus = self.bus, permission = self.permission, progress = progress,
  }
end

--- Runs the hooks in front of a step on behalf of a tool.
---@param point string  "python", "publish"
---@param step table    hooks may change it
---@return boolean? ok
---@return string? reason
function Session.before(_, point, step)
  return hooks.run(point, step)
end

--- Runs `fn` while this process holds the session; waits up to 5 s for another holder.
---@async
---@param fn function
---@return any ...  what fn returns, or nil, message, id, fields
function Session:write(fn)
  if self.lock then
    return fn()
  end
  local lock, message, id, fields = self.store:hold(self.id, self.kind, WRITE_WAIT_MS)
  if not lock then
    return nil, message, id, fields
  end
  local _ <close> = lock
  return fn()
end

--- The stored events, oldest first.
---@async
---@return table[]? events
---@return string? message
---@return string? id
function Session:events()
  return self.store:events(self.id)
end

--- Reads the history into a run: its messages, and the ids of calls that are taken.
local function recall(self, run)
  local history, message, id, fields = self:events()
  if not history then
    return nil, message, id, fields
  end
  for _, event in ipairs(history) do
    if event.type == "tool_started" then
      self.call_ids[event.callId] = 1
    end
  end
  run.messages = context.messages(history)
  return history
end

--- Sends a prompt and runs it to its end. An empty text goes on where the last run stopped.
---@async
---@param prompt string
---@param options? { on: fun(event: table)? }
---@return table? result  { status, limit?, usage, durationMs, error?, notOffered?, text?, stored }
---@return string? message  when nothing was run
---@return string? id
---@return table? fields
function Session:prompt(prompt, options)
  if self.run then
    return nil, words.t(self.locale, "agent.busy"), "session_locked"
  end
  local run = { id = ids.new "run", session = self, bus = self.bus, limits = self.limits }
  local remove = options and options.on and self:on(options.on)
  self.run, self.wait_total = run, 0
  local _ <close> = setmetatable({}, { __close = function()
    self.run = nil
    if remove then
      remove()
    end
  end })
  local step = { text = prompt, session = self.id }
  local ok, reason = hooks.run("prompt", step)
  if not ok then
    return nil, reason, "permission_denied"
  end
  local provider, profile, err, fields = models.open(self.model, self.config)
  if not provider then
    return nil, profile, err, fields
  end
  prompt = step.text
  run.prompt, run.provider, run.profile, run.model = prompt, provider, profile, profile.label
  run.system = context.system(self)
  local history, message
  history, message, err, fields = recall(self, run)
  if not history then
    return nil, message, err, fields
  end
  if #history == 0 and prompt ~= "" then
    self.title = title_of(prompt)
    ok, message, err, fields = self.store:update_session(self.id, { title = self.title })
    if not ok then
      return nil, message, err, fields
    end
  end
  self.bus.run = run.id
  self.permission:begin()
  if prompt ~= "" then
    run.messages[#run.messages + 1] = { role = "user", text = prompt }
  end
  run.opened = self.opened
  self.opened = true
  self.result = loop.run(run)
  return self.result
end

--- Stops the run that is going on; its prompt returns with status `cancelled`.
function Session:cancel()
  local run = self.run
  if run then
    run.stopped = true -- it may not have come to its first turn
  end
  if run and run.task then
    run.task:cancel()
  end
end

--- Closes a session in which nothing was said, and forgets it when it is new.
---@async
function Session:discard()
  self:close()
  if not self.resumed and not self.opened then
    self.store:delete_session(self.id)
  end
end

--- Lets go of the session; twice is fine.
function Session:close()
  if self.lock then
    self.lock:release()
    self.lock = nil
  end
  if self.workspace then
    self.workspace:close()
    self.workspace = nil
  end
end

Session.__close = Session.close

return M
