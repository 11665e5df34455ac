--- Chat Completions, of OpenAI and of everybody who speaks it. openai/body makes the request,
-- openai/reply and openai/calls read what comes, retry sends again what may be sent again.
local http = require "std.http"
local json = require "std.json"
local secret = require "std.secret"
local task = require "std.task"
local text = require "std.text"
local retry = require "alisio.agent.model.retry"
local make_body = require("alisio.agent.model.openai.body").make
local replies = require "alisio.agent.model.openai.reply"
local words = require "alisio.kernel.words"

local M = { name = "openai" }

local ERROR_BYTES = 64 * 1024 -- read of an answer that is an error
local REPLY_BYTES = 64 * 1024 * 1024 -- read of any answer
local DETAIL_CHARS = 500
local LINGER_MS = 3000 -- for the usage after the last word, where the server does not end by itself

--- Failures of the connection from before anything was heard.
local UNHEARD = { resolve = true, connect = true, aborted = true }

local dialects = {} -- base URL → what its server was found not to take

--- The address requests go to: the base with /chat/completions, before its query where it has one.
local function endpoint(base)
  local path, query = base:match "^([^?]*)(.*)$"
  path = path:gsub("/+$", "")
  if not path:find "/chat/completions$" then
    path = path .. "/chat/completions"
  end
  return path .. query
end

--- Where the model is, for a message: without path and query.
local function place(base)
  return (base:match "^%a+://([^/?#]+)" or base):gsub("^.*@", "")
end

local function headers_of(profile)
  local headers = { ["Content-Type"] = "application/json", Accept = "text/event-stream" }
  if profile.key then
    headers.Authorization = "Bearer " .. profile.key
  end
  for _, line in ipairs(profile.headers or {}) do
    local name, value = line:match "^%s*([^:]-)%s*:%s*(.-)%s*$"
    if name then
      headers[name] = secret.new(value)
    end
  end
  return headers
end

--- A text of a server for a message: no secret, no control characters, not long, no full stop.
local function quote(said)
  said = text.repair(secret.redact(said)):gsub("%s+", " "):match "^ ?(.-)[ .]*$"
  local cut = utf8.offset(said, DETAIL_CHARS)
  return text.visible(cut and said:sub(1, cut - 1) .. "…" or said)
end

local Attempt = {}
Attempt.__index = Attempt

--- nil, message, "provider_failed", fields: what stream returns and the retry layer reads.
function Attempt:fail(reason, detail, more)
  local fields = {
    object = place(self.profile.baseUrl), detail = quote(detail), reason = reason,
    model = self.profile.model, variable = self.profile.keyEnv, limit = self.profile.idleTimeoutMs,
  }
  for key, value in pairs(more or {}) do
    fields[key] = value
  end
  return nil, words.error(self.locale, "provider_failed", fields), "provider_failed", fields
end

--- The connection failed. It may be tried again while nothing was heard.
function Attempt:unconnected(message, fields)
  local why = fields and fields.reason or ""
  local reason = why == "timeout" and "timeout" or self.reply.seen and "cut" or "unreachable"
  return self:fail(reason, fields and fields.detail or message, {
    retry = UNHEARD[why] and not self.reply.seen,
  })
end

--- The server said in its own words that it failed.
function Attempt:refused(problem)
  local reason = problem.reason ~= "server" and problem.reason or problem.overload and "overloaded" or nil
  return self:fail(reason, problem.detail, { retry = problem.overload and not self.reply.said })
end

local STATUS_REASON = { [401] = "key", [403] = "key", [404] = "unknown" }

--- An answer with a status that is not 200.
function Attempt:status(stream)
  local body = stream:rest(ERROR_BYTES) or ""
  local said = json.decode(body)
  if json.is_array(said) then -- Google's way
    said = said[1]
  end
  local err = type(said) == "table" and (said.error or said) or not body:find "^%s*<" and body or nil
  local problem = replies.problem(err, stream.status)
  self.complaint = problem.detail
  local reason = STATUS_REASON[stream.status] or problem.overload and "overloaded" or nil
  return self:fail(reason, problem.detail, {
    status = stream.status,
    retry = problem.overload,
    retryAfterMs = retry.after(stream.headers["retry-after"]),
  })
end

--- Reads events until the reply is over. A reply that has said how it ended is whole: a server that
-- then breaks or keeps the line open costs nothing but its count of tokens.
function Attempt:read(stream)
  local reply = self.reply
  while not reply.done do
    local event, err, _, fields
    if reply.finish then
      event = task.timeout(LINGER_MS, function() return (stream:next()) end)
    else
      event, err, _, fields = stream:next()
    end
    if not event then
      if err then
        return self:unconnected(err, fields)
      end
      break
    end
    local ok, problem = reply:event(event)
    if not ok then
      return self:refused(problem)
    end
  end
  return true
end

--- Reads an answer that is one document, from a server that knows no streams.
function Attempt:whole(stream)
  local body, err, _, fields = stream:rest(REPLY_BYTES)
  if not body then
    return self:unconnected(err, fields)
  end
  local ok, problem = self.reply:body(body)
  if not ok then
    return self:refused(problem)
  end
  return true
end

--- One request and its answer.
function Attempt:run()
  self.reply = replies.new(self.emit)
  local stream <close>, err, id, fields = http.sse {
    url = endpoint(self.profile.baseUrl),
    method = "POST",
    headers = headers_of(self.profile),
    body = json.encode(make_body(self.request, self.dialect)),
    idleTimeoutMs = self.profile.idleTimeoutMs,
    maxBytes = REPLY_BYTES,
  }
  if not stream then
    if id ~= "io_error" then
      return nil, err, id, fields
    end
    return self:unconnected(err, fields)
  elseif stream.status < 200 or stream.status > 299 then
    return self:status(stream)
  end
  local read = (stream.headers["content-type"] or ""):find "^application/json" and self.whole or self.read
  local ok
  ok, err, id, fields = read(self, stream)
  if not ok then
    return nil, err, id, fields
  end
  local result, problem = self.reply:close()
  if result then
    return result
  end
  problem.overload = problem.overload or problem.reason == "cut" and not self.reply.seen
  return self:refused(problem)
end

--- Whether the server refused a field that it can do without; the next request is made without.
function Attempt:adapt()
  local said = self.complaint or ""
  self.complaint = nil
  if said:find("stream_options", 1, true) and not self.dialect.noStreamOptions then
    self.dialect.noStreamOptions = true
  elseif said:find("max_completion_tokens", 1, true) and not self.dialect.completionTokens then
    self.dialect.completionTokens = true
  else
    return false
  end
  return true
end

--- Streams one reply. The profile holds baseUrl, model, key (a secret, or none), idleTimeoutMs and
--- what else of `models.*` is set.
---@async
---@param request table
---@param emit fun(piece: table)
---@return table? result
---@return string? message
---@return string? id
---@return table? fields
function M.stream(request, emit)
  local base = request.profile.baseUrl
  dialects[base] = dialects[base] or {}
  local attempt = setmetatable({
    request = request, emit = emit, profile = request.profile, locale = request.locale or "en", dialect = dialects[base],
  }, Attempt)
  return retry.run(function()
    local result, message, id, fields = attempt:run()
    while not result and attempt:adapt() do
      result, message, id, fields = attempt:run()
    end
    return result, message, id, fields
  end, function(ms, fields)
    local again = { object = fields.object, detail = fields.detail, ms = ms }
    emit { type = "log", level = "warn", text = words.t(attempt.locale, "model.again", again) }
  end)
end

return M
