--- The file of the sessions database through its versions: makes it, brings an older one forward and
--- leaves alone what is not ours or newer.
local fs = require "std.fs"
local path = require "std.path"
local task = require "std.task"

local M = {}

local APPLICATION_ID <const> = 0x416c6973 -- "Alis", so that a foreign database is never touched

--- What brings the database from each version to the next, forward only. Step 1 makes it.
M.migrations = {
  [[
    CREATE TABLE sessions (
      id TEXT PRIMARY KEY, kind TEXT NOT NULL, cwd TEXT NOT NULL, workspace TEXT NOT NULL,
      title TEXT NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL);
    CREATE INDEX sessions_by_update ON sessions (updated);
    CREATE TABLE events (
      session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
      seq INTEGER NOT NULL, run TEXT, time INTEGER NOT NULL, type TEXT NOT NULL, body TEXT NOT NULL,
      PRIMARY KEY (session, seq));
    CREATE TRIGGER events_touch AFTER INSERT ON events BEGIN
      UPDATE sessions SET updated = max(updated, new.time) WHERE id = new.session;
    END;
    CREATE TABLE grants (
      id TEXT PRIMARY KEY, session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
      capability TEXT NOT NULL, runtime TEXT, created INTEGER NOT NULL, body TEXT NOT NULL);
    CREATE INDEX grants_by_session ON grants (session);
    CREATE TABLE datasets (
      id TEXT PRIMARY KEY, session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
      name TEXT, format TEXT, bytes INTEGER, sha256 TEXT, overrides TEXT,
      created INTEGER NOT NULL, used INTEGER NOT NULL, body TEXT NOT NULL);
    CREATE INDEX datasets_by_session ON datasets (session);
    CREATE TABLE artifacts (
      id TEXT PRIMARY KEY, session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
      execution TEXT, status TEXT, created INTEGER NOT NULL, body TEXT NOT NULL);
    CREATE INDEX artifacts_by_session ON artifacts (session);
  ]],
}

local function refuse(file, reason, detail, found)
  local fields = { object = file, reason = reason, detail = detail, found = found, supported = #M.migrations }
  return nil, ("%s: %s"):format(file, detail), "io_error", fields
end

--- The version of the file, 0 for an empty one; refuses what is not ours or is newer.
local function version_of(db, file)
  local row, err, id, fields = db:row [[
    SELECT (SELECT user_version FROM pragma_user_version) AS version,
           (SELECT application_id FROM pragma_application_id) AS application,
           (SELECT count(*) FROM sqlite_schema) AS things]]
  if not row then
    return nil, err, id, fields
  elseif row.things > 0 and row.application ~= APPLICATION_ID then
    return refuse(file, "not_a_database", "not a sessions database")
  elseif row.version > #M.migrations then
    return refuse(file, "newer_version", "written by a newer Alisio", row.version)
  end
  return row.version
end

--- A copy of the database before it is changed, beside it and private as it is.
local function keep_copy(db, file, version)
  local copy = ("%s.v%d"):format(file, version)
  local ok, err, id, fields = fs.write(copy, "", { mode = 384 })
  if not ok then
    return nil, err, id, fields
  end
  return db:run("VACUUM INTO ?", copy)
end

--- Brings a database to the newest version.
---@async
---@param db std.sql.Database
---@param file string  where it is
---@return any? ok
---@return string? err
---@return string? id
---@return table? fields
function M.migrate(db, file)
  local version, err, id, fields = version_of(db, file)
  if not version or version == #M.migrations then
    return version, err, id, fields
  end
  -- Another process may be migrating too: who holds the lock looks again.
  local lock
  for _ = 1, 100 do
    lock, err, id, fields = fs.lock(path.join(path.dirname(file), "locks", "migration"))
    if lock or id ~= "session_locked" then
      break
    end
    task.sleep(50)
  end
  if not lock then
    return nil, err, id, fields
  end
  local _ <close> = lock
  version, err, id, fields = version_of(db, file)
  if version and version > 0 and version < #M.migrations then
    local ok
    ok, err, id, fields = keep_copy(db, file, version)
    version = ok and version
  end
  if not version then
    return nil, err, id, fields
  end
  return db:transaction(function()
    for step = version + 1, #M.migrations do
      local ok, why, which, about = db:exec(M.migrations[step])
      if not ok then
        return nil, why, which, about
      end
    end
    return db:exec(("PRAGMA application_id = %d; PRAGMA user_version = %d"):format(APPLICATION_ID, #M.migrations))
  end)
end

return M
