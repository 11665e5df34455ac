--- Where the table view takes what it shows from: rows by their position, views, whole cells, how the
--- columns are spread, and the next row that holds a text.
local distribution = require "alisio.data.distribution"
local search = require "alisio.ui.cli.lib.pager.search"

local M = {}

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

Source.holds = search.holds

--- The next position that holds a text, in one direction, up to the end of the rows.
---@async
---@param sheet table
---@param arranged { view: table?, sort: table? }  what is looked through: the sheet, or a view of it
---@param from integer     position to begin with
---@param to integer       position to end with
---@param wanted string    in lower case
---@param on_progress fun(done: integer, total: integer)
---@return integer|false|nil position  false: there is none
---@return string? err
---@return string? id
---@return table? fields
function Source:search(sheet, arranged, from, to, wanted, on_progress)
  return search.next(self, sheet, arranged, from, to, wanted, on_progress)
end

return M
