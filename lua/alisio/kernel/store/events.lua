--- The events of a session in the sessions database.
local clock = require "std.clock"
local json = require "std.json"
local schema = require "std.schema"

local M = {}

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
---@param self alisio.Store
---@param session string
---@param events table[]      with type and time; run where there is one
---@param bodies string[]?    their M.body, when it was made before
---@return integer[]? seqs
---@return string? err
---@return string? id         "no_space" and the like: then none was stored
---@return table? fields
function M.append_all(self, session, events, bodies)
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
---@param self alisio.Store
---@param session string
---@param event table   type, and its fields; time is now when it is left out
---@return integer? seq
---@return string? err
---@return string? id
---@return table? fields
function M.append(self, session, event)
  event.time = event.time or clock.now()
  local seqs, err, id, fields = M.append_all(self, session, { event })
  return seqs and seqs[1], err, id, fields
end

--- Events of a session in their order, as every face gets them.
---@async
---@param self alisio.Store
---@param session string
---@param filter { after: integer?, types: string[]?, limit: integer? }?  after: only seq above it
---@return table[]?
---@return string? err
---@return string? id
---@return table? fields
function M.events(self, session, filter)
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

return M
