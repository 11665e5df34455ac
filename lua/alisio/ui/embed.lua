--- The face for programs that embed the host (alisio.h): numbers for sessions, turns and questions,
--- and every event as one line of JSON. The C side calls the functions here; those that answer do so
--- with true, or nil, a message and an id.
local clock = require "std.clock"
local json = require "std.json"
local path = require "std.path"
local task = require "std.task"
local tool = require "std.tool"

local M = {}

--- Set by the C side before `start`: config_dir?, state_dir, read_only, log_level, and the functions
--- emit(kind, session, turn, request, error id?, json) and next_id().
M.options = {}

local kinds = {
  session_opened = 1,
  message_delta = 2, message_completed = 2,
  tool_started = 3, tool_progress = 3, tool_completed = 3,
  permission_requested = 4,
  run_completed = 5,
  log = 6,
}
local OTHER = 7
local levels = { error = 1, warn = 2, info = 3, debug = 4 }

local runtime
-- number → { number, session, closing = a task?, locked = why?, turn = the last one, or false }
-- A turn is { number, entry, task, questions by requestId, began = ms?, cancelled?, ended? }.
local sessions = {}
local questions = {} -- number → { number, options, answers = channel, answered? }

local function emit(event, session, turn, request, err)
  if event.type == "log" and (levels[event.level] or 1) > M.options.log_level then
    return
  end
  M.options.emit(kinds[event.type] or OTHER, session, turn, request, err, json.encode(event))
end

local function report(text)
  emit({ v = 1, time = clock.now(), type = "log", level = "error", text = text }, 0, 0, 0)
end

local function load_config(cwd)
  local o = M.options
  return require("alisio.kernel.config").load {
    config_dir = o.config_dir,
    state_dir = o.state_dir,
    project_dir = cwd,
    flags = o.read_only and { permission = "read-only" } or {},
    env = not o.config_dir and function() end or nil,
  }
end

--- Reads the configuration, opens the state and loads the user's Lua.
---@async
---@return true? ok
---@return string? message
---@return string? id
function M.start()
  local o = M.options
  task.on_error(report)
  o.state_dir = path.absolute(o.state_dir, require("std.fs").cwd())
  local config, message, id = load_config(nil)
  if not config then
    return nil, message, id
  end
  local store
  store, message, id = require("alisio.kernel.store").open(o.state_dir, {})
  if not store then
    return nil, message, id
  end
  runtime, message, id = require("alisio.agent.runtime").start {
    cwd = o.state_dir,
    config = config,
    store = store,
    state_dir = o.state_dir,
    config_dir = o.config_dir,
    clean = not o.config_dir,
    flags = { ["read-only"] = o.read_only },
  }
  if not runtime then
    return nil, message, id
  end
  for _, warning in ipairs(runtime.warnings) do
    emit({ v = 1, time = clock.now(), type = "log", level = "warn", text = warning }, 0, 0, 0)
  end
  return true
end

-- A question of a turn, made by whichever comes first: its event, or the wait for its answer.
local function question_of(turn, request)
  local question = turn.questions[request.requestId]
  if not question then
    question = { number = M.options.next_id(), options = {}, answers = task.channel(1) }
    for _, option in ipairs(request.options) do
      question.options[option.id] = true
    end
    turn.questions[request.requestId] = question
    questions[question.number] = question
  end
  return question
end

local function ask(turn, request)
  local question = question_of(turn, request)
  local answer = question.answers:receive()
  questions[question.number] = nil
  return answer.option or "deny"
end

local function open(cwd, resume_id, number, read_only)
  local config, message, id = load_config(cwd)
  if not config then
    return nil, message, id
  end
  config:adopt_setup(runtime.config)
  local entry = { number = number, turn = false }
  entry.session, message, id = require("alisio.agent.session").open {
    runtime = setmetatable({ config = config, cwd = cwd }, { __index = runtime }),
    kind = "embed",
    id = resume_id,
    cwd = cwd,
    read_only = read_only,
    ask = function(request)
      return ask(entry.turn, request)
    end,
  }
  if id == "session_locked" and read_only then
    entry.locked = message
  elseif not entry.session then
    return nil, message, id
  end
  sessions[number] = entry
  return true
end

--- Opens a session.
---@async
---@param cwd string
---@param resume_id string?
---@param number integer
---@return true? ok
---@return string? message
---@return string? id
function M.open(cwd, resume_id, number)
  return open(cwd, resume_id, number, M.options.read_only)
end

--- Opens a session without tools that write, run or connect. One that another process holds opens
--- as well, but nothing can be said in it.
---@async
---@param cwd string
---@param resume_id string?
---@param number integer
---@return true? ok
---@return string? message
---@return string? id
function M.open_read_only(cwd, resume_id, number)
  return open(cwd, resume_id, number, true)
end

-- The event that ends a turn, where the session did not send one.
local function ending(turn, status, message, id)
  return {
    v = 1, time = clock.now(), session = turn.entry.session.id, type = "run_completed", status = status,
    usage = { inputTokens = 0, outputTokens = 0 },
    durationMs = math.floor(clock.monotonic() - turn.began),
    error = message and { code = id or "internal", message = message } or nil,
  }
end

local function error_of(event)
  if event.status == "cancelled" then
    return "cancelled"
  elseif event.status == "failed" then
    local code = event.error and event.error.code
    return code == "internal" and "internal" or "io_error"
  end
