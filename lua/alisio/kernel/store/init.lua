--- The sessions database, `<state>/sessions.sqlite`: sessions, their events, and what belongs to a
-- session (grants, datasets, artifacts). What append returned for survives a power cut. Any number
-- of processes may read; one at a time writes to a session, the one that holds it (locks.lua).
local clock = require "std.clock"
local fs = require "std.fs"
local path = require "std.path"
local sql = require "std.sql"
local task = require "std.task"
local ids = require "alisio.kernel.ids"
local locks = require "alisio.kernel.locks"
local paths = require "alisio.kernel.paths"
local collections = require "alisio.kernel.store.collections"
local events = require "alisio.kernel.store.events"
local migrate = require "alisio.kernel.store.migrate"

local M = {}

---@class alisio.Store
---@field state_dir string
---@field path string                      of the database
---@field grants alisio.store.Grants
---@field datasets alisio.store.Datasets
---@field artifacts alisio.store.Artifacts
local Store = {}
Store.__index = Store
Store.__name = "alisio.Store"

local not_found = collections.not_found

--- Opens the store of a state folder, making both where they are missing.
---@async
---@param state_dir string
---@param options { file: string? }?  file: name of the database in that folder, as `--db` gives it
---@return alisio.Store? store   closes with store:close() or as a `<close>` variable
---@return string? err
---@return string? id
---@return table? fields
function M.open(state_dir, options)
  local file = path.join(state_dir, options and options.file or "sessions.sqlite")
  local ok, err, id, fields = fs.mkdirs(path.join(state_dir, "locks"))
  if not ok then
    return nil, err, id, fields
  end
  local db
  db, err, id, fields = sql.open(file, { wal = true, private = true })
  if not db then
    return nil, err, id, fields
  end
  ok, err, id, fields = db:exec "PRAGMA foreign_keys = ON"
  if ok then
    ok, err, id, fields = migrate.migrate(db, file)
  end
  if not ok then
    db:close()
    return nil, err, id, fields
  end
  return setmetatable({
    state_dir = state_dir, path = file, db = db,
    grants = collections.grants(db), datasets = collections.datasets(db), artifacts = collections.artifacts(db),
  }, Store)
end

--- What SQLite says about the file: "ok", or what is wrong with it.
---@async
---@return string? verdict
---@return string? err
---@return string? id
---@return table? fields
function Store:check()
  return self.db:value "PRAGMA integrity_check"
end

--- Closes the database after what was asked before; twice is fine.
---@async
function Store:close()
  return self.db:close()
end

Store.__close = Store.close

-- Sessions ------------------------------------------------------------------------------------

---@class alisio.SessionRow
---@field id string
---@field kind string      "run", "tui", "web", "acp", "cli", …
---@field cwd string
---@field workspace string
---@field title string
---@field created integer  ms
---@field updated integer  ms, time of the last event

local function plain(row)
  local copy = {}
  for key, value in pairs(row) do
    copy[key] = type(key) == "string" and key ~= "n" and value or nil
  end
  return copy
end

local function insert_session(db, about)
  local now = clock.now()
  local session = {
    id = ids.new "ses", kind = about.kind, cwd = about.cwd, workspace = paths.workspace(about.cwd),
    title = about.title or "", created = now, updated = now,
  }
  local ok, err, id, fields = db:run("INSERT INTO sessions (id, kind, cwd, workspace, title, created, updated) "
    .. "VALUES (?, ?, ?, ?, ?, ?, ?)", session.id, session.kind, session.cwd, session.workspace, session.title,
    now, now)
  if not ok then
    return nil, err, id, fields
  end
  return session.id
end

--- Begins a session.
---@async
---@param about { kind: string, cwd: string, title: string? }  cwd: real path of the workspace
---@return string? session   its id
---@return string? err
---@return string? id
---@return table? fields
function Store:create_session(about)
  return insert_session(self.db, about)
end

--- The one session of a kind that a workspace shares ("cli"), made when it is missing.
---@async
---@param kind string
---@param cwd string
---@return string? session
---@return string? err
---@return string? id
---@return table? fields
function Store:shared_session(kind, cwd)
  return self.db:transaction(function(db)
    local row, err, id, fields = db:row("SELECT id FROM sessions WHERE kind = ? AND workspace = ? ORDER BY id LIMIT 1",
      kind, paths.workspace(cwd))
    if row then
      return row.id
    elseif err then
      return nil, err, id, fields
    end
    return insert_session(db, { kind = kind, cwd = cwd })
  end)
