--- A prompt from the command line: opens the session, shows its events, asks where there is a
-- terminal, obeys Ctrl-C, and makes the exit status.
local clock = require "std.clock"
local json = require "std.json"
local process = require "std.process"
local task = require "std.task"
local term = require "std.term"
local words = require "alisio.kernel.words"
local agent_session = require "alisio.agent.session"
local question = require "alisio.ui.cli.lib.question"
local render = require "alisio.ui.cli.lib.render"
local screen_module = require "alisio.ui.cli.lib.screen"

local M = {}

local exit_status = { completed = 0, failed = 1, limit_reached = 1, cancelled = 130 }

--- The text of the prompt: the words from `first` on, or standard input for a lone `-`.
---@param ctx table
---@param args table
---@param first integer
---@return string? text
---@return string? message
---@return string? id
function M.text(ctx, args, first)
  local said = table.concat(args, " ", first)
  if said == "-" then
    said = io.read "a" or ""
  end
  if not require("std.text").valid(said) then
    return nil, ctx:text { en = "The prompt is not UTF-8 text.", es = "La petición no es texto UTF-8." }, "usage"
  end
  return (said:gsub("^%s+", ""):gsub("%s+$", ""))
end

--- Ends the run on the first signal, the program on the second.
---@async
local function obey(signals, session)
  if signals:wait() then
    session:cancel()
  end
  if signals:wait() then
    os.exit(130) -- what runs ends with this process
  end
end

--- Writes each event as one line of JSON.
local function json_face()
  local face = {}
  function face.event(_, event)
    term.write(json.encode(event) .. "\n")
  end
  function face.start() end
  function face.finish(_, result, session, run)
    if not result.stored then -- its event could not be stored, so no bus has told it
      local last = { v = 1, time = clock.now(), type = "run_completed", session = session, run = run }
      for _, key in ipairs { "status", "limit", "usage", "durationMs", "error", "notOffered" } do
        last[key] = result[key]
      end
      term.write(json.encode(last) .. "\n")
    end
  end
  function face.stop() end
  return face
end

--- The folder of a stored session is that of the run: its project's configuration counts, wherever
-- the command was typed.
local function go_there(ctx, session)
  if not session then
    return true
  end
  local store, message, id, fields = ctx:store()
  local record = store
  if store then
    record, message, id, fields = store:session(session)
  end
  if not record then
    return nil, message, id, fields
  end
  ctx.cwd = record.cwd
  return true
end

--- Opens a session, lets `fn` prompt it, and shows what happens.
---@async
---@param ctx table
---@param which table   { id?, kind }
---@param fn fun(session: alisio.Session): table?, string?, string?, table?  gives the last result of session:prompt
---@return integer? status
---@return string? message
---@return string? id
---@return table? fields
function M.with(ctx, which, fn)
  local ok, message, id, fields = go_there(ctx, which.id)
  if not ok then
    return nil, message, id, fields
  end
  local runtime
  runtime, message, id, fields = ctx:runtime()
  if not runtime then
    return nil, message, id, fields
  end
  local screen = screen_module.new { quiet = ctx.quiet }
  local face = ctx.json and json_face() or render.new(screen, { locale = ctx.locale, quiet = ctx.quiet })
  local session
  local calls = {}
  session, message, id, fields = agent_session.open {
    runtime = runtime,
    kind = which.kind,
    id = which.id,
    cwd = not which.id and ctx.cwd or nil,
    ask = question.asker(ctx, {
      screen = screen,
      call = function(call_id)
        return calls[call_id]
      end,
      pause = function(paused)
        face:pause(paused)
      end,
      cancel = function()
        session:cancel()
      end,
    }),
  }
  if not session then
    return nil, message, id, fields
  end
  local _ <close> = session
  local signals <close> = process.signals { "INT", "TERM", "HUP" }
  local guard = task.spawn(obey, signals, session)
  local _ <close> = setmetatable({}, { __close = function()
    guard:cancel()
    face:stop()
  end })
  face:start()
  session:on(function(event)
    if event.type == "tool_started" then
      calls[event.callId] = { name = event.name, detail = render.detail(event.input) }
    end
    face:event(event)
  end)
  local result
  result, message, id, fields = fn(session)
  if not result then
    face:stop()
    session:discard()
    return nil, message, id, fields
  end
  face:finish(result, session.id, session.bus.run)
  return exit_status[result.status]
end

--- Runs a prompt and shows it.
---@async
---@param ctx table
---@param which table   { id?, kind }
---@param said string
---@return integer? status
---@return string? message
---@return string? id
---@return table? fields
function M.run(ctx, which, said)
  return M.with(ctx, which, function(session)
    return session:prompt(said)
  end)
end

--- Runs a command that the user's Lua added. It may prompt any number of times, or not at all.
---@async
---@param ctx table
---@param command table  { name, run }
---@param words_behind string[]  what stands behind its name
---@return integer? status
---@return string? message
---@return string? id
---@return table? fields
function M.command(ctx, command, words_behind)
  return M.with(ctx, { kind = "run" }, function(session)
    command.run(session, words_behind)
    return session.result or { status = "completed", stored = true }
  end)
end

--- Shows where a finished session stands: its last answer, and how to go on.
---@async
---@param ctx table
---@param id string
---@return integer? status
---@return string? message
---@return string? err
---@return table? fields
function M.show(ctx, id)
  local store = ctx:store()
  local events, message, err, fields = store:events(id, { types = { "message_completed", "run_completed" } })
  if not events then
    return nil, message, err, fields
  end
  if ctx.json then
    for _, event in ipairs(events) do
      term.write(json.encode(event) .. "\n")
    end
    return 0
  end
  local last
  for _, event in ipairs(events) do
    last = event.type == "message_completed" and event.role == "assistant" and event or last
  end
  if last then
    ctx:out(last.text .. "\n")
  end
  ctx:say(words.t(ctx.locale, "run.nothing_open", { session = id }))
  return 0
end

return M