end

-- Ends a turn, once: the session is free again when its last event is heard.
local function finish(turn, last)
  turn.ended = true
  for _, question in pairs(turn.questions) do
    questions[question.number] = nil
  end
  emit(last, turn.entry.number, turn.number, 0, error_of(last))
end

local function run_turn(turn, text)
  turn.began = clock.monotonic()
  if turn.cancelled then
    return finish(turn, ending(turn, "cancelled"))
  end
  local entry, last = turn.entry, nil
  local ok, result, message, id = xpcall(entry.session.prompt, function(err)
    return err == "cancelled" and err or debug.traceback(tostring(err), 2)
  end, entry.session, text, {
    on = function(event)
      if event.type == "run_completed" then
        last = event
      else
        local question = event.type == "permission_requested" and question_of(turn, event)
        emit(event, entry.number, turn.number, question and question.number or 0)
      end
    end,
  })
  if last then
    finish(turn, last)
  elseif turn.cancelled or not ok and result == "cancelled" then
    finish(turn, ending(turn, "cancelled"))
  elseif not ok then
    finish(turn, ending(turn, "failed", result, "internal"))
  else
    finish(turn, ending(turn, "failed", message, id))
  end
end

-- A closing that ended early, for want of memory, has closed nothing: it can be asked for again.
local function closes(entry)
  return entry.closing and not entry.closing:over()
end

--- Starts a turn.
---@param text string
---@param number integer of the session
---@param turn_number integer
---@return true? ok
---@return string|std.Task message or the task that runs the turn
---@return string? id
function M.prompt(text, number, turn_number)
  local entry = sessions[number]
  if not entry or closes(entry) then
    return nil, "there is no such session", "not_found"
  elseif entry.locked then
    return nil, entry.locked, "session_locked"
  end
  local turn = { number = turn_number, entry = entry, task = false, ended = false, questions = {} }
  turn.task = task.spawn(run_turn, turn, text)
  entry.turn = turn
  return true, turn.task
end

local function cancel(turn)
  turn.cancelled = true
  local run = turn.entry.session.run
  if run and run.task then
    turn.entry.session:cancel()
  elseif turn.began then
    turn.task:cancel()
  end
end

--- Cancels a turn; its last event still comes.
---@param number integer
---@return true? ok
---@return string? message
---@return string? id
function M.cancel(number)
  for _, entry in pairs(sessions) do
    if entry.turn and entry.turn.number == number and not entry.turn.ended then
      cancel(entry.turn)
      return true
    end
  end
  return nil, "there is no such turn, or it has ended", "not_found"
end

local function close(number, entry)
  local turn = entry.turn
  if turn and not turn.ended then
    cancel(turn)
    turn.task:wait()
  end
  sessions[number] = nil
  if entry.session then
    entry.session:close()
  end
end

--- Closes a session, after its turn, which is cancelled.
---@param number integer
---@return true? ok
---@return string? message
---@return string? id
function M.close(number)
  local entry = sessions[number]
  if not entry or closes(entry) then
    return nil, "there is no such session", "not_found"
  end
  entry.closing = task.spawn(close, number, entry)
  return true
end

--- Answers a question.
---@param option string? nil dismisses it
---@param number integer
---@return true? ok
---@return string? message
---@return string? id
function M.answer(option, number)
  local question = questions[number]
  if not question or question.answered then
    return nil, "there is no such question, or it was answered", "not_found"
  elseif option and not question.options[option] then
    return nil, ("the question has no option %q"):format(option), "invalid"
  end
  question.answered = true
  question.answers:try_send { option = option }
  return true
end

--- The host ends: every turn is cancelled, and has its last event.
---@return true ok
function M.shutdown()
  for _, entry in pairs(sessions) do
    local turn = entry.turn
    if turn and turn.began then
      cancel(turn)
    elseif turn then
      turn.began = clock.monotonic()
      finish(turn, ending(turn, "cancelled"))
    end
  end
  return true
end

local ids = { [-2] = "internal", [-4] = "not_found", [-7] = "io_error", [-8] = "cancelled" }

-- What a native tool answers, as a tool's result.
local function result_of(name, err, text)
  local value, why = json.decode(text)
  if value == nil and why then
    return nil, ("the tool %s did not answer with JSON: %s"):format(name, why), "internal"
  elseif err ~= 0 then
    return nil, type(value) == "string" and value or text, ids[err] or "internal"
  elseif type(value) == "string" or type(value) == "table" and type(value.text) == "string" then
    return value
  end
  return text
end

--- Adds a native tool.
---@param name string
---@param description string
---@param input string JSON Schema
---@param effect string
---@param capability string?
---@param call fun(args: string): integer, string
---@return true? ok
---@return string? message
---@return string? id
function M.add_tool(name, description, input, effect, capability, call)
  local schema, why = json.decode(input)
  if type(schema) ~= "table" then
    return nil, "input_schema is not a JSON object: " .. tostring(why), "invalid"
  elseif tool.get(name) then
    return nil, ("there is a tool %s already"):format(name), "exists"
  end
  local ok, message = pcall(require("alisio.agent.toolset").add, {
    name = name, description = description, input = schema, effect = effect, capability = capability,
    run = function(args)
      return result_of(name, call(json.encode(args)))
    end,
  })
  if not ok then
    return nil, message, "invalid"
  end
  return true
end

return M