end

--- One session by its id.
---@async
---@param session string
---@return alisio.SessionRow?
---@return string? err
---@return string? id       "not_found"
---@return table? fields
function Store:session(session)
  local row, err, id, fields = self.db:row("SELECT * FROM sessions WHERE id = ?", session)
  if not row then
    if err then
      return nil, err, id, fields
    end
    return not_found("session", session)
  end
  return plain(row)
end

--- Sessions, the one used last first.
---@async
---@param filter { limit: integer?, kind: string?, cwd: string? }?
---@return alisio.SessionRow[]?
---@return string? err
---@return string? id
---@return table? fields
function Store:sessions(filter)
  filter = filter or {}
  local rows, err, id, fields = self.db:rows("SELECT * FROM sessions WHERE (?1 IS NULL OR kind = ?1) "
    .. "AND (?2 IS NULL OR cwd = ?2) ORDER BY updated DESC, id DESC LIMIT ?3",
    filter.kind, filter.cwd, filter.limit or -1)
  if not rows then
    return nil, err, id, fields
  end
  for i, row in ipairs(rows) do
    rows[i] = plain(row)
  end
  return rows
end

--- Changes what a session says about itself.
---@async
---@param session string
---@param changes { title: string?, cwd: string? }
---@return boolean? ok
---@return string? err
---@return string? id
---@return table? fields
function Store:update_session(session, changes)
  local done, err, id, fields = self.db:run(
    "UPDATE sessions SET title = coalesce(?2, title), cwd = coalesce(?3, cwd) WHERE id = ?1",
    session, changes.title, changes.cwd)
  if not done then
    return nil, err, id, fields
  elseif done.changes == 0 then
    return not_found("session", session)
  end
  return true
end

--- Takes a session for this process, so that no other works on it.
---@async
---@param session string
---@param face string           what the holder is, for the words the other process is told
---@param wait_ms integer?      how long to wait for another holder, else none
---@return alisio.Lock? lock
---@return string? err
---@return string? id           "session_locked", with pid, face and since of the holder; "not_found"
---@return table? fields
function Store:hold(session, face, wait_ms)
  local row, err, id, fields = self:session(session)
  if not row then
    return nil, err, id, fields
  end
  local deadline = clock.monotonic() + (wait_ms or 0)
  local lock
  repeat
    lock, err, id, fields = locks.acquire(self.state_dir, session, face)
    local again = not lock and id == "session_locked" and clock.monotonic() < deadline
    if again then
      task.sleep(50)
    end
  until not again
  return lock, err, id, fields
end

--- Removes a session, its files, and all the database knows of it. Fails while a process holds it.
---@async
---@param session string
---@return boolean? ok
---@return string? err
---@return string? id
---@return table? fields
function Store:delete_session(session)
  local row, err, id, fields = self:session(session)
  if not row then
    return nil, err, id, fields
  end
  local lock
  lock, err, id, fields = self:hold(session, "delete")
  if not lock then
    return nil, err, id, fields
  end
  local _ <close> = lock
  -- Files first: where this is interrupted, the session is still there to be deleted again.
  local ok
  for _, folder in pairs(paths.session(self.state_dir, row.workspace, session)) do
    ok, err, id, fields = fs.remove(folder)
    if not ok then
      return nil, err, id, fields
    end
  end
  ok, err, id, fields = self.db:run("DELETE FROM sessions WHERE id = ?", session)
  if not ok then
    return nil, err, id, fields
  end
  return fs.remove(path.join(self.state_dir, "locks", session))
end

-- Events ------------------------------------------------------------------------------------------

M.body = events.body
Store.append = events.append
Store.append_all = events.append_all
Store.events = events.events

--- Closes what a process left open when it ended in the middle: see alisio.kernel.store.recover.
---@async
---@param session string
---@param locale string?
---@return table[]? added
---@return string? err
---@return string? id
---@return table? fields
function Store:recover(session, locale)
  return require("alisio.kernel.store.recover").recover(self, session, locale)
end

return M
