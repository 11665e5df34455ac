--- The datasets of a session: files read once, found again by their content, asked with SQL. The
-- engine makes them; here stand limits, reuse, where they lie, and what the database keeps of them
-- (where they came from, when they were used).
local artifact = require "std.artifact"
local clock = require "std.clock"
local dataset = require "std.dataset"
local fs = require "std.fs"
local json = require "std.json"
local path = require "std.path"
local ids = require "alisio.kernel.ids"
local paths = require "alisio.kernel.paths"
local words = require "alisio.kernel.words"

local M = {}

local MAX_ROWS = 1000      -- of one answer
local MAX_TIMEOUT_MS = 86400000 -- of a statement: the engine takes no more
local MAX_COLUMNS = 1000
local MAX_CELL_BYTES = 1 << 20
local SAMPLE_ROWS = 5
local TOUCH_MS = 3600000   -- how exactly the time of the last use is kept

local SETTABLE = { ["analysis.data.maxRows"] = "maxRows", ["analysis.data.maxFileBytes"] = "maxFileBytes" }
local OVERRIDES = { delimiter = true, encoding = true, format = true, header = true, skip = true }

-- What the engine unpacks; a .zip's own name is no hint at the table's.
local PACKED = { [".gz"] = true, [".gzip"] = true, [".bz2"] = true, [".xz"] = true, [".zst"] = true, [".zstd"] = true }

--- The name of a dataset, and what the file's name hints at: "sales", ".csv.gz" of sales.csv.gz.
local function split_name(shown)
  local name, hint = path.stem(shown), path.ext(shown):lower()
  if PACKED[hint] then
    name, hint = path.stem(name), path.ext(name):lower() .. hint
  end
  return name, hint
end

--- One client of the engine for each state folder of this process.
local clients = {}

--- The client of the engine that this process has for a state folder.
---@param state_dir string
---@return std.dataset.Engine
function M.engine(state_dir)
  clients[state_dir] = clients[state_dir] or dataset.open_engine { tmp = path.join(state_dir, "tmp") }
  return clients[state_dir]
end

---@class alisio.Data
---@field session alisio.Session
local Data = {}
Data.__index = Data

--- The datasets of a session.
---@param options { session: alisio.Session }
---@return alisio.Data
function M.new(options)
  local session = options.session
  local state_dir = session.store.state_dir
  return setmetatable({
    session = session,
    store = session.store.datasets,
    engine = M.engine(state_dir),
    folder = paths.session(state_dir, paths.workspace(session.cwd), session.id).datasets,
  }, Data)
end

function Data:file(id)
  return path.join(self.folder, id .. ".sqlite")
end

