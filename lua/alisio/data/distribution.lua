--- How the values of a sheet's numbers and dates are spread over equal parts of their range, from
--- evenly spaced rows where the sheet is large, so that it takes no longer than a small one.
local sql = require "alisio.data.sql"

local M = {}

local CELLS = 24 -- many widths divide it
local MOST_COLUMNS = 40
local MOST_ROWS = 16000
local RUN = 16             -- rows side by side: they share a page of the file
local MOST_VALUES = 300000 -- looked at in all
local TIME_MS = 1000

--- Days from one date to another; nil where either is more than a date.
local function days_between(from, to)
  local function days(date)
    local year, month, day = date:match "^(%d%d%d%d)%-(%d%d)%-(%d%d)$"
    if not year then
      return nil
    end
    month = (tonumber(month) + 9) % 12 -- from March on, so that a leap day is a year's last
    year = tonumber(year) - month // 10
    return 365 * year + year // 4 - year // 100 + year // 400 + (month * 306 + 5) // 10 + tonumber(day)
  end
  local first, last = days(from), days(to)
  return first and last and last - first
end

--- Parts of a range of whole numbers or days, as many of them in each, else some parts would look fuller:
--- how many parts, how much of the last the range covers, and the span of all.
local function even_parts(span)
  local values = span + 1
  local each = math.ceil(values / CELLS)
  local parts = math.ceil(values / each)
  return parts, (values - (parts - 1) * each) / each, each * parts + 0.0
end

--- How a column's range is cut: its values' place in it as SQL, from 0 to 1, in how many parts, and how
--- much of the last part the range covers. Nothing where there is no range.
local function cut(column)
  local name = "rows." .. sql.name(column.name)
  if column.type == "date" and column.min ~= column.max then
    local low, high = ("julianday(%s)"):format(sql.text(column.min)), ("julianday(%s)"):format(sql.text(column.max))
    local days = days_between(column.min, column.max)
    if days and days > 0 then
      local parts, last, span = even_parts(days)
      return ("(julianday(%s) - %s) / %.17e"):format(name, low, span), parts, last
    end
    return ("(julianday(%s) - %s) / (%s - %s)"):format(name, low, high, low), CELLS, 1
  elseif column.type ~= "integer" and column.type ~= "real" then
    return nil
  end
  local low, high = tonumber(column.min), tonumber(column.max)
  local span, parts, last = low and high and high - low + 0.0, CELLS, 1
  if column.type == "integer" and math.type(low) == "integer" and math.type(high) == "integer" and span and span > 0 then
    parts, last, span = even_parts(span)
  end
  if not span or span <= 0 or span == math.huge then
    return nil
  end
  return ("CASE WHEN typeof(%s) IN ('integer','real') THEN (%s - %.17g) / %.17e END"):format(name, name, low, span), parts, last
end

local function zeros(n)
  local list = {}
  for i = 1, n do
    list[i] = 0
  end
  return list
end

--- How often the most frequent values of a text or boolean column come, where they say something of it:
--- where the column repeats itself.
---@param column table  of a description
---@param rows integer  of its sheet
---@return { ranked: true }? shares  a list, the most frequent first
function M.shares(column, rows)
  local shares, sum = { ranked = true }, 0
  for i, top in ipairs(column.top) do
    shares[i] = top.count
    sum = sum + top.count
  end
  if (column.type == "text" or column.type == "boolean") and #shares > 1 and sum * 10 >= rows and column.distinct < rows then
    return shares
  end
end

--- The spread of the columns that have a range.
---@async
---@param data alisio.Data
---@param id string      of a dataset
---@param sheet table    of its description
---@param ms? integer    time it may take, 1000 when left out
---@return { heights: table<integer, number[]>, rows: integer }? spread  heights: by the column's place, how many
---   values lie in each of at most 24 equal parts; rows: how many rows were looked at
---@return string? err
---@return string? id
---@return table? fields
function M.of(data, id, sheet, ms)
  local cuts, names, parts = {}, {}, {}
  for place, column in ipairs(sheet.columns) do
    local where, cells, last
    if #cuts < MOST_COLUMNS then
      where, cells, last = cut(column)
    end
    if where then
      local n = #cuts + 1
      cuts[n] = { place = place, cells = cells, last = last }
      names[n] = ("%s AS s%d"):format(where, n)
      parts[n] = ([[SELECT %d, min(%d, CAST(s%d * %d AS INTEGER)) AS cell, count(*) FROM spread
        WHERE s%d BETWEEN 0 AND 1 GROUP BY cell]]):format(n, cells - 1, n, cells, n)
    end
  end
  if #cuts == 0 then
    return { heights = {}, rows = 0 }
  end
  local most = math.min(MOST_ROWS, MOST_VALUES // #cuts)
  local step = math.max(RUN, math.ceil(sheet.rows / most * RUN))
  local answer, err, code, fields = data:query(id, ([[
    WITH RECURSIVE step(n) AS (SELECT 1 UNION ALL SELECT n + %d FROM step WHERE n + %d <= %d),
      spread AS MATERIALIZED (SELECT %s FROM step CROSS JOIN %s AS rows ON rows.rowid BETWEEN step.n AND step.n + %d)
    ]]):format(step, step, sheet.rows, table.concat(names, ", "), sql.name(sheet.table), RUN - 1)
    .. table.concat(parts, " UNION ALL "), { maxRows = CELLS * MOST_COLUMNS, timeoutMs = ms or TIME_MS })
  if not answer then
    return nil, err, code, fields
  end
  local heights = {}
  for _, row in ipairs(answer.rows) do
    local one = cuts[row[1]]
    heights[one.place] = heights[one.place] or zeros(one.cells)
    heights[one.place][row[2] + 1] = row[3] / (row[2] + 1 == one.cells and one.last or 1)
  end
  local last = (sheet.rows - 1) // step -- runs before the last, which may be shorter
  return { heights = heights, rows = last * RUN + math.min(RUN, sheet.rows - last * step) }
end

return M
