--- One reply of a Chat Completions server, read chunk by chunk. Text is handed on as it comes; tool
-- calls only when the reply is whole. What the format does not name is kept, to be sent back.
local json = require "std.json"
local calls = require "alisio.agent.model.openai.calls"

local M = {}

local Reply = {}
Reply.__index = Reply

--- Fields of a delta that are used here, or that only ever go one way.
local KNOWN = {
  role = true, content = true, tool_calls = true, function_call = true, refusal = true, reasoning = true,
  annotations = true, audio = true, logprobs = true, name = true, tool_call_id = true,
}

local KEEPALIVE = { keepalive = true, ["keep-alive"] = true, ping = true, heartbeat = true }

---@param emit fun(piece: table)
---@return table reply  `seen`: anything came; `said`: text was handed on; `finish`: how it ended;
---   `done`: the stream's own end was seen
function M.new(emit)
  return setmetatable({ emit = emit, calls = calls.new(), fields = {}, seen = false, said = false }, Reply)
end

local function present(value)
  if value == json.null then
    return nil
  end
  return value
end

local function as_table(value)
  return type(value) == "table" and value or {}
end

--- Text of a content, which may be a list of parts; the thinking among them apart.
local function read_content(content)
  if type(content) == "string" then
    return content, ""
  end
  local said, thought = {}, {}
  for _, part in ipairs(as_table(content)) do
    part = as_table(part)
    if type(part.text) == "string" then
      said[#said + 1] = part.text
    elseif part.thinking then
      thought[#thought + 1] = (read_content(part.thinking))
    end
  end
  return table.concat(said), table.concat(thought)
end

local OVERLOAD = {
  [408] = true, [429] = true, [502] = true, [503] = true, [504] = true, [529] = true,
  overloaded_error = true, overloaded = true, server_overloaded = true, engine_overloaded = true,
  rate_limit_error = true, rate_limit_exceeded = true, rate_limit_reached = true,
  service_unavailable = true, unavailable = true, resource_exhausted = true,
}
local FINAL = { insufficient_quota = true, billing_hard_limit_reached = true }

local function code(value)
  value = present(value)
  return math.tointeger(tonumber(value)) or type(value) == "string" and value:lower() or nil
end

--- What an error object (or text) of a server says: { detail, overload }.
---@param value any
---@param status? integer  of the answer it came with
---@return { detail: string, overload: boolean }
function M.problem(value, status)
  local err = type(value) == "table" and value or { message = value }
  local detail = present(err.message) or present(err.detail) or present(err.error)
  if type(detail) ~= "string" or detail == "" then
    detail = type(value) == "table" and json.encode(value) or tostring(status or "it gave no reason")
  end
  local kind, number = code(err.type), code(err.code)
  local metadata = as_table(err.metadata)
  local overload = OVERLOAD[status] or OVERLOAD[kind] or OVERLOAD[number] or OVERLOAD[code(err.status)]
    or OVERLOAD[code(metadata.error_type)] or status == 200 and detail:lower():find "overload" ~= nil
  return { detail = detail, overload = overload and not FINAL[kind] and not FINAL[number] or false }
end

--- A failure: reason is a sub-reason of provider_failed.
local function failure(reason, problem)
  problem.reason = reason
  return nil, problem
end

function Reply:say(kind, text)
  if type(text) ~= "string" or text == "" then
    return
  end
  self.said = self.said or kind == "text"
  self.emit { type = kind, text = text }
end

--- Keeps what a delta has beside the known fields: texts are joined, lists too, the rest replaced.
function Reply:keep(delta)
  for key, value in pairs(delta) do
    if not KNOWN[key] and value ~= json.null then
      local is_text = type(value) == "string"
      local joins = is_text or json.is_array(value)
      local held = self.fields[key]
      if not (joins and held and held.parts and held.text == is_text) then
        held = { parts = joins and {} or nil, text = is_text, value = value }
        self.fields[key] = held
      end
      if is_text then
        table.insert(held.parts, value)
      elseif joins then
        table.move(value, 1, #value, #held.parts + 1, held.parts)
      end
    end
  end
end

--- What was kept, to be sent back with the message; nil when that is nothing.
function Reply:extra(calls_extras)
  local fields = {}
  for key, held in pairs(self.fields) do
    fields[key] = held.text and table.concat(held.parts) or held.parts and json.array(held.parts) or held.value
  end
  if next(fields) or next(calls_extras) then
    return { provider = "openai", fields = fields, calls = calls_extras }
  end
end

function Reply:delta(delta)
  local said, thought = read_content(present(delta.content))
  local reasoning = present(delta.reasoning_content) or present(delta.reasoning)
  self:say("reasoning", reasoning)
  self:say("reasoning", thought)
  self:say("text", said)
  self:say("text", present(delta.refusal))
  for _, call in ipairs(as_table(present(delta.tool_calls))) do
    if type(call) == "table" then
      self.calls:add(call)
    end
  end
  self:keep(delta)
end

local function read_usage(usage)
  local details = as_table(usage.prompt_tokens_details)
  return {
    inputTokens = math.tointeger(usage.prompt_tokens),
    outputTokens = math.tointeger(usage.completion_tokens),
    cachedTokens = math.tointeger(present(details.cached_tokens) or present(usage.prompt_cache_hit_tokens)),
  }
end

--- Takes one chunk, or a whole completion (then a choice holds `message`).
---@param chunk table
---@return true? ok
---@return table? problem  { reason, detail, overload }
function Reply:chunk(chunk)
  self.seen = true
  local err = present(chunk.error)
  if err or chunk.object == "error" then
    return failure("server", M.problem(err or chunk, 200))
  end
  if type(chunk.usage) == "table" then
    self.usage = read_usage(chunk.usage)
  end
  for _, choice in ipairs(as_table(present(chunk.choices))) do
    choice = as_table(choice)
    if present(choice.error) then
      return failure("server", M.problem(choice.error, 200))
    elseif (present(choice.index) or 0) == 0 then
      self:delta(as_table(present(choice.delta) or present(choice.message)))
      local finish = present(choice.finish_reason)
      self.finish = finish and finish ~= "" and tostring(finish) or self.finish
    end
  end
  return true
end

--- Takes one server-sent event.
---@param event std.http.Event
---@return true? ok
---@return table? problem
function Reply:event(event)
  local data = event.data:match "^%s*(.-)%s*$"
  if data == "[DONE]" then
    self.done = true
    return true
  elseif data == "" or data:find "^:" or KEEPALIVE[event.event] then
    return true
  end
  local chunk, err = json.decode(data)
  if type(chunk) ~= "table" and event.unfinished then
    return true -- cut in the middle: the end of the stream says so
  elseif type(chunk) ~= "table" then
    return failure("garbage", { detail = err or data:sub(1, 100) })
  elseif event.event == "error" and not chunk.error then
    return failure("server", M.problem(chunk, 200))
  end
  return self:chunk(chunk)
end

--- Takes the body of an answer that is one JSON document.
---@param body string
---@return true? ok
---@return table? problem
function Reply:body(body)
  local whole, err = json.decode(body)
  if type(whole) ~= "table" then
    return failure("garbage", { detail = err or body:sub(1, 100) })
  end
  self.done = whole.choices ~= nil
  return self:chunk(whole)
end

--- The reply is over: hands the tool calls on and says how it ended.
---@return table? result  { stop, usage, extra }
---@return table? problem
function Reply:close()
  if self.finish == "content_filter" then
    return failure("filter", { detail = self.finish })
  elseif self.finish == "insufficient_system_resource" then
    return failure("server", { detail = self.finish, overload = true })
  elseif self.finish == "error" then
    return failure("server", { detail = "finish_reason: error" })
  elseif not self.finish and not self.done then
    return failure("cut", { detail = "the stream ended without an end" })
  end
  local list, extras = self.calls:finish()
  for _, call in ipairs(list) do
    self.emit { type = "tool_call", id = call.id, name = call.name, input = call.input, badInput = call.badInput }
  end
  local stop = self.finish == "length" and "length" or #list > 0 and "tools" or "end"
  return { stop = stop, usage = self.usage, extra = self:extra(extras) }
end

return M
