--- The sessions database, `<state>/sessions.sqlite`: sessions, their events, and what belongs to a
-- session (grants, datasets, artifacts). What append returned for survives a power cut. Any number
-- of processes may read; one at a time writes to a session, the one that holds it (locks.lua).
local clock = require "std.clock"
local fs = require "std.fs"
local json = require "std.json"
local path = require "std.path"
local schema = require "std.schema"
local sql = require "std.sql"
local task = require "std.task"
local ids = require "alisio.kernel.ids"
local locks = require "alisio.kernel.locks"
local paths = require "alisio.kernel.paths"
local words = require "alisio.kernel.words"

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

---@class alisio.Store
---@field state_dir string
---@field path string                      of the database
---@field grants alisio.store.Grants
---@field datasets alisio.store.Datasets
---@field artifacts alisio.store.Artifacts
local Store = {}
Store.__index = Store
Store.__name = "alisio.Store"

local function not_found(kind, id)
  return nil, ("there is no %s %s"):format(kind, id), "not_found", { object = id, reason = kind }
end

-- Opening -------------------------------------------------------------------------------------

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

local function migrate(db, file)
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

local collections -- below

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
    ok, err, id, fields = migrate(db, file)
  end
  if not ok then
    db:close()
    return nil, err, id, fields
  end
  local store = setmetatable({ state_dir = state_dir, path = file, db = db }, Store)
  for name, make in pairs(collections) do
    store[name] = make(db)
  end
  return store
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

-- Events --------------------------------------------------------------------------------------

local shapes = {} -- by type, the fields every reader relies on; made when first read

local function shape_of(type_name)
  if not shapes[type_name] then
    local fields = {}
    for _, entry in ipairs(require "alisio.kernel.event_types") do
      for _, field in ipairs(entry.type == type_name and entry.fields or {}) do
        fields[field[1]] = field[2]
      end
    end
    shapes[type_name] = schema.compile(fields)
    shapes[type_name].json.additionalProperties = nil
  end
  return shapes[type_name]
end

-- The event of a row; nil where its text is not what was stored: SQLite keeps no checksums.
local function event_of(row)
  local event = json.decode(row.body)
  if type(event) ~= "table" or json.is_array(event) or not shape_of(row.type):check(event) then
    return nil
  end
  return event
end

local COLUMNS = { v = true, seq = true, session = true, run = true, time = true, type = true }

--- The text of an event that goes into the database beside its columns. Raises for what is no JSON.
---@param event table
---@return string
function M.body(event)
  local body = {}
  for key, value in pairs(event) do
    if not COLUMNS[key] then
      body[key] = value
    end
  end
  return json.encode(body)
end

local INSERT <const> = "INSERT INTO events (session, seq, run, time, type, body) "
  .. "VALUES (?1, (SELECT coalesce(max(seq), 0) + 1 FROM events WHERE session = ?1), ?2, ?3, ?4, ?5) RETURNING seq"

local function insert_event(db, session, event, body)
  local rows, err, id, fields = db:rows(INSERT, session, event.run, event.time, event.type, body)
  if not rows then
    return nil, err, id, fields
  end
  return rows[1].seq
end

--- Stores events of a session in their order, all or none. When it returns, they survive a power cut.
---@async
---@param session string
---@param events table[]      with type and time; run where there is one
---@param bodies string[]?    their M.body, when it was made before
---@return integer[]? seqs
---@return string? err
---@return string? id         "no_space" and the like: then none was stored
---@return table? fields
function Store:append_all(session, events, bodies)
  bodies = bodies or {}
  for i, event in ipairs(events) do
    bodies[i] = bodies[i] or M.body(event)
  end
  if #events == 1 then
    local seq, err, id, fields = insert_event(self.db, session, events[1], bodies[1])
    return seq and { seq }, err, id, fields
  end
  return self.db:transaction(function(db)
    local seqs = {}
    for i, event in ipairs(events) do
      local err, id, fields
      seqs[i], err, id, fields = insert_event(db, session, event, bodies[i])
      if not seqs[i] then
        return nil, err, id, fields
      end
    end
    return seqs
  end)
end

--- Stores one event. Faces are told by events.lua, after this.
---@async
---@param session string
---@param event table   type, and its fields; time is now when it is left out
---@return integer? seq
---@return string? err
---@return string? id
---@return table? fields
function Store:append(session, event)
  event.time = event.time or clock.now()
  local seqs, err, id, fields = self:append_all(session, { event })
  return seqs and seqs[1], err, id, fields
end

