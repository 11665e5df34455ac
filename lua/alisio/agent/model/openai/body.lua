--- The body of a Chat Completions request, made from what the agent holds.
local json = require "std.json"

local M = {}

local OURS = { role = true, content = true, tool_calls = true }

--- Puts back what the server sent with a message and does not name itself. DeepSeek wants its
-- reasoning back once tools were used, and refuses it before.
local function put_back(target, fields, with_reasoning)
  for key, value in pairs(fields or {}) do
    if not OURS[key] and (key ~= "reasoning_content" or with_reasoning) then
      target[key] = value
    end
  end
end

local function tool_calls(message, extras)
  local list = json.array {}
  for i, call in ipairs(message.toolCalls) do
    local entry = {}
    put_back(entry, extras[tostring(i)], true)
    entry.id, entry.type = call.id, "function"
    entry["function"] = { name = call.name, arguments = json.encode(call.input) }
    list[i] = entry
  end
  return list
end

local function assistant(message, with_reasoning)
  local extra = type(message.extra) == "table" and message.extra.provider == "openai" and message.extra or {}
  local out = { role = "assistant", content = message.text or "" }
  put_back(out, extra.fields, with_reasoning)
  if message.toolCalls and #message.toolCalls > 0 then
    out.tool_calls = tool_calls(message, extra.calls or {})
    out.content = out.content ~= "" and out.content or json.null
  end
  return out
end

local function messages(request)
  local list, with_reasoning = json.array {}, false
  for _, message in ipairs(request.messages) do
    with_reasoning = with_reasoning or message.role == "tool"
  end
  if request.system and request.system ~= "" then
    list[1] = { role = "system", content = request.system }
  end
  for _, message in ipairs(request.messages) do
    if message.role == "assistant" then
      list[#list + 1] = assistant(message, with_reasoning)
    elseif message.role == "tool" then
      list[#list + 1] = { role = "tool", tool_call_id = message.callId, content = message.text or "" }
    else
      list[#list + 1] = { role = "user", content = message.text or "" }
    end
  end
  return list
end

local function tools(request)
  local list = json.array {}
  for i, tool in ipairs(request.tools or {}) do
    list[i] = {
      type = "function",
      ["function"] = { name = tool.name, description = tool.description, parameters = tool.input },
    }
  end
  return list
end

--- The request as a table, ready to be encoded.
---@param request table  { system, messages, tools, profile, limits }
---@param dialect table  what the server was found not to take: noStreamOptions, completionTokens
---@return table
function M.make(request, dialect)
  local profile = request.profile
  local body = { model = profile.model, stream = true, messages = messages(request), temperature = profile.temperature }
  if not dialect.noStreamOptions then
    body.stream_options = { include_usage = true }
  end
  local offered = tools(request)
  if #offered > 0 then
    body.tools = offered
  end
  if profile.maxOutputTokens then
    local left = request.limits and request.limits.outputTokens or profile.maxOutputTokens
    body[dialect.completionTokens and "max_completion_tokens" or "max_tokens"] =
      math.max(1, math.min(profile.maxOutputTokens, left))
  end
  return body
end

return M
