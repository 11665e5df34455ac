--- An HTTP client. Only http and https; certificates are checked against the system's store; proxies
--- come from the environment (`https_proxy`, `no_proxy`, …). A redirect is followed within one host
--- only, and never by a request that carries an Authorization header.
---
--- What goes wrong is `nil, message, "io_error", fields`, where `fields.reason` is resolve, connect,
--- tls, timeout, redirect, maxBytes, protocol, aborted, url, request or library. An answer with a
--- status of 400 or more is an answer, not a failure.
local raw = require "host.http"
local secret = require "std.secret"

local M = {}

local CONNECT_MS = 10000
local IDLE_MS = 300000 -- a model may think for minutes before its first byte
local MAX_BYTES = 64 * 1024 * 1024

---@class std.http.Request
---@field url string
---@field method? string           "GET", or "POST" when there is a body
---@field headers? table<string, string|std.secret.Secret>
---@field body? string
---@field connectTimeoutMs? integer 10 seconds unless given
---@field idleTimeoutMs? integer    between two bytes, 5 minutes unless given
---@field timeoutMs? integer        for all of it, none unless given
---@field maxBytes? integer         of the answer: 64 MiB for `request`, none for streams unless given

---@class std.http.Answer
---@field status integer
---@field headers table<string, string> names in lower case
---@field body string

local known = {
  url = true,
  method = true,
  headers = true,
  body = true,
  connectTimeoutMs = true,
  idleTimeoutMs = true,
  timeoutMs = true,
  maxBytes = true,
}

