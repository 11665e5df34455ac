--- The run of a prompt: turn after turn until the model is done, a limit is met, or someone stops
-- it. However it ends, what came is stored and run_completed says how.
local clock = require "std.clock"
local json = require "std.json"
local log = require "std.log"
local task = require "std.task"
local tool = require "std.tool"
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
  local input, output = usage.inputTokens, usage.outputTokens
  local total = run.usage
  total.inputTokens = total.inputTokens + (input or 0)
  total.outputTokens = total.outputTokens + (output or 0)
  if usage.cachedTokens then
    total.cachedTokens = (total.cachedTokens or 0) + usage.cachedTokens
  end
  run.output_tokens = run.output_tokens + (output or #reply.text // 4)
  run.total_tokens = run.total_tokens + (input or context.characters(request) // 4) + (output or #reply.text // 4)
  return { inputTokens = input or 0, outputTokens = output or 0, cachedTokens = usage.cachedTokens }
end

--- The loop itself. Returns how it ended: status, and for limit_reached which limit.
---@async
local function turns(run)
  local limits, messages = run.limits, run.messages
  for n = 1, math.huge do
    if n > limits.turns then
      return "limit_reached", "turns"
    end
    local request = {
      system = run.system,
      messages = messages,
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
      run.error = { code = id, message = message }
      return "failed"
    end
    local used = count(run, request, reply)
    local answer = { role = "assistant", text = reply.text, extra = reply.extra }
    messages[#messages + 1] = answer
    run.partial = nil
    if reply.text ~= "" or reply.extra then
      run.bus:emit("message_completed", { text = reply.text, role = "assistant", extra = reply.extra })
      run.text = reply.text ~= "" and reply.text or run.text
    end
    if #reply.calls > 0 and reply.stop ~= "length" then
      for _, result in ipairs(turn.act(run, reply.calls)) do
        messages[#messages + 1] = result
      end
      answer.toolCalls = {}
      for i, call in ipairs(reply.calls) do
        answer.toolCalls[i] = { id = call.id, name = call.name, input = turn.input(call) }
      end
    end
    run.bus:emit("turn_completed", { usage = used })
    if reply.stop == "length" or run.output_tokens >= limits.outputTokens then
      return "limit_reached", "outputTokens"
    elseif run.total_tokens >= limits.totalTokens then
      return "limit_reached", "totalTokens"
    elseif #reply.calls == 0 then
      if reply.text == "" then
        run.error = { code = "provider_failed", message = run.session:words("empty_reply", { model = run.model }) }
        return "failed"
      end
      return "completed"
    end
  end
end

--- Ends what is open and stores how the run ended. Once.
---@async
local function finish(run, status, limit)
  if run.finished then
    return
  end
  run.finished = true
  local bus = run.bus
  local partial = run.partial and table.concat(run.partial) or ""
  if partial ~= "" then
    bus:emit("message_completed", { text = partial, role = "assistant", partial = true })
    run.text = partial
  end
  local open = {}
  for id in pairs(run.running) do
    open[#open + 1] = id
  end
  table.sort(open)
  for _, id in ipairs(open) do
    local call = run.running[id]
    bus:emit("tool_completed", {
      callId = id, name = call.name, status = "cancelled", output = json.array {},
      durationMs = math.floor(clock.monotonic() - call.started + 0.5),
    })
  end
  local withheld = run.session.permission:withheld()
  run.result = {
    status = status,
    limit = limit,
    usage = run.usage,
    durationMs = math.floor(clock.monotonic() - run.started + 0.5),
    error = run.error,
    notOffered = #withheld > 0 and json.array(withheld) or nil,
  }
  bus:emit("run_completed", run.result)
end

--- Sleeps until the time limit is met, not counting the time a person was asked.
---@async
local function watch(run)
  while true do
    local left = run.limits.timeMs - (clock.monotonic() - run.started - run.session:waited())
    if left <= 0 and not run.session.asking then
      run.limit = "time"
      run.task:cancel()
      return
    end
    task.sleep(math.max(20, math.min(left, 60000)))
  end
end

--- Runs a prepared run to its end.
---@async
---@param run table  { session, bus, provider, profile, model, messages, limits, system }
---@return table result  the fields of run_completed, and `text`, the last answer
function M.run(run)
  run.tools, run.by_name, run.running = {}, {}, {}
  run.usage = { inputTokens = 0, outputTokens = 0 }
  run.output_tokens, run.total_tokens = 0, 0
  run.started = clock.monotonic()
  offer(run)
  run.task = task.spawn(turns, run)
  local watcher = task.spawn(watch, run)
  -- Should the caller be cancelled, the run ends first, and its end is stored.
  local _ <close> = setmetatable({}, { __close = function()
    watcher:cancel()
    run.task:cancel()
    finish(run, "cancelled")
  end })
  local ok, status, limit = run.task:wait()
  if ok then
    finish(run, status, limit)
  elseif run.limit then
    finish(run, "limit_reached", run.limit)
  elseif run.stopped or status == "cancelled" then
    finish(run, "cancelled")
  else
    log.error("run failed", { run = run.id, error = tostring(status) })
    run.error = { code = "internal", message = tostring(status) }
    finish(run, "failed")
  end
  local result = run.result
  result.text = run.text
  return result
end

return M