--- Events of a session in their order, as every face gets them.
---@async
---@param session string
---@param filter { after: integer?, types: string[]?, limit: integer? }?  after: only seq above it
---@return table[]?
---@return string? err
---@return string? id
---@return table? fields
function Store:events(session, filter)
  filter = filter or {}
  local types = filter.types and json.encode(json.array(filter.types))
  local rows, err, id, fields = self.db:rows("SELECT seq, run, time, type, body FROM events WHERE session = ?1 "
    .. "AND seq > ?2 AND (?3 IS NULL OR type IN (SELECT value FROM json_each(?3))) ORDER BY seq LIMIT ?4",
    session, filter.after or 0, types, filter.limit or -1)
  if not rows then
    return nil, err, id, fields
  end
  for i, row in ipairs(rows) do
    local event = event_of(row)
    if not event then
      return nil, ("%s: event %d of %s is damaged"):format(self.path, row.seq, session), "io_error",
        { object = self.path, reason = "damaged_event", detail = ("event %d of %s"):format(row.seq, session) }
    end
    event.v, event.session, event.seq = 1, session, row.seq
    event.run, event.time, event.type = row.run, row.time, row.type
    rows[i] = event
  end
  return rows
end

-- Recovery ------------------------------------------------------------------------------------

--- What the events of a session leave open, in the order it began.
local OPENS = { run_started = "run", tool_started = "callId", permission_requested = "requestId" }
local CLOSES = { run_completed = "run", tool_completed = "callId", permission_resolved = "requestId" }

