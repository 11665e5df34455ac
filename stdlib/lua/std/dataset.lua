--- Tables made from files, and questions to them, in a process of their own.
---
--- The engine is a program that is handed open files, limits itself, and answers; whatever a file
--- does to it, this one goes on and says so ("engine_failed"). An ingestion has an engine of its own,
--- questions share at most two that are kept; pages, views and group-bys of tables have one.
local engine = require "host.engine"
local fs = require "std.fs"
local json = require "std.json"
local schema = require "std.schema"
local task = require "std.task"

local M = {}

local KEPT = 2                -- engines for questions
local GRACE_MS = 150          -- an engine that has not stopped itself so long after its time is killed
local DESCRIBE_MS = 10000
local ROWS_MS = 15000         -- one page, on a disk that is busy
local LINT_MS = 5000
local REPLY = { maxBytes = 16 << 20, maxDepth = 16 }

-- What the engine says is checked before anything believes it.
local COLUMN = {
  type = "object",
  required = { "name", "label", "type", "nulls", "distinct", "distinctExact", "textFallbacks", "top" },
  properties = {
    name = { type = "string" }, label = { type = "string" }, type = { type = "string" },
    nulls = { type = "integer" }, distinct = { type = "integer" }, distinctExact = { type = "boolean" },
    min = { type = { "string", "null" } }, max = { type = { "string", "null" } },
    mean = { type = { "number", "null" } }, textFallbacks = { type = "integer" },
    top = {
      type = "array",
      items = {
        type = "object", required = { "value", "count" },
        properties = { value = { type = "string" }, count = { type = "integer" } },
      },
    },
  },
}
-- The fields of notes, which become words.
local NOTE = {
  type = "object", required = { "id" },
  properties = {
    id = { type = "string" },
    count = { type = "integer", minimum = 0 },
    lines = { type = "array", items = { type = "integer" } },
    columns = { type = "array", items = { type = "string" } },
    sheets = { type = "array", items = { type = "string" } },
  },
}
local DESCRIPTION = schema.compile {
  type = "object",
  required = { "format", "rows", "irregularRows", "sheets" },
  properties = {
    format = { type = "string" },
    encoding = { type = { "string", "null" } },
    delimiter = { type = { "string", "null" } },
    rows = { type = "integer", minimum = 0 },
    irregularRows = { type = "integer", minimum = 0 },
    sha256 = { type = "string" },
    bytes = { type = "integer", minimum = 0 },
    sheets = {
      type = "array", minItems = 1,
      items = {
        type = "object", required = { "name", "table", "rows", "columns", "sample" },
        properties = {
          name = { type = "string" }, table = { type = "string" }, rows = { type = "integer", minimum = 0 },
          columns = { type = "array", minItems = 1, items = COLUMN },
          sample = { type = "array", items = { type = "array" } },
        },
      },
    },
    notes = { type = "array", items = NOTE },
  },
}
local ANSWER = schema.compile {
  type = "object",
  required = { "columns", "truncated", "elapsedMs" },
  properties = {
    columns = { type = "array", items = { type = "string" } },
    truncated = { type = "boolean" },
    elapsedMs = { type = "number" },
    cut = { type = "array", items = { type = "array", items = { type = "integer" }, minItems = 2, maxItems = 2 } },
  },
}

local PAGE = schema.compile {
  type = "object",
  required = { "columns", "first", "total", "numbers", "truncated", "cut" },
  properties = {
    columns = { type = "array", items = { type = "string" } },
    first = { type = "integer" },
    total = { type = "integer", minimum = 0 },
    numbers = { type = "array", items = { type = "integer", minimum = 1 } },
    truncated = { type = "boolean" },
    cut = { type = "array", items = { type = "array", items = { type = "integer" }, minItems = 2, maxItems = 2 } },
  },
}

local VIEW = schema.compile {
  type = "object", required = { "rows" }, properties = { rows = { type = "integer", minimum = 0 } },
}

local LINT = schema.compile {
  type = "object", required = { "found" },
  properties = { found = { type = "array", items = { enum = { "network_resource", "fixed_svg", "svg_arcs" } } } },
}

local PROGRESS = schema.compile {
  type = "object", required = { "bytes", "total", "rows" },
  properties = {
    bytes = { type = "integer", minimum = 0 }, total = { type = "integer", minimum = 0 },
    rows = { type = "integer", minimum = 0 },
  },
}

