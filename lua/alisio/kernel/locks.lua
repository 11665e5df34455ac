--- One process works on a session at a time. A lock is flock on `<state>/locks/ses_…`, so that it is
-- free again however its process ends; the text inside says who holds it.
local clock = require "std.clock"
local fs = require "std.fs"
local host = require "std.host"
local json = require "std.json"
local path = require "std.path"

local M = {}

---@class alisio.Lock
---@field session string
local Lock = {}
Lock.__index = Lock
Lock.__name = "alisio.Lock"

--- Who the text of a lock file names; fields it does not say are absent.
local function holder(session, text)
  local said = type(text) == "string" and json.decode(text) or nil
  local about = { object = session }
  if type(said) == "table" then
    about.pid = math.type(said.pid) == "integer" and said.pid or nil
    about.face = type(said.face) == "string" and said.face or nil
    about.start = math.type(said.start) == "integer" and said.start or nil
    about.since = about.start and clock.iso(about.start) or nil
  end
  return about
end

--- Takes the lock of a session.
---@param state_dir string
---@param session string
---@param face string  what the holder is: "run", "tui", "web", …
---@return alisio.Lock? lock   released by lock:release(), as a `<close>` variable, or by the process's end
---@return string? err
---@return string? id          "session_locked"
---@return table? fields       pid, face, start (ms) and since of the holder
function M.acquire(state_dir, session, face)
  local dir = path.join(state_dir, "locks")
  local ok, err, id, fields = fs.mkdirs(dir)
  if not ok then
    return nil, err, id, fields
  end
  local handle
  handle, err, id, fields = fs.lock(path.join(dir, session))
  if not handle then
    if id ~= "session_locked" then
      return nil, err, id, fields
    end
    local about = holder(session, fields and fields.holder)
    return nil, ("session %s is in use by process %s"):format(session, about.pid or "unknown"), id, about
  end
  handle:write(json.encode { pid = host.pid(), face = face, start = clock.now() })
  return setmetatable({ handle = handle, session = session }, Lock)
end

--- Gives the lock back; twice is fine.
function Lock:release()
  if self.handle then
    self.handle:close()
    self.handle = nil
  end
end

Lock.__close = Lock.release

return M
