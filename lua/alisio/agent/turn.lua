--- One turn: a reply of the model, streamed, and the tool calls in it.
local clock = require "std.clock"
local json = require "std.json"
local log = require "std.log"
local schema = require "std.schema"
local task = require "std.task"
local text = require "std.text"
local tool = require "std.tool"
local words = require "alisio.kernel.words"
local context = require "alisio.agent.context"
local hooks = require "alisio.agent.hooks"

local M = {}

--- Reads running side by side.
M.PARALLEL_READS = 4
--- Calls of one reply that are run; a model that makes more has lost its way.
M.MOST_CALLS = 128

local MAX_ID = 200 -- bytes of a call's id

--- Emits an event of a run. Where it cannot be stored the run ends: nothing is shown, or done, that
-- would be forgotten.
---@async
---@param run table
---@param type string
---@param fields table
function M.emit(run, type, fields)
  local stored, message, id, about = run.bus:emit(type, fields)
  if not stored then
    run.unstored = { code = id or "io_error", message = words.error(run.session.locale, id or "io_error", about) }
    error("not stored: " .. tostring(message), 0)
  end
end

local levels = { error = true, warn = true, info = true, debug = true }

-- What a model hands over may be a user's own Lua: what is no piece is answered where it was made.
local function check_piece(piece)
  local kind = type(piece) == "table" and piece.type
  if kind == "tool_call" then
    return
  elseif kind ~= "text" and kind ~= "reasoning" and kind ~= "log" then
    error('emit takes { type = "text", "reasoning", "tool_call" or "log", … }', 3)
  elseif type(piece.text) ~= "string" then
    error(("emit: text of a %s is a string, not a %s"):format(kind, type(piece.text)), 3)
  elseif kind == "log" and not levels[piece.level] then
    error("emit: level of a log is error, warn, info or debug", 3)
  end
end

-- A count of tokens, or nil for what is none.
local function tokens(n)
  n = math.tointeger(n)
  return n and n >= 0 and n or nil
end

-- What a stream returned, with what is no usage left out.
local function read_result(result)
  if type(result) ~= "table" then
    return nil, "a model's stream returns { stop, usage?, extra? }, not a " .. type(result)
  end
  local ok, why = pcall(json.encode, result.extra)
  if not ok then
    return nil, "extra of a reply: " .. tostring(why)
  end
  local usage = type(result.usage) == "table" and result.usage or {}
  return {
    stop = result.stop or "end", extra = result.extra,
    usage = {
      inputTokens = tokens(usage.inputTokens), outputTokens = tokens(usage.outputTokens),
      cachedTokens = tokens(usage.cachedTokens),
    },
  }
end

