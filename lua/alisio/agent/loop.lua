--- The run of a prompt: turn after turn until the model is done, a limit is met, or someone stops
-- it. However it ends, what came is stored and run_completed says how.
local clock = require "std.clock"
local json = require "std.json"
local log = require "std.log"
local task = require "std.task"
local tool = require "std.tool"
local words = require "alisio.kernel.words"
local context = require "alisio.agent.context"
local turn = require "alisio.agent.turn"

local M = {}

--- The tools the model is told of, and a table of them by name.
local function offer(run)
  local session = run.session
  for _, def in ipairs(tool.list()) do
    local wanted = not session.tools or session.tools[def.name]
    if wanted and session.permission:offered(def) then
      run.tools[#run.tools + 1] = { name = def.name, description = def.description, input = def.input }
      run.by_name[def.name] = def
    end
  end
end

--- Tokens of a turn. A provider that counts nothing is reckoned at four characters a token.
local function count(run, request, reply)
  local usage = reply.usage or {}
  local input, output = usage.inputTokens or 0, usage.outputTokens or 0
  local total = run.usage
  total.inputTokens = total.inputTokens + input
  total.outputTokens = total.outputTokens + output
  if usage.cachedTokens then
    total.cachedTokens = (total.cachedTokens or 0) + usage.cachedTokens
  end
  local wrote = usage.outputTokens or #reply.text // 4
  run.output_tokens = run.output_tokens + wrote
  run.total_tokens = run.total_tokens + wrote + (usage.inputTokens or context.characters(request) // 4)
  return { inputTokens = input, outputTokens = output, cachedTokens = usage.cachedTokens }
end

local function fail(run, id, message)
  run.error = { code = id, message = message }
  return "failed"
end

--- One reply and its calls. Returns how the run ended, or nothing when it goes on.
---@async
local function step(run)
  local limits, messages = run.limits, run.messages
  local request = {
    system = run.system,
    messages = table.move(messages, 1, #messages, 1, {}),
    tools = run.tools,
    profile = run.profile,
    limits = { outputTokens = limits.outputTokens - run.output_tokens },
    locale = run.session.locale,
  }
  if context.characters(request) > limits.contextCharacters then
    return "limit_reached", "contextCharacters"
  end
  local reply, message, id = turn.ask(run, request)
  if not reply then
    return fail(run, id, message)
  end
  local used = count(run, request, reply)
  local answer = { role = "assistant", text = reply.text, extra = reply.extra }
  messages[#messages + 1] = answer
  if reply.text ~= "" or reply.extra then
    turn.emit(run, "message_completed", { text = reply.text, role = "assistant", extra = reply.extra })
    run.text = reply.text ~= "" and reply.text or run.text
  end
  run.partial = nil
  if #reply.calls > 0 and reply.stop ~= "length" then
    local results = turn.act(run, reply.calls)
    answer.toolCalls = {}
    for i, call in ipairs(reply.calls) do
      answer.toolCalls[i] = { id = call.id, name = call.name, input = turn.input(call) }
      messages[#messages + 1] = results[i]
    end
  end
  turn.emit(run, "turn_completed", { usage = used })
  if reply.stop == "length" or run.output_tokens >= limits.outputTokens then
    return "limit_reached", "outputTokens"
  elseif #reply.calls == 0 then
    if reply.text == "" then
      return fail(run, "provider_failed", words.t(run.session.locale, "agent.empty_reply", { model = run.model }))
    end
    return "completed"
  elseif run.total_tokens >= limits.totalTokens then
    return "limit_reached", "totalTokens"
  end
end

--- Says that the run begins.
---@async
local function begin(run)
  local session = run.session
  if not run.opened then
    turn.emit(run, "session_opened", {
      title = session.title or session.record and session.record.title or "",
      resumed = session.resumed,
    })
  end
  turn.emit(run, "run_started", { prompt = run.prompt, model = run.model, agent = session.agent })
end

--- The loop itself. Returns how it ended: status, and for limit_reached which limit.
---@async
local function turns(run)
  if run.unstored then
    error("not begun", 0)
  end
  for _ = 1, run.limits.turns do
    local status, limit = step(run)
    if status then
      return status, limit
    end
  end
  return "limit_reached", "turns"
end

local function since(started)
  return math.floor(clock.monotonic() - started + 0.5)
end

--- Closes what a cancel left open: what the model had said, and the calls that ran.
local function close_open(run)
  local partial = run.partial and table.concat(run.partial) or ""
  if partial ~= "" then
    run.bus:emit("message_completed", { text = partial, role = "assistant", partial = true })
    run.text = partial
  end
  for _, call in ipairs(run.calls) do
    if run.running[call.id] then
      run.bus:emit("tool_completed", {
        callId = call.id,
        name = call.name,
        status = "cancelled",
        output = json.array {},
        durationMs = since(run.running[call.id]),
      })
    end
  end
end

--- Stores how the run ended. Once.
---@async
local function finish(run, status, limit)
  if run.result then
    return
  end
  local withheld = run.session.permission:withheld()
  run.result = {
    status = status,
    limit = limit,
    usage = run.usage,
    durationMs = since(run.started),
    error = run.error,
    notOffered = #withheld > 0 and json.array(withheld) or nil,
  }
  close_open(run)
  run.stored = run.bus:emit("run_completed", run.result) and true or false
end

--- Sleeps until the time limit is met, not counting the time a person was asked.
---@async
local function watch(run)
  while true do
    local left = run.limits.timeMs - (clock.monotonic() - run.started - run.session:waited())
    if left <= 0 and not run.session.asking then
      run.out_of_time = true
      run.task:cancel()
      return
    end
    task.sleep(math.floor(math.max(20, math.min(left, 60000))))
  end
end

--- Runs a prepared run to its end.
---@async
---@param run table  { session, bus, prompt, provider, profile, model, messages, limits, system, opened }
---@return table result  the fields of run_completed; `text`, the last answer; `stored`, whether the
---                      end could be stored
function M.run(run)
  run.tools, run.by_name, run.running, run.calls = {}, {}, {}, {}
  run.usage = { inputTokens = 0, outputTokens = 0 }
  run.output_tokens, run.total_tokens = 0, 0
  run.started = clock.monotonic()
  offer(run)
  local begun, why = pcall(begin, run)
  if not begun and not run.unstored then
    error(why, 0)
  end
  local watcher
  -- Should the caller be cancelled, or memory end, the run ends first, and its end is stored.
  local _ <close> = setmetatable({}, { __close = function(_, err)
    if watcher then
      watcher:cancel()
    end
    if run.task then
      run.task:cancel()
    end
    local cancelled = not err or err == "cancelled"
    run.error = cancelled and run.error or run.error or { code = "internal", message = tostring(err) }
    finish(run, cancelled and "cancelled" or "failed")
  end })
  run.task = task.spawn(turns, run)
  watcher = task.spawn(watch, run)
  if run.stopped then
    run.task:cancel()
  end
  local ok, status, limit = run.task:wait()
  if run.unstored then
    run.error = run.unstored
    finish(run, "failed")
  elseif ok then
    finish(run, status, limit)
  elseif run.out_of_time then
    finish(run, "limit_reached", "time")
  elseif status == "cancelled" then
    finish(run, "cancelled")
  else
    log.error("a run failed", { run = run.id, error = tostring(status) })
    run.error = { code = "internal", message = tostring(status) }
    finish(run, "failed")
  end
  local result = {}
  for key, value in pairs(run.result) do
    result[key] = value
  end
  result.text, result.stored = run.text, run.stored
  return result
end

return M
