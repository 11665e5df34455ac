--- Where the table view takes what it shows from: rows by their position, views, whole cells, and the
--- next cell that holds a text.
local cells = require "alisio.ui.cli.lib.cells"
local distribution = require "alisio.data.distribution"
local sql = require "alisio.data.sql"

local M = {}

local SLICE = 250000     -- rows that one statement searches
local GROUP = 100        -- columns of one statement
local SEARCH_MS = 60000  -- of one statement; whoever waits can stop it
local SCAN = 500         -- rows of a view that are looked through at a time
local WHOLE = 1 << 20    -- bytes: no cell is longer

local Source = {}
Source.__index = Source

--- The source of a dataset.
---@param data alisio.Data
---@param id string
---@return table
function M.new(data, id)
  return setmetatable({ data = data, id = id }, Source)
end

--- Rows of a sheet, or of a view of it.
---@async
---@param sheet table  of a description
---@param want { first: integer, count: integer, columns: string[], view: table?, cellBytes: integer }
---@return { rows: any[][], numbers: integer[] }?
---@return string? err
---@return string? id
---@return table? fields
function Source:rows(sheet, want)
  return self.data:rows(self.id, {
    sheet = sheet.table, first = want.first, count = want.count, columns = want.columns, view = want.view,
    cellBytes = want.cellBytes,
  })
end

--- A filter of the view as the engine takes it.
---@param column string
---@param filter { op: string, value: any }
---@return table condition
function M.condition(column, filter)
  local value = filter.value
  local how = {
    equals = { eq = value }, empty = { null = true }, filled = { null = false }, contains = { contains = value },
    least = { range = { ge = value } }, most = { range = { le = value } },
    above = { range = { gt = value } }, below = { range = { lt = value } },
  }
  local condition = how[filter.op]
  condition.column = column
  return condition
end

--- Sorts and filters a sheet.
---@async
---@param sheet table
---@param sort { column: integer, descending: boolean }?
---@param filters table<integer, table>  by column
---@param on_progress fun(done: integer, total: integer)
---@return table? view  to be released
---@return string? err
---@return string? id
---@return table? fields
function Source:view(sheet, sort, filters, on_progress)
  local conditions = {}
  for c, filter in pairs(filters) do
    conditions[#conditions + 1] = M.condition(sheet.columns[c].name, filter)
  end
  return self.data:view(self.id, {
    sheet = sheet.table,
    sort = sort and { { column = sheet.columns[sort.column].name, descending = sort.descending } },
    filter = #conditions > 0 and conditions or nil,
    on_progress = function(step)
      on_progress(step.bytes, step.total)
    end,
  })
end

--- One cell, whole.
---@async
---@param sheet table
---@param view table?
---@param position integer
---@param name string  of the column
---@return { value: any }?
---@return string? err
---@return string? id
---@return table? fields
function Source:whole(sheet, view, position, name)
  local got, err, id, fields = self:rows(sheet, {
    first = position, count = 1, columns = { name }, view = view, cellBytes = WHOLE,
  })
  if not got then
    return nil, err, id, fields
  end
  return { value = got.rows[1] and got.rows[1][1] }
end

--- How the columns' values are spread: see alisio.data.distribution.
---@async
function Source:spread(sheet)
  return distribution.of(self.data, self.id, sheet)
end

--- Whether a value holds a text; capitals of ASCII do not matter, as in SQLite's LIKE.
---@param value any
---@param wanted string  in lower case
---@return boolean
function Source.holds(value, wanted)
  local shown = type(value) == "string" and value or value ~= nil and cells.show(value) or ""
  return shown:lower():find(wanted, 1, true) ~= nil
end

--- The first row that holds a text among those from one number to another, in that direction.
local function search_sheet(self, sheet, from, to, wanted)
  local down = from <= to
  local pattern = sql.text("%" .. wanted:gsub("[\\%%_]", "\\%0") .. "%")
  local found
  for group = 1, #sheet.columns, GROUP do
    local tests = {}
    for c = group, math.min(#sheet.columns, group + GROUP - 1) do
      tests[#tests + 1] = ("%s LIKE %s ESCAPE '\\'"):format(sql.name(sheet.columns[c].name), pattern)
    end
    local statement = ("SELECT rowid FROM %s WHERE rowid BETWEEN %d AND %d AND (%s) ORDER BY rowid %s LIMIT 1"):format(
      sql.name(sheet.table), math.min(from, to), math.max(from, to), table.concat(tests, " OR "), down and "" or "DESC")
    local answer, err, id, fields = self.data:query(self.id, statement, { maxRows = 1, timeoutMs = SEARCH_MS })
    if not answer then
      return nil, err, id, fields
    end
    local row = answer.rows[1] and answer.rows[1][1]
    if row and (not found or down and row < found or not down and row > found) then
      found = row
    end
  end
  return found or false
end

--- The same in a view, whose rows are looked through.
local function search_view(self, sheet, view, from, to, wanted)
  local names = {}
  for i, column in ipairs(sheet.columns) do
    names[i] = column.name
  end
  local first = math.min(from, to)
  local got, err, id, fields = self:rows(sheet, {
    first = first, count = math.abs(to - from) + 1, columns = names, view = view, cellBytes = 1 << 16,
  })
  if not got then
    return nil, err, id, fields
  end
  for position = from, to, from <= to and 1 or -1 do
    local row = got.rows[position - first + 1]
    for c = 1, row and #names or 0 do
      if Source.holds(row[c], wanted) then
        return position
      end
    end
  end
  return false
end

--- The next position that holds a text, in one direction, up to the end of the rows.
---@async
---@param sheet table
---@param view table?
---@param from integer     position to begin with
---@param to integer       position to end with
---@param wanted string    in lower case
---@param on_progress fun(done: integer, total: integer)
---@return integer|false|nil position  false: there is none
---@return string? err
---@return string? id
---@return table? fields
function Source:search(sheet, view, from, to, wanted, on_progress)
  local step = from <= to and 1 or -1
  local many = (view and SCAN or SLICE) - 1
  local total = math.abs(to - from) + 1
  for at = from, to, step * (many + 1) do
    local till = step > 0 and math.min(to, at + many) or math.max(to, at - many)
    local found, err, id, fields
    if view then
      found, err, id, fields = search_view(self, sheet, view, at, till, wanted)
    else
      found, err, id, fields = search_sheet(self, sheet, at, till, wanted)
    end
    if found ~= false then
      return found, err, id, fields
    end
    on_progress(math.abs(till - from) + 1, total)
  end
  return false
end

return M