--- Asks the model for one reply. What it says is handed on as it comes and kept in run.partial, so
-- that a cancel loses nothing.
---@async
---@param run table
---@param request table
---@return table? reply  { text, calls, stop, usage?, extra? }
---@return string? message
---@return string? id
function M.ask(run, request)
  local ok, reason = hooks.run("model", request)
  if not ok then
    return nil, reason, "permission_denied"
  end
  local parts, calls = {}, {}
  run.partial = parts
  local ran, result, message, id = pcall(run.provider.stream, request, function(piece)
    check_piece(piece)
    if piece.type == "tool_call" then
      calls[#calls + 1] = piece
    elseif piece.type == "log" then
      M.emit(run, "log", { level = piece.level, text = text.repair(piece.text) })
    elseif piece.text ~= "" then
      local said = text.repair(piece.text)
      parts[#parts + 1] = piece.type == "text" and said or nil
      run.bus:emit("message_delta", { text = said, channel = piece.type })
    end
  end)
  if not ran and (result == "cancelled" or run.unstored) then
    error(result, 0)
  elseif not ran then
    log.error("a model raised", { model = run.model, error = tostring(result) })
    return nil, text.repair(tostring(result)), "provider_failed"
  elseif not result then
    message = message or words.t(run.session.locale, "agent.empty_reply", { model = run.model })
    return nil, text.repair(tostring(message)), id or "provider_failed"
  end
  local reply
  reply, message = read_result(result)
  if not reply then
    return nil, message, "provider_failed"
  end
  reply.text, reply.calls = table.concat(parts), calls
  local step = { text = reply.text }
  ok, reason = hooks.run("reply", step)
  if not ok then
    return nil, reason, "permission_denied"
  end
  reply.text = step.text
  return reply
end

--- The blocks of what a tool returned.
---@param session table
---@param result any
---@return table[] blocks
---@return boolean is_error
local function blocks(session, result)
  local list = json.array {}
  if type(result) ~= "table" then
    list[1] = { type = "text", text = text.repair(tostring(result)) }
    return list, false
  end
  if result.text ~= nil and type(result.text) ~= "string" then
    error("its text is a " .. type(result.text), 0)
  elseif result.text and result.text ~= "" then
    list[#list + 1] = { type = "text", text = text.repair(result.text) }
  end
  if result.table then
    json.encode(result.table) -- raises for what no face could be shown
    list[#list + 1] = { type = "table", table = result.table }
  end
  for _, art in ipairs(result.artifacts or {}) do
    local found = art
    if type(art) == "string" and session.artifacts then
      found = session.artifacts:get(art) or { id = art }
    end
    list[#list + 1] = { type = "artifact", artifact = found }
  end
  return list, result.isError == true
end

--- Why a call cannot run at all, as the model should read it.
local function misfit(run, call, def)
  if not def then
    local names = {}
    for _, offered in ipairs(run.tools) do
      names[#names + 1] = offered.name
    end
    local near = schema.nearest(tostring(call.name), names)
    return ("There is no tool %q.%s Tools: %s."):format(tostring(call.name),
      near and (" Did you mean %s?"):format(near) or "", table.concat(names, ", "))
  end
  if type(call.input) ~= "table" then
    return ("The arguments of %s are not a JSON object: %s. Send the call again with valid JSON.")
      :format(call.name, context.cap(text.repair(call.badInput or tostring(call.input)), 300))
  end
  local ok, message = schema.check(def.schema, call.input)
  if not ok then
    return ("The arguments of %s do not fit: %s."):format(call.name, message)
  end
end

local function complete(run, call, status, output, started)
  local event = {
    callId = call.id,
    name = call.name,
    status = status,
    output = output,
    durationMs = math.floor(math.max(0, clock.monotonic() - run.session:waited() - started) + 0.5),
  }
  run.running[call.id] = nil
  M.emit(run, "tool_completed", event)
  return context.tool_message(event)
end

local function say(line)
  return json.array { { type = "text", text = line } }
end

--- Runs one announced call to its end.
---@async
---@param run table
---@param call table
---@return table message  the tool message for the model
local function act(run, call)
  local started = clock.monotonic() - run.session:waited() -- a person's time is not the tool's
  if call.misfit then
    return complete(run, call, "error", say(call.misfit), started)
  end
  local handed = run.session:call(call.id, call.name, function(_, line)
    run.bus:emit("tool_progress", { callId = call.id, text = text.repair(line) })
  end)
  local ok, result, message, id, fields = pcall(tool.call, call.name, call.input, handed)
  if not ok then
    if result == "cancelled" then
      error(result, 0)
    end
    return complete(run, call, "error", say(("%s failed: %s"):format(call.name, tostring(result))), started)
  elseif result == nil then
    local status = id == "permission_denied" and "denied" or id == "cancelled" and "cancelled" or "error"
    local why = words.failure(run.session.locale, tostring(message or "no result"), id, fields)
    if status == "denied" then
      why = "Not run: " .. why
    elseif status == "error" and id then
      why = id .. ": " .. why
    end
    return complete(run, call, status, say(why), started)
  end
  local fits, output, is_error = pcall(blocks, run.session, result)
  if not fits and output == "cancelled" then
    error(output, 0)
  elseif not fits then
    return complete(run, call, "error", say(("%s returned what is no result: %s"):format(call.name, tostring(output))), started)
  end
  return complete(run, call, is_error and "error" or "ok", output, started)
end

--- The input of a call as the history keeps it: what was no JSON object never goes back.
---@param call table
---@return table
function M.input(call)
  return type(call.input) == "table" and call.input or {}
end

--- Announces a call: from here on it has happened, whatever comes.
local function announce(run, call)
  local def = call.def
  run.running[call.id] = clock.monotonic()
  M.emit(run, "tool_started", {
    callId = call.id,
    name = call.name,
    input = M.input(call),
    effect = def and def.effect or "internal",
  })
end

-- An id that is not taken: the model's own, else with the next number behind it.
local function unique_id(taken, id)
  id = type(id) == "string" and id ~= "" and text.repair(id) or "call"
  if #id > MAX_ID then
    id = id:sub(1, utf8.offset(id, 0, MAX_ID + 1) - 1)
  end
  local unique, n = id, math.tointeger(taken[id]) or 1
  while taken[unique] do
    n = n + 1
    unique = ("%s_%d"):format(id, n)
  end
  taken[id], taken[unique] = n, taken[unique] or 1
  return unique
end

--- Gives every call an id that no other call of the session has, and finds its tool.
local function prepare(run, calls)
  for _, call in ipairs(calls) do
    call.name = type(call.name) == "string" and text.repair(call.name) or "?"
    call.id = unique_id(run.session.call_ids, call.id)
    local ok, why = pcall(json.encode, call.input)
    if not ok then -- a user's own model can pass what no JSON holds
      call.input, call.badInput = nil, tostring(why)
    end
    call.def = run.by_name[call.name]
    call.misfit = misfit(run, call, call.def)
    run.calls[#run.calls + 1] = call
  end
end

--- Runs the calls of a reply: neighbouring reads side by side, everything else in order.
---@async
---@param run table
---@param calls table[]
---@return table[] messages  one tool message a call, in the order of the calls
function M.act(run, calls)
  if #calls > M.MOST_CALLS then
    M.emit(run, "log", { level = "warn", text = words.t(run.session.locale, "agent.many_calls",
      { count = #calls, most = M.MOST_CALLS }) })
    for i = #calls, M.MOST_CALLS + 1, -1 do
      calls[i] = nil
    end
  end
  prepare(run, calls)
  local messages, i = {}, 1
  while i <= #calls do
    local last = i
    while calls[i].def and calls[i].def.effect == "read" and calls[last + 1] and calls[last + 1].def
      and calls[last + 1].def.effect == "read" do
      last = last + 1
    end
    local batch = {}
    for k = i, last do
      announce(run, calls[k])
      batch[#batch + 1] = calls[k]
    end
    if #batch == 1 then
      messages[#messages + 1] = act(run, batch[1])
    else
      local done = assert(task.map(batch, function(call)
        return act(run, call)
      end, { limit = M.PARALLEL_READS }))
      for _, message in ipairs(done) do
        messages[#messages + 1] = message
      end
    end
    i = last + 1
  end
  return messages
end

return M