local function distrust(why)
  return nil, "the engine sent what it should not: " .. why, "engine_failed", { detail = why }
end

local function read_reply(text, shape)
  local reply, err = json.decode(text, REPLY)
  if reply == nil then
    return distrust(err)
  end
  local fits, where = schema.check(shape, reply)
  if not fits then
    return distrust(where)
  end
  return reply
end

-- Sends a request and hands its frames to on_frame until the result, which is returned as text.
local function converse(e, request, files, timeout, on_frame, raw)
  request.v = 1
  local sent, err, id, fields = e:send(json.encode(request), files, timeout)
  if not sent then
    return nil, err, id, fields
  end
  while true do
    local kind, a, b, c = e:next(raw)
    if kind == "result" then
      return a
    elseif not kind then
      return nil, a, b, c
    end
    local ok, why = on_frame(kind, a, b, c)
    if not ok then
      return distrust(why)
    end
  end
end

local function no_frames(kind)
  return kind == "progress", "rows that were not asked for"
end

-- Frames of a request that takes long.
local function only_progress(on_progress)
  return function(kind, text)
    if kind ~= "progress" then
      return false, "something else than progress"
    end
    local progress, _, _, fields = read_reply(text, PROGRESS)
    if progress and on_progress then
      on_progress(progress)
    end
    return progress, fields and fields.detail
  end
end

local function open_input(input)
  if type(input) ~= "string" then
    return input
  end
  local file, err, id, fields = fs.open(input)
  if not file then
    return nil, err, id, fields
  end
  if file:stat().type ~= "file" then
    file:close()
    return nil, input .. ": is not a regular file", "io_error", { object = input }
  end
  return file
end

---@class std.dataset.Engine
local Engine = {}
Engine.__index = Engine
Engine.__close = function(self)
  self:close()
end

-- Engines that are kept, at most so many at work at once.
local function new_pool(size)
  local slots = task.channel(size)
  for _ = 1, size do
    slots:try_send(true)
  end
  return { idle = {}, slots = slots }
end

--- Makes a client. Nothing is started before it is needed.
---@param options { tmp: string, program: string? }  tmp: folder for the engine's nameless temporary
---       files; program: another engine than the one that came with this program
---@return std.dataset.Engine
function M.open_engine(options)
  return setmetatable({
    tmp = options.tmp, program = options.program, questions = new_pool(KEPT), pages = new_pool(1),
    views = 0, forgotten = {}, -- the number of the last view; of those that were released
  }, Engine)
end

