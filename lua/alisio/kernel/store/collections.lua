--- What belongs to a session: rows with a few columns to find them by, and the rest as JSON.
local clock = require "std.clock"
local json = require "std.json"
local ids = require "alisio.kernel.ids"

local M = {}

--- The answer for what is not there.
---@param kind string
---@param id string
---@return nil, string err, string id, table fields
function M.not_found(kind, id)
  return nil, ("there is no %s %s"):format(kind, id), "not_found", { object = id, reason = kind }
end

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
  return M.not_found(self.kind, key)
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
      return M.not_found(self.kind, key)
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
    return M.not_found(self.kind, key)
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

--- What was allowed for whole sessions.
---@param db std.sql.Database
---@return alisio.store.Grants
function M.grants(db)
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
end

--- The records of datasets.
---@param db std.sql.Database
---@return alisio.store.Datasets
function M.datasets(db)
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
end

--- The records of artifacts.
---@param db std.sql.Database
---@return alisio.store.Artifacts
function M.artifacts(db)
  local rows = collection(db, "artifact", { "id", "session", "execution", "status", "created" })
  return {
    save = function(artifact) return rows:save(stamped(artifact, "created")) end,
    get = function(key) return rows:get(key) end,
    list = function(session) return rows:find { session = session } end,
    update = function(key, changes) return rows:update(key, changes) end,
    delete = function(key) return rows:delete(key) end,
  }
end

return M
