--- Starts tests/e2e/fault_server.py for a spec: a server that says what it is told, as it is told.
local http = require "std.http"
local json = require "std.json"

local M = {}

local Server = {}
Server.__index = Server

--- A running server; `url` is its address.
function M.start()
  local pipe = assert(io.popen("exec python3 tests/e2e/fault_server.py", "r"))
  local port = assert(pipe:read "l", "the fault server did not start")
  return setmetatable({ pipe = pipe, url = "http://127.0.0.1:" .. port }, Server)
end

local function post(self, path, body)
  local answer = assert(http.post(self.url .. path, json.encode(body or {})))
  assert(answer.status == 200, answer.body)
end

--- What the next requests get; one reply alone is repeated.
function Server:script(replies, options)
  local wanted = { replies = json.array(replies[1] and replies or { replies }) }
  for key, value in pairs(options or {}) do
    wanted[key] = value
  end
  post(self, "/_script", wanted)
end

--- The requests since the script was set; `json` is the body read as JSON, where it is.
function Server:log()
  local log = assert(json.decode(assert(http.get(self.url .. "/_log")).body))
  for _, request in ipairs(log) do
    request.json = json.decode(request.body)
  end
  return log
end

function Server:close()
  post(self, "/_quit")
  self.pipe:close()
end

return M