-- Gives a kept engine back when the variable that holds the lease goes out of scope; one that is in
-- the middle of something (its task was cancelled) is ended instead.
local function lease(self, pool)
  pool.slots:receive()
  local held = setmetatable({}, {
    __close = function(held)
      local e = held.engine
      if e and e:alive() and not e:busy() and not self.closed then
        pool.idle[#pool.idle + 1] = e
      elseif e then
        e:close()
      end
      pool.slots:try_send(true)
    end,
  })
  repeat
    held.engine = table.remove(pool.idle)
  until not held.engine or held.engine:alive()
  return held
end

local function start(self)
  return engine.start(self.tmp, self.program)
end

--- Reads a file into a dataset: one SQLite file that appears at `output` when it is whole.
---@async
---@param request { input: string|table, output: string, name: string, overrides: table?, limits: table?, threads: integer?, sample: integer?, on_progress: fun(progress: table)?, keep: (fun(description: table, commit: fun()): boolean?)? }
---   input: a path or an open file of std.fs; name: what the file is called, a hint of its format;
---   overrides: format, delimiter, header, encoding, skip; limits: maxRows, maxColumns, maxCellBytes,
---   maxFileBytes; threads: all processors when left out; progress: bytes, total, rows; keep: is called when the file is
---   ready, and makes it appear by calling commit, which like itself returns true, or nil and why not
---@return table? description  format, encoding, delimiter, rows, irregularRows, sha256, bytes, sheets, notes
---@return string? err
---@return string? id      ingest_invalid, ingest_limit, dataset_unsupported, engine_failed, …
---@return table? fields
function Engine:ingest(request)
  local message = {
    op = "ingest", name = request.name, limits = request.limits, threads = request.threads, sample = request.sample,
  }
  for key, value in pairs(request.overrides or {}) do
    message[key] = value
  end
  local input, err, id, fields = open_input(request.input)
  if not input then
    return nil, err, id, fields
  end
  local _ <close> = input ~= request.input and input or nil
  local output <close>, err2, id2, fields2 = engine.output(request.output)
  if not output then
    return nil, err2, id2, fields2
  end
  local e <close>, err3, id3, fields3 = start(self)
  if not e then
    return nil, err3, id3, fields3
  end
  local result
  result, err, id, fields = converse(e, message, { input, output }, nil, only_progress(request.on_progress))
  if not result then
    return nil, err, id, fields
  end
  local description
  description, err, id, fields = read_reply(result, DESCRIPTION)
  if not description then
    return nil, err, id, fields
  end
  local ok
  if request.keep then
    ok, err, id, fields = request.keep(description, function() return output:commit() end)
  else
    ok, err, id, fields = output:commit()
  end
  if not ok then
    return nil, err, id, fields
  end
  return description
end

-- One request about a dataset, on a kept engine.
local function ask(self, pool, path, message, timeout, on_frame, raw)
  local input, err, id, fields = open_input(path)
  if not input then
    return nil, err, id, fields
  end
  local _ <close> = input ~= path and input or nil
  local held <close> = lease(self, pool)
  if not held.engine then
    held.engine, err, id, fields = start(self)
    if not held.engine then
      return nil, err, id, fields
    end
  end
  return converse(held.engine, message, { input }, timeout, on_frame, raw)
end

--- What a dataset knows of itself.
---@async
---@param path string|table
---@param options? { sample: integer? }  rows of each sheet
---@return table? description  as ingest gives it
---@return string? err
---@return string? id
---@return table? fields
function Engine:describe(path, options)
  local message = { op = "describe", sample = options and options.sample }
  local result, err, id, fields = ask(self, self.questions, path, message, DESCRIBE_MS, no_frames)
  if not result then
    return nil, err, id, fields
  end
  return read_reply(result, DESCRIPTION)
end

--- Looks at an HTML page that nobody trusts for what goes wrong where it is shown.
---@async
---@param path string|table
---@return string[]? found  network_resource (scripts or styles), fixed_svg, svg_arcs (drawn by hand)
---@return string? err
---@return string? id
---@return table? fields
function Engine:lint(path)
  local result, err, id, fields = ask(self, self.questions, path, { op = "lint" }, LINT_MS, no_frames)
  if not result then
    return nil, err, id, fields
  end
  local reply
  reply, err, id, fields = read_reply(result, LINT)
  return reply and reply.found, err, id, fields
end

-- Cells by the name of their column too: a name wins over n, the first of two over the second.
local function name_cells(rows, columns)
  for _, row in ipairs(rows) do
    row.n = #columns
    for i = #columns, 1, -1 do
      row[columns[i]] = row[i]
    end
  end
end

-- Rows from frames as they come, max at most; raw ones stay text.
local function collector(max, raw)
  local got = { rows = {}, parts = {}, count = 0 }
  function got.on_frame(kind, rows, n, columns)
    if kind ~= "rows" then
      return kind == "progress"
    end
    got.count = got.count + n
    if got.count > max or (n > 0 and got.width and got.width ~= columns) then
      return false, "more or other rows than were asked for"
    end
    got.width = n > 0 and columns or got.width
    if raw then
      got.parts[#got.parts + 1] = n > 0 and rows or nil
    else
      table.move(rows, 1, n, #got.rows + 1, got.rows)
    end
    return true
  end
  return got
end

-- The answer to a request that brought rows: the result with `rows` or `rowsJson` in it.
local function with_rows(result, shape, got, raw)
  local answer, err, id, fields = read_reply(result, shape)
  if not answer then
    return nil, err, id, fields
  end
  if got.width and got.width ~= #answer.columns then
    return distrust "rows that do not fit their columns"
  end
  answer.cut = answer.cut or json.array()
  if raw then
    answer.rowsJson = "[" .. table.concat(got.parts, ",") .. "]"
  else
    for _, cell in ipairs(answer.cut) do
      cell[1], cell[2] = cell[1] + 1, cell[2] + 1
    end
    name_cells(got.rows, answer.columns)
    answer.rows = got.rows
  end
  return answer
end

--- Asks one SELECT. A row has its cells by number and by column name, and `n`, how many they are;
--- NULL is nil.
---@async
---@param path string|table
---@param sql string
---@param options? { maxRows: integer?, timeoutMs: integer?, cellBytes: integer?, raw: boolean? }
---   200 rows, 5000 ms, 2048 bytes of a cell when left out; raw: the rows as the JSON text of a list
---   of lists in `rowsJson` instead of `rows`
---@return { columns: string[], rows: table[]?, rowsJson: string?, truncated: boolean, elapsedMs: number, cut: integer[][] }? answer
---   cut: row and column of each cell that was cut, from 1; with raw from 0
---@return string? err
---@return string? id      query_rejected, query_timeout, query_failed, engine_failed, …
---@return table? fields
function Engine:query(path, sql, options)
  options = options or {}
  local max, timeout = options.maxRows or 200, options.timeoutMs or 5000
  local message = { op = "query", sql = sql, maxRows = max, timeoutMs = timeout, cellBytes = options.cellBytes or 2048 }
  local got = collector(max, options.raw)
  local result, err, id, fields = ask(self, self.questions, path, message, timeout + GRACE_MS, got.on_frame, options.raw)
  if not result then
    return nil, err, id, fields
  end
  return with_rows(result, ANSWER, got, options.raw)
end

---@class std.dataset.Page
---@field columns string[]
---@field rows table[]?      cells by number and by column name, and `n`, as query gives them
---@field rowsJson string?   with raw instead of rows
---@field numbers integer[]  the row number in the sheet of each row
---@field first integer
---@field total integer      rows there are to page through
---@field truncated boolean  fewer rows than were asked for, because together they are too large
---@field cut integer[][]    row and column of each cell that was cut, from 1; with raw from 0

---@class std.dataset.View
---@field rows integer  in it
local View = {}
View.__index = View

--- Lets the engine forget the view; it cannot be paged any more.
function View:release()
  if not self.released then
    self.released = true
    table.insert(self.client.forgotten, self.message.view)
  end
end
View.__close = View.release
View.__gc = View.release

-- One request to the engine for pages, which also hears which views nobody wants any more.
local function ask_pages(self, path, message, timeout, on_frame, raw)
  message.forget = #self.forgotten > 0 and json.array(self.forgotten) or nil
  self.forgotten = {}
  return ask(self, self.pages, path, message, timeout, on_frame, raw)
end

local function build(view, on_progress)
  local result, err, id, fields = ask_pages(view.client, view.path, view.message, nil, only_progress(on_progress))
  if not result then
    return nil, err, id, fields
  end
  local made
  made, err, id, fields = read_reply(result, VIEW)
  if not made then
    return nil, err, id, fields
  end
  view.rows = made.rows
  return view
end

--- Sorts and filters a sheet, once, for rows to page through. The engine keeps the row numbers; where
--- they are gone, because it died or needed the memory, rows makes them again.
---@async
---@param path string|table  a file that is open must stay so as long as the view is used
---@param options? { table: string?, sort: { column: string, descending: boolean?, nulls: "first"|"last"|nil }[]?, filter: table[]?, columnBytes: integer?, on_progress: fun(progress: table)? }
---   table: the first sheet when left out; sort: the first counts most, equals stay in the order of
---   the sheet, NULL, numbers, texts by bytes; filter: conditions that must all hold, { column, and
---   one of eq, ["in"], notIn, null, contains, range = { ge, gt, le, lt } }; columnBytes: as aggregate has
---   it; progress: bytes, total, rows
---@return std.dataset.View? view
---@return string? err
---@return string? id      query_rejected (sort or filter is wrong), not_found (a sheet), …
---@return table? fields
function Engine:view(path, options)
  options = options or {}
  self.views = self.views + 1
  return build(setmetatable({
    client = self, path = path, rows = 0,
    message = {
      op = "view", view = self.views, table = options.table, columnBytes = options.columnBytes,
      sort = options.sort and json.array { table.unpack(options.sort) },
      filter = options.filter and json.array { table.unpack(options.filter) },
    },
  }, View), options.on_progress)
end

---@class std.dataset.Key
---@field column string
---@field unit "day"|"week"|"month"|"quarter"|"year"|nil  of ISO dates, in UTC; the value is its first day, weeks begin on Monday
---@field width number?  of bins of numbers, from start (0) on; the value is where the bin begins
---@field start number?
---@field top integer?   only so many parts, the largest first, the rest together
---@field rank integer?  by this measure, from 1, which is the default

---@class std.dataset.Measure
---@field fn "count"|"distinct"|"sum"|"avg"|"min"|"max"  as SQL has them
---@field column string?   count without it counts rows
---@field times string?    the product with this column, row by row
---@field numbers boolean? texts count as NULL

---@class std.dataset.GroupBy
---@field by std.dataset.Key[]?  at most 4; without any there is one group
---@field measures std.dataset.Measure[]?  at most 16; the number of rows when left out
---@field filter table[]?  besides that of the request
---@field order { measure: integer?, descending: boolean? }?  by keys when left out, the largest of a top first
---@field limit integer?   10,000 groups when left out, at most 1,000,000

---@class std.dataset.Groups
---@field n integer         groups in the lists below
---@field rows integer      that the filters let through
---@field count integer     groups there are
---@field truncated boolean the limit cut some
---@field keys { count: integer, values: table, other: table<integer, boolean> }[]  count: different values; values: 1 to n, nil for NULL; other: groups that are the rest of a top
---@field measures table[]  each 1 to n, nil for NULL

local function is_cell(value)
  return type(value) == "number" or type(value) == "string" or value == json.null
end

-- A list of n cells, in which NULL becomes nil.
local function read_list(list, n)
  if type(list) ~= "table" or #list ~= n then
    return false
  end
  for i = 1, n do
    if not is_cell(list[i]) then
      return false
    elseif list[i] == json.null then
      list[i] = nil
    end
  end
  return true
end

local function is_count(value)
  return math.type(value) == "integer" and value >= 0
end

local function read_other(list, n)
  local other = {}
  for _, at in ipairs(type(list) == "table" and list or {}) do
    if not is_count(at) or at >= n then
      return nil
    end
    other[at + 1] = true
  end
  return other
end

-- One group-by of the answer, as it was asked for.
local function read_groups(asked, got)
  if type(got) ~= "table" or not is_count(got.rows) or not is_count(got.count) or type(got.truncated) ~= "boolean" or
    type(got.keys) ~= "table" or type(got.measures) ~= "table" or #got.keys ~= #(asked.by or {}) or
    #got.measures ~= #(asked.measures or { 1 }) then
    return false
  end
  got.n = type(got.measures[1]) == "table" and #got.measures[1] or 0
  for _, key in ipairs(got.keys) do
    key.other = type(key) == "table" and is_count(key.count) and read_other(key.other, got.n)
    if not key.other or not read_list(key.values, got.n) then
      return false
    end
  end
  for _, list in ipairs(got.measures) do
    if not read_list(list, got.n) then
      return false
    end
  end
  return true
end

local function read_sample(asked, got)
  if type(got) ~= "table" or not is_count(got.rows) or type(got.columns) ~= "table" or #got.columns ~= #asked.columns then
    return false
  end
  got.n = type(got.columns[1]) == "table" and #got.columns[1] or 0
  for _, list in ipairs(got.columns) do
    if not read_list(list, got.n) then
      return false
    end
  end
  return true
end

local function read_aggregate(text, request)
  local reply, err = json.decode(text, REPLY)
  if type(reply) ~= "table" then
    return distrust(err or "no object")
  end
  local parts = { { request.groups or {}, reply.groups, read_groups }, { request.samples or {}, reply.samples, read_sample } }
  for _, part in ipairs(parts) do
    local asked, got, read = table.unpack(part, 1, 3)
    if type(got) ~= "table" or #got ~= #asked then
      return distrust "answers to other questions"
    end
    for i, one in ipairs(asked) do
      if not read(one, got[i]) then
        return distrust "an answer of another shape"
      end
    end
  end
  if not is_count(reply.rows) or not is_count(reply.elapsedMs) then
    return distrust "an answer of another shape"
  end
  return reply
end

-- A number of a measure as the engine counts them.
local function from_zero(spec, field)
  if not (spec and spec[field]) then
    return spec
  end
  local out = {}
  for key, value in pairs(spec) do
    out[key] = value
  end
  out[field] = spec[field] - 1
  return out
end

local function engine_group(group)
  local out = {}
  for key, value in pairs(group) do
    out[key] = value
  end
  if group.by then
    out.by = json.array {}
    for i, key in ipairs(group.by) do
      out.by[i] = from_zero(key, "rank")
    end
  end
  out.measures = group.measures and json.array { table.unpack(group.measures) }
  out.filter = group.filter and json.array { table.unpack(group.filter) }
  out.order = from_zero(group.order, "measure")
  return out
end

--- Answers many group-bys and samples of a sheet together, from columns that the engine keeps: a
--- second question about the same columns takes milliseconds.
---@async
---@param path string|table
---@param request { table: string?, filter: table[]?, groups: std.dataset.GroupBy[]?, samples: { columns: string[], rows: integer, filter: table[]? }[]? }
---   table: the first sheet when left out; filter: conditions as a view has them, for all groups and
---   samples; samples: so many rows without NULL in these columns, evenly spread
---@param options? { timeoutMs: integer?, threads: integer?, columnBytes: integer?, on_progress: fun(progress: table)? }
---   threads: all processors when left out; columnBytes: memory for columns that may stay, 256 MiB when
---   left out; progress: bytes, total, rows
---@return { rows: integer, elapsedMs: integer, groups: std.dataset.Groups[], samples: { n: integer, rows: integer, columns: table[] }[] }? answer
---   rows: of the sheet, and of a sample those it was taken from
---@return string? err
---@return string? id      query_rejected (what is wrong with the request), query_timeout, not_found (a sheet), …
---@return table? fields
function Engine:aggregate(path, request, options)
  options = options or {}
  local message = {
    op = "aggregate", table = request.table, timeoutMs = options.timeoutMs, threads = options.threads,
    columnBytes = options.columnBytes, filter = request.filter and json.array { table.unpack(request.filter) },
    groups = json.array {}, samples = request.samples and json.array { table.unpack(request.samples) },
  }
  for i, group in ipairs(request.groups or {}) do
    message.groups[i] = engine_group(group)
  end
  local timeout = options.timeoutMs and options.timeoutMs + GRACE_MS
  local result, err, id, fields = ask_pages(self, path, message, timeout, only_progress(options.on_progress))
  if not result then
    return nil, err, id, fields
  end
  return read_aggregate(result, request)
end

local function ask_rows(self, path, message, raw)
  local got = collector(message.count, raw)
  local result, err, id, fields = ask_pages(self, path, message, ROWS_MS, got.on_frame, raw)
  if not result then
    return nil, err, id, fields
  end
  local page
  page, err, id, fields = with_rows(result, PAGE, got, raw)
  if page and #page.numbers ~= got.count then
    return distrust "row numbers that do not fit the rows"
  end
  return page, err, id, fields
end

--- A page of a sheet by row number, or of a view, in the same time wherever it is.
---@async
---@param path string|table
---@param options? { table: string?, view: std.dataset.View?, first: integer?, count: integer?, columns: string[]?, cellBytes: integer?, raw: boolean? }
---   table: the first sheet when left out; view: of the same dataset, and its sheet; first: the place of
---   the page's first row, from 1; count: 100 when left out; columns: names, all when left out
---@return std.dataset.Page? page  without rows when first is behind the end
---@return string? err
---@return string? id      not_found (of a sheet), query_failed (a column there is not), engine_failed, …
---@return table? fields
function Engine:rows(path, options)
  options = options or {}
  local view = options.view
  if view and view.released then
    error("the view was released", 2)
  end
  local message = {
    op = "rows", table = not view and options.table or nil, view = view and view.message.view,
    first = options.first or 1, count = options.count or 100, cellBytes = options.cellBytes or 2048,
    columns = options.columns and json.array { table.unpack(options.columns) },
  }
  local page, err, id, fields = ask_rows(self, path, message, options.raw)
  if not page and id == "not_found" and fields.reason == "view" then
    local made
    made, err, id, fields = build(view)
    if made then
      page, err, id, fields = ask_rows(self, path, message, options.raw)
    end
  end
  return page, err, id, fields
end

--- Ends the engines that are kept.
function Engine:close()
  self.closed = true
  for _, pool in ipairs { self.questions, self.pages } do
    for _, e in ipairs(pool.idle) do
      e:close()
    end
    pool.idle = {}
  end
end

return M