--- Entries of the folder that no record speaks of.
local function strays(self)
  local found = {}
  for _, entry in ipairs(fs.list(self.folder) or {}) do
    local id = entry.name:match "^(ds_%w+)%.sqlite$"
    if not id or not self.store.get(id) then
      found[#found + 1] = entry.name
    end
  end
  return found
end

--- Removes what an interrupted process left: files without a record, and unfinished ones.
---@async
function Data:sweep()
  if #strays(self) == 0 then
    return
  end
  self.session:write(function()
    for _, name in ipairs(strays(self)) do -- again: one may have been recorded meanwhile
      local file = path.join(self.folder, name)
      if name:find "^ds_%w+%.sqlite$" then
        fs.remove(file)
      elseif name:find "^%.ds_.*%.part$" then
        local lock <close> = fs.lock(file) -- whoever writes it holds it
        if lock then
          fs.remove(file)
        end
      end
    end
  end)
end

--- What everyone is told of a dataset.
local function describe(self, record, reused)
  local out = json.decode(json.encode(record.description))
  return {
    id = record.id,
    name = record.name,
    path = self:file(record.id),
    file = record.file,
    format = out.format,
    encoding = out.encoding,
    delimiter = out.delimiter,
    rows = out.rows,
    irregularRows = out.irregularRows,
    sha256 = record.sha256,
    bytes = record.bytes,
    reused = reused,
    sheets = out.sheets,
    notes = out.notes or json.array(),
  }
end

--- The same content, read in the same way, in this session. The hint of the name is part of the way.
local function find(self, file, size, key)
  local same, err, id, fields = self.store.find { session = self.session.id, bytes = size, overrides = key }
  if not same then
    return nil, err, id, fields
  elseif #same == 0 then
    return false
  end
  local sha256
  sha256, err, id, fields = artifact.digest(file)
  if not sha256 then
    return nil, err, id, fields
  end
  for _, record in ipairs(same) do
    if record.sha256 == sha256 and fs.exists(self:file(record.id)) then
      return record
    end
  end
  return false
end

local function limits(config)
  return {
    maxRows = config:get "analysis.data.maxRows",
    maxFileBytes = config:get "analysis.data.maxFileBytes",
    maxColumns = MAX_COLUMNS,
    maxCellBytes = MAX_CELL_BYTES,
  }
end

--- An error of the engine is about the file it was handed; it knows no path.
local function about(config, shown, message, id, fields)
  fields = fields or {}
  local part = fields.object
  if part and part ~= "input" and not part:find("^analysis%.") then -- of a zip, a sheet, an override
    fields.part, fields.detail = part, part .. ": " .. tostring(fields.detail)
  end
  if id == "ingest_limit" then
    local key = SETTABLE[part]
    fields.file = shown
    fields.reason, fields.limit = key or "fixed", key and config:get(part)
  elseif id ~= "engine_failed" and id ~= "cancelled" and id ~= "no_space" then
    fields.object = shown
  end
  return nil, shown .. ": " .. tostring(message), id, fields
end

--- Reads a file into a new dataset and records it, both or none.
local function ingest(self, file, shown, size, overrides, key, on_progress)
  local session, id = self.session, ids.new "ds"
  local ok, err, code, fields = fs.mkdirs(self.folder)
  if not ok then
    return nil, err, code, fields
  end
  local record = {
    id = id, session = session.id, name = split_name(shown), file = path.basename(shown), origin = shown,
    bytes = size, overrides = key,
  }
  local description
  description, err, code, fields = self.engine:ingest {
    input = file, output = self:file(id), name = path.basename(shown), overrides = overrides,
    limits = limits(session.config), threads = session.config:get "analysis.data.threads",
    sample = SAMPLE_ROWS, on_progress = on_progress,
    keep = function(described, commit)
      record.format, record.sha256, record.description = described.format, described.sha256, described
      return session:write(function()
        -- The file first: one without a record is swept (where a cancel comes between the two, before
        -- the next ingestion), a record without its file would be a lie.
        self.swept = false
        local kept, why, which, what = commit()
        if not kept then
          return nil, why, which, what
        end
        kept, why, which, what = self.store.save(record)
        if not kept then
          fs.remove(self:file(id))
        end
        self.swept = true
        return kept, why, which, what
      end)
    end,
  }
  if not description then
    return about(session.config, shown, err, code, fields)
  end
  return record
end

--- Notes that a dataset was used, to the hour.
local function touch(self, record)
  if clock.now() - record.used > TOUCH_MS then
    self.session:write(function() return self.store.touch(record.id) end)
  end
end

local function open_file(opened, file)
  if opened then
    return opened
  end
  return fs.open(file)
end

--- Makes a dataset of a file, or finds the one that was made of the same content before.
---@async
---@param file string     path, from the session's folder when it is relative
---@param overrides? table  delimiter, encoding, format, header, skip: what the caller knows better
---@param on_progress? fun(progress: { bytes: integer, total: integer, rows: integer })
---@param opened? std.fs.File  the file itself, where opening it was the caller's affair
---@return table? description  id, name, path, format, …, reused, sheets, notes (structured)
---@return string? err
---@return string? id
---@return table? fields
function Data:open(file, overrides, on_progress, opened)
  for key in pairs(overrides or {}) do
    if not OVERRIDES[key] then
      error("datasets have no override " .. tostring(key), 2)
    end
  end
  local shown = path.absolute(file, self.session.cwd)
  local handle, err, id, fields = open_file(opened, shown)
  if not handle then
    return nil, err, id, fields
  end
  local _ <close> = not opened and handle or nil
  local stat = handle:stat()
  if stat.type ~= "file" then
    return nil, shown .. ": is not a regular file", "io_error", { object = shown, detail = "is not a regular file" }
  end
  if not self.swept then
    self.swept = true
    self:sweep()
  end
  local way = { name = select(2, split_name(shown)) }
  for key, value in pairs(overrides or {}) do
    way[key] = value
  end
  local key = json.encode(way)
  local known
  known, err, id, fields = find(self, handle, stat.size, key)
  if known then
    touch(self, known)
    return describe(self, known, true)
  elseif known == nil then
    return nil, err, id, fields
  end
  local record
  record, err, id, fields = ingest(self, handle, shown, stat.size, overrides, key, on_progress)
  if not record then
    return nil, err, id, fields
  end
  return describe(self, record, false)
end

local function record_of(self, id)
  local record, err, code, fields = self.store.get(id)
  if not record and code ~= "not_found" then
    return nil, err, code, fields
  elseif not record or record.session ~= self.session.id or not fs.exists(self:file(id)) then
    return nil, "there is no dataset " .. id .. " in this session", "not_found", { object = id, reason = "dataset" }
  end
  return record
end

--- A dataset of this session.
---@async
---@param id string
---@return table? description
---@return string? err
---@return string? id      "not_found", also for one of another session
---@return table? fields
function Data:get(id)
  local record, err, code, fields = record_of(self, id)
  if not record then
    return nil, err, code, fields
  end
  return describe(self, record, true)
end

--- The datasets of this session, oldest first.
---@async
---@return table[]? descriptions
---@return string? err
---@return string? id
function Data:list()
  local records, err, id, fields = self.store.list(self.session.id)
  if not records then
    return nil, err, id, fields
  end
  for i, record in ipairs(records) do
    records[i] = describe(self, record, true)
  end
  return records
end

--- Rows of each sheet from its beginning, another number than the description holds.
---@async
---@param id string
---@param rows integer
---@return table? description
---@return string? err
---@return string? id
---@return table? fields
function Data:sample(id, rows)
  local described, err, code, fields = self:get(id)
  if not described then
    return nil, err, code, fields
  end
  local fresh
  fresh, err, code, fields = self.engine:describe(described.path, { sample = rows })
  if not fresh then
    return nil, err, code, fields
  end
  described.sheets = fresh.sheets
  return described
end

--- Asks a dataset one SELECT.
---@async
---@param id string
---@param sql string
---@param options? { maxRows: integer?, timeoutMs: integer?, cellBytes: integer?, raw: boolean? }  at
---       most 1000 rows; the time is that of the configuration when left out; raw: see std.dataset
---@return table? answer  columns, rows (or rowsJson), truncated, elapsedMs, cut
---@return string? err
---@return string? id
---@return table? fields
function Data:query(id, sql, options)
  options = options or {}
  local record, err, code, fields = record_of(self, id)
  if not record then
    return nil, err, code, fields
  end
  local timeout = math.min(math.max(options.timeoutMs or self.session.config:get "analysis.data.queryTimeoutMs", 1), MAX_TIMEOUT_MS)
  local answer
  answer, err, code, fields = self.engine:query(self:file(id), sql, {
    maxRows = math.min(options.maxRows or 200, MAX_ROWS), timeoutMs = timeout,
    cellBytes = options.cellBytes, raw = options.raw,
  })
  if not answer then
    if code == "query_timeout" then
      fields.limit = timeout
    end
    return nil, err, code, fields
  end
  touch(self, record)
  return answer
end

--- The table of a sheet, by its name or that of its table; of the first one without.
local function table_of(record, sheet)
  local sheets = record.description.sheets
  if sheet == nil then
    return sheets[1].table
  end
  for _, key in ipairs { "table", "name" } do
    for _, s in ipairs(sheets) do
      if s[key] == sheet then
        return s.table
      end
    end
  end
  return nil, "there is no sheet " .. sheet .. " in this dataset", "not_found", { object = sheet, reason = "sheet" }
end

--- A page of a sheet by row number, or of a view, in the same time wherever it is.
---@async
---@param id string
---@param options? { sheet: string?, view: std.dataset.View?, first: integer?, count: integer?, columns: string[]?, cellBytes: integer?, raw: boolean? }
---   sheet: its name or table, the first when left out; view: of this dataset, instead of a sheet;
---   first: from 1; count: 100 when left out, at most 1000; the others: see std.dataset
---@return std.dataset.Page? page  without rows when first is behind the end
---@return string? err
---@return string? code
---@return table? fields
function Data:rows(id, options)
  options = options or {}
  local record, err, code, fields = record_of(self, id)
  if not record then
    return nil, err, code, fields
  end
  local file = self:file(id)
  if options.view and options.view.path ~= file then
    error("the view is of another dataset", 2)
  end
  local name
  name, err, code, fields = table_of(record, not options.view and options.sheet or nil)
  if not name then
    return nil, err, code, fields
  end
  local page
  page, err, code, fields = self.engine:rows(file, {
    table = name, view = options.view, first = options.first, count = math.min(options.count or 100, MAX_ROWS), columns = options.columns,
    cellBytes = options.cellBytes, raw = options.raw,
  })
  if page then
    touch(self, record)
  end
  return page, err, code, fields
end

--- Sorts and filters a sheet, once, for rows to page through; see std.dataset.
---@async
---@param id string
---@param options? { sheet: string?, sort: table[]?, filter: table[]?, on_progress: fun(progress: table)? }
---   sheet: its name or table, the first when left out; the others: see std.dataset
---@return std.dataset.View? view  to be released when it is not needed any more
---@return string? err
---@return string? code    query_rejected when sort or filter is wrong
---@return table? fields
function Data:view(id, options)
  options = options or {}
  local record, err, code, fields = record_of(self, id)
  if not record then
    return nil, err, code, fields
  end
  local name
  name, err, code, fields = table_of(record, options.sheet)
  if not name then
    return nil, err, code, fields
  end
  local view
  view, err, code, fields = self.engine:view(self:file(id), {
    table = name, sort = options.sort, filter = options.filter, on_progress = options.on_progress,
    columnBytes = self.session.config:get "analysis.data.columnBytes",
  })
  if view then
    touch(self, record)
  end
  return view, err, code, fields
end

--- Answers many group-bys and samples of a sheet together; see std.dataset.
---@async
---@param id string
---@param request { sheet: string?, filter: table[]?, groups: std.dataset.GroupBy[]?, samples: table[]? }
---   sheet: its name or table, the first when left out
---@param options? { timeoutMs: integer?, on_progress: fun(progress: table)? }
---@return table? answer   see std.dataset
---@return string? err
---@return string? code    query_rejected when the request is wrong
---@return table? fields
function Data:aggregate(id, request, options)
  options = options or {}
  local record, err, code, fields = record_of(self, id)
  if not record then
    return nil, err, code, fields
  end
  local name
  name, err, code, fields = table_of(record, request.sheet)
  if not name then
    return nil, err, code, fields
  end
  local config = self.session.config
  local answer
  answer, err, code, fields = self.engine:aggregate(self:file(id), {
    table = name, filter = request.filter, groups = request.groups, samples = request.samples,
  }, {
    timeoutMs = options.timeoutMs, on_progress = options.on_progress, threads = config:get "analysis.data.threads",
    columnBytes = config:get "analysis.data.columnBytes",
  })
  if answer then
    touch(self, record)
  end
  return answer, err, code, fields
end

--- A description as `alisio data inspect --json` gives it.
---@param described table
---@param locale string  language of the notes
---@return { dataset: table, sheets: table[], notes: string[] } document
function M.document(described, locale)
  local dataset_part, notes = {}, json.array()
  for key, value in pairs(described) do
    if key ~= "sheets" and key ~= "notes" then
      dataset_part[key] = value
    end
  end
  for i, note in ipairs(described.notes) do
    notes[i] = words.note(locale, note)
  end
  return { dataset = dataset_part, sheets = described.sheets, notes = notes }
end

return M