local function unfinished(events)
  local open, order = {}, {}
  for _, event in ipairs(events) do
    local field = OPENS[event.type] or CLOSES[event.type]
    local key = field .. " " .. tostring(event[field])
    if OPENS[event.type] then
      order[#order + 1] = key
      open[key] = event
    else
      open[key] = nil
    end
  end
  return open, order
end

local function closing(event, locale, waits)
  if event.type == "tool_started" and waits then -- for an answer: it had not begun
    return {
      type = "tool_completed", callId = event.callId, name = event.name, status = "cancelled",
      output = json.array {}, durationMs = 0,
    }
  elseif event.type == "tool_started" then
    local text = words.t(locale, "recover.tool", { name = event.name })
    return {
      type = "tool_completed", callId = event.callId, name = event.name, status = "uncertain",
      output = json.array { { type = "text", text = text } }, durationMs = 0,
    }
  elseif event.type == "permission_requested" then
    return {
      type = "permission_resolved", requestId = event.requestId, decision = "deny", source = "headless",
      reason = words.t(locale, "recover.run"),
    }
  end
  return {
    type = "run_completed", status = "cancelled", durationMs = 0,
    usage = { inputTokens = 0, outputTokens = 0 },
    error = { code = "cancelled", message = words.t(locale, "recover.run") },
  }
end

--- Closes what a process left open when it ended in the middle: tools become "uncertain" (nothing is
--- run again), questions are denied, runs are over. For the one who holds the session.
---@async
---@param session string
---@param locale string?   language of the words in these events
---@return table[]? added  the events stored, none when nothing was open
---@return string? err
---@return string? id
---@return table? fields
function Store:recover(session, locale)
  local types = {}
  for _, list in ipairs { OPENS, CLOSES } do
    for name in pairs(list) do
      types[#types + 1] = name
    end
  end
  local events, err, id, fields = self:events(session, { types = types })
  if not events then
    return nil, err, id, fields
  end
  local open, order = unfinished(events)
  local runs, added, waiting = {}, {}, {}
  for _, event in pairs(open) do
    if event.type == "permission_requested" then
      waiting[event.callId] = true
    end
  end
  for _, key in ipairs(order) do
    local event = open[key]
    open[key] = nil
    local closed = event and closing(event, locale or "en", waiting[event.callId])
    if closed then
      closed.v, closed.session, closed.run, closed.time = 1, session, event.run, clock.now()
      table.insert(event.type == "run_started" and runs or added, closed)
    end
  end
  table.move(runs, 1, #runs, #added + 1, added)
  if #added == 0 then
    return added
  end
  local seqs
  seqs, err, id, fields = self:append_all(session, added)
  if not seqs then
    return nil, err, id, fields
  end
  for i, event in ipairs(added) do
    event.seq = seqs[i]
  end
  return added
end

-- What belongs to a session: rows with a few columns to find them by, and the rest as JSON ----------

---@class alisio.Collection
local Collection = {}
Collection.__index = Collection

local function collection(db, kind, columns)
  local known = {}
  for _, column in ipairs(columns) do
    known[column] = true
  end
  return setmetatable({ db = db, kind = kind, name = kind .. "s", columns = columns, known = known }, Collection)
end

function Collection:read(row)
  local record = json.decode(row.body)
  for _, column in ipairs(self.columns) do
    record[column] = row[column]
  end
  return record
end

function Collection:put(db, record)
  local body, values, marks = {}, {}, {}
  for key, value in pairs(record) do
    if not self.known[key] then
      body[key] = value
    end
  end
  for i, column in ipairs(self.columns) do
    values[i], marks[i] = record[column], "?"
  end
  local n = #self.columns
  values[n + 1] = json.encode(body)
  return db:run(("INSERT OR REPLACE INTO %s (%s, body) VALUES (%s, ?)"):format(self.name,
    table.concat(self.columns, ", "), table.concat(marks, ", ")), table.unpack(values, 1, n + 1))
end

function Collection:save(record)
  local ok, err, id, fields = self:put(self.db, record)
  return ok and true, err, id, fields
end

function Collection:get(key)
  local row, err, id, fields = self.db:row(("SELECT * FROM %s WHERE id = ?"):format(self.name), key)
  if row then
    return self:read(row)
  elseif err then
    return nil, err, id, fields
  end
  return not_found(self.kind, key)
end

function Collection:find(filter)
  local clauses, values = {}, {}
  for _, column in ipairs(self.columns) do
    if filter[column] ~= nil then
      clauses[#clauses + 1] = column .. " = ?"
      values[#values + 1] = filter[column]
    end
  end
  for key in pairs(filter) do
    if not self.known[key] then
      error(("%s are not found by %q"):format(self.name, tostring(key)), 3)
    end
  end
  local rows, err, id, fields = self.db:rows(("SELECT * FROM %s WHERE %s ORDER BY created, id"):format(self.name,
    #clauses > 0 and table.concat(clauses, " AND ") or "1"), table.unpack(values))
  if not rows then
    return nil, err, id, fields
  end
  for i, row in ipairs(rows) do
    rows[i] = self:read(row)
  end
  return rows
end

function Collection:update(key, changes)
  return self.db:transaction(function(db)
    local row, err, id, fields = db:row(("SELECT * FROM %s WHERE id = ?"):format(self.name), key)
    if not row then
      if err then
        return nil, err, id, fields
      end
      return not_found(self.kind, key)
    end
    local record = self:read(row)
    for name, value in pairs(changes) do
      record[name] = value
    end
    local ok
    ok, err, id, fields = self:put(db, record)
    return ok and true, err, id, fields
  end)
end

function Collection:delete(key)
  local done, err, id, fields = self.db:run(("DELETE FROM %s WHERE id = ?"):format(self.name), key)
  if not done then
    return nil, err, id, fields
  elseif done.changes == 0 then
    return not_found(self.kind, key)
  end
  return true
end

---@class alisio.store.Grants
---@field save fun(grant: { session: string, capability: string, runtime: string? }): string?, string?, string?  any further fields are kept; its id
---@field list fun(session: string?): table[]?, string?, string?  all sessions when left out
---@field find fun(session: string, capability: string, runtime: string?): table?, string?, string?  nil alone: none
---@field get fun(id: string): table?, string?, string?
---@field revoke fun(id: string): boolean?, string?, string?

---@class alisio.store.Datasets
---@field save fun(dataset: table): boolean?, string?, string?   id, session; name, format, bytes, sha256, overrides to find it by; the rest is kept
---@field find fun(filter: table): table[]?, string?, string?    equal in session, bytes, sha256, overrides, name or format; oldest first
---@field get fun(id: string): table?, string?, string?
---@field touch fun(id: string): boolean?, string?, string?      used now
---@field list fun(session: string): table[]?, string?, string?
---@field delete fun(id: string): boolean?, string?, string?

---@class alisio.store.Artifacts
---@field save fun(artifact: table): boolean?, string?, string?  id, session; execution and status to find it by; the rest is kept
---@field get fun(id: string): table?, string?, string?
---@field list fun(session: string): table[]?, string?, string?  oldest first
---@field update fun(id: string, changes: table): boolean?, string?, string?
---@field delete fun(id: string): boolean?, string?, string?

local function stamped(record, ...)
  local copy, now = {}, clock.now()
  for key, value in pairs(record) do
    copy[key] = value
  end
  for _, name in ipairs { ... } do
    copy[name] = copy[name] or now
  end
  return copy
end

collections = {
  grants = function(db)
    local rows = collection(db, "grant", { "id", "session", "capability", "runtime", "created" })
    return {
      save = function(grant)
        local copy = stamped(grant, "created")
        copy.id = copy.id or ids.new "grant"
        local ok, err, id, fields = rows:save(copy)
        return ok and copy.id, err, id, fields
      end,
      list = function(session) return rows:find { session = session } end,
      find = function(session, capability, runtime)
        local found, err, id, fields = rows:find { session = session, capability = capability, runtime = runtime }
        return found and found[1], err, id, fields
      end,
      get = function(key) return rows:get(key) end,
      revoke = function(key) return rows:delete(key) end,
    }
  end,
  datasets = function(db)
    local rows = collection(db, "dataset",
      { "id", "session", "name", "format", "bytes", "sha256", "overrides", "created", "used" })
    return {
      save = function(dataset) return rows:save(stamped(dataset, "created", "used")) end,
      find = function(filter) return rows:find(filter) end,
      get = function(key) return rows:get(key) end,
      touch = function(key) return rows:update(key, { used = clock.now() }) end,
      list = function(session) return rows:find { session = session } end,
      delete = function(key) return rows:delete(key) end,
    }
  end,
  artifacts = function(db)
    local rows = collection(db, "artifact", { "id", "session", "execution", "status", "created" })
    return {
      save = function(artifact) return rows:save(stamped(artifact, "created")) end,
      get = function(key) return rows:get(key) end,
      list = function(session) return rows:find { session = session } end,
      update = function(key, changes) return rows:update(key, changes) end,
      delete = function(key) return rows:delete(key) end,
    }
  end,
}

return M