local function header_lines(headers)
  local lines = {}
  for name, value in pairs(headers or {}) do
    local text = secret.is(value) and secret.reveal(value) or tostring(value)
    lines[#lines + 1] = name .. ": " .. text
  end
  table.sort(lines)
  return lines
end

local function start(request, max_bytes)
  for key in pairs(request) do
    if not known[key] then
      error("unknown key in a request: " .. tostring(key), 4)
    end
  end
  if type(request.url) ~= "string" then
    error("a request needs a url", 4)
  end
  return raw.start(
    request.method or (request.body and "POST" or "GET"),
    request.url,
    header_lines(request.headers),
    request.body,
    request.connectTimeoutMs or CONNECT_MS,
    request.idleTimeoutMs or IDLE_MS,
    request.timeoutMs,
    request.maxBytes or max_bytes
  )
end

local function read_all(transfer)
  local parts = {}
  while true do
    local bytes, err, id, fields = transfer:read()
    if bytes then
      parts[#parts + 1] = bytes
    elseif err then
      return nil, err, id, fields
    else
      return table.concat(parts)
    end
  end
end

local function request(options)
  local transfer <close>, err, id, fields = start(options, MAX_BYTES)
  if not transfer then
    return nil, err, id, fields
  end
  local status, headers, why, about = transfer:head()
  if not status then
    return nil, headers, why, about
  end
  local body
  body, err, id, fields = read_all(transfer)
  if not body then
    return nil, err, id, fields
  end
  return { status = status, headers = headers, body = body }
end

--- Sends a request and reads the whole answer.
---@async
---@param options std.http.Request
---@return std.http.Answer? answer
---@return string? err
---@return string? id
---@return table? fields
function M.request(options)
  return request(options)
end

local function with(options, fields)
  local all = {}
  for key, value in pairs(options or {}) do
    all[key] = value
  end
  for key, value in pairs(fields) do
    all[key] = value
  end
  return all
end

---@async
---@param url string
---@param options? std.http.Request  without url
---@return std.http.Answer? answer
---@return string? err
---@return string? id
---@return table? fields
function M.get(url, options)
  return request(with(options, { method = "GET", url = url }))
end

---@async
---@param url string
---@param body string
---@param options? std.http.Request  without url and body
---@return std.http.Answer? answer
---@return string? err
---@return string? id
---@return table? fields
function M.post(url, body, options)
  return request(with(options, { method = "POST", url = url, body = body }))
end

---@class std.http.Stream
---@field status integer
---@field headers table<string, string> names in lower case
local Stream = {}
Stream.__index = Stream
Stream.__name = "std.http.Stream"

--- Bytes as they come; nil at the end of the answer; nil, message, id when it broke.
---@async
---@return string? bytes
---@return string? err
---@return string? id
---@return table? fields
function Stream:read()
  return self.transfer:read()
end

--- What is left of the body, at most maxBytes of it (the rest is not read).
---@async
---@param maxBytes integer
---@return string? body
---@return string? err
---@return string? id
function Stream:rest(maxBytes)
  local parts, size = {}, 0
  while size < maxBytes do
    local bytes, err, id, fields = self.transfer:read()
    if err then
      return nil, err, id, fields
    elseif not bytes then
      break
    end
    parts[#parts + 1] = bytes
    size = size + #bytes
  end
  return table.concat(parts):sub(1, maxBytes)
end

--- Stops the transfer where it is. Closing twice is fine.
function Stream:close()
  self.transfer:close()
end

Stream.__close = Stream.close

---@class std.http.Event
---@field event string  its type, "message" unless the server says another
---@field data string
---@field id string     the last id the server gave, "" before one
---@field retry? integer ms
---@field unfinished? boolean  the stream ended before the event did
---@class std.http.Events: std.http.Stream
local Events = setmetatable({}, { __index = Stream })
Events.__index = Events
Events.__name = "std.http.Events"
Events.__close = Stream.close

--- The next event; nil at the end of the stream; nil, message, id when it broke.
---@async
---@return std.http.Event? event
---@return string? err
---@return string? id
---@return table? fields
function Events:next()
  while not self.queue[self.at] do
    if self.ended then
      return nil
    end
    local bytes, err, id, fields = self.transfer:read()
    local events
    if bytes then
      events, err, id, fields = self.parser:feed(bytes)
    elseif not err then
      self.ended = true
      events, err, id, fields = self.parser:finish()
      events = { events }
    end
    if err then
      return nil, err, id, fields
    end
    self.queue, self.at = events, 1
  end
  self.at = self.at + 1
  return self.queue[self.at - 1]
end

--- Iterates over the events; raises where the stream breaks.
---@return fun(): std.http.Event?
function Events:events()
  return function()
    local event, err = self:next()
    if not event and err then
      error(err, 0)
    end
    return event
  end
end

local function stream(options, class)
  local transfer, err, id, fields = start(options, nil)
  if not transfer then
    return nil, err, id, fields
  end
  local self = setmetatable({ transfer = transfer }, class)
  local status, headers, why, about = transfer:head()
  if not status then
    transfer:close()
    return nil, headers, why, about
  end
  self.status, self.headers = status, headers
  return self
end

--- Sends a request and returns once the headers of the answer are there; `read` brings its body. A
--- server that is faster than its reader is made to wait.
---@async
---@param options std.http.Request
---@return std.http.Stream? stream  closes with `close` or as a `<close>` variable
---@return string? err
---@return string? id
---@return table? fields
function M.stream(options)
  return stream(options, Stream)
end

--- As `stream`, for an answer of server-sent events. An answer that is something else can be read
--- with `read` or `rest`, before the first event was asked for.
---@async
---@param options std.http.Request
---@return std.http.Events? events
---@return string? err
---@return string? id
---@return table? fields
function M.sse(options)
  local self, err, id, fields = stream(options, Events)
  if not self then
    return nil, err, id, fields
  end
  self.parser, self.queue, self.at, self.ended = raw.sse_parser(), {}, 1, false
  return self
end

--- A parser of its own for event streams that come by another way: `feed(bytes)` returns a list of
--- events, `finish()` the one that stood unfinished, or nil. Both can fail: nil, message, id.
---@param limits? { lineBytes: integer?, eventBytes: integer? }  8 and 16 MiB unless given
---@return { feed: fun(self, bytes: string): std.http.Event[], finish: fun(self): std.http.Event? }
function M.sse_parser(limits)
  limits = limits or {}
  return raw.sse_parser(limits.lineBytes, limits.eventBytes)
end

return M
