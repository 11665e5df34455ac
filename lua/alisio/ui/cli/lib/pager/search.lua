--- Finds the next row that holds a text: in a sheet by statements over slices of it; in a view by looking
--- through its rows, or, where these are many, by finding the rows of the sheet that hold the text and
--- then their places in the order of the view.
local cells = require "alisio.ui.cli.lib.cells"
local sql = require "alisio.data.sql"

local M = {}

local SLICE = 250000    -- rows that one statement searches
local GROUP = 100       -- columns of one statement
local TIME_MS = 60000   -- of one statement; whoever waits can stop it
local SCAN = 500        -- rows of a view that are looked through at a time
local LARGE = 20000     -- rows from which their places are looked up instead
local MATCHES = 100000  -- that are kept; a text in more rows is met soon by looking through them
local ANSWER = 1000     -- rows of one answer
local KEY_BYTES = 4096  -- of what a view is sorted by

--- Whether a value holds a text; capitals of ASCII do not matter, as in SQLite's LIKE.
---@param value any
---@param wanted string  in lower case
---@return boolean
function M.holds(value, wanted)
  local shown = type(value) == "string" and value or value ~= nil and cells.show(value) or ""
  return shown:lower():find(wanted, 1, true) ~= nil
end

local function answer(source, ...)
  return source.data:query(source.id, string.format(...), { maxRows = ANSWER, timeoutMs = TIME_MS, cellBytes = KEY_BYTES })
end

--- The columns of a sheet in groups, each as the test whether one of them holds a text.
local function tests_of(sheet, wanted)
  local pattern = sql.text("%" .. wanted:gsub("[\\%%_]", "\\%0") .. "%")
  local groups = {}
  for first = 1, #sheet.columns, GROUP do
    local tests = {}
    for c = first, math.min(#sheet.columns, first + GROUP - 1) do
      tests[#tests + 1] = ("%s LIKE %s ESCAPE '\\'"):format(sql.name(sheet.columns[c].name), pattern)
    end
    groups[#groups + 1] = table.concat(tests, " OR ")
  end
  return groups
end

--- The first row that holds a text among those from one number to another, in that direction.
local function in_sheet(source, sheet, from, to, wanted)
  local down, found = from <= to, nil
  for _, test in ipairs(tests_of(sheet, wanted)) do
    local got, err, id, fields = answer(source, "SELECT rowid FROM %s WHERE rowid BETWEEN %d AND %d AND (%s) ORDER BY rowid %s LIMIT 1",
      sql.name(sheet.table), math.min(from, to), math.max(from, to), test, down and "" or "DESC")
    if not got then
      return nil, err, id, fields
    end
    local row = got.rows[1] and got.rows[1][1]
    if row and (not found or down and row < found or not down and row > found) then
      found = row
    end
  end
  return found or false
end

--- The same in a view, whose rows are looked through.
local function in_rows(source, sheet, from, to, wanted, view)
  local names = {}
  for i, column in ipairs(sheet.columns) do
    names[i] = column.name
  end
  local first = math.min(from, to)
  local got, err, id, fields = source:rows(sheet, {
    first = first, count = math.abs(to - from) + 1, columns = names, view = view, cellBytes = 1 << 16,
  })
  if not got then
    return nil, err, id, fields
  end
  for position = from, to, from <= to and 1 or -1 do
    local row = got.rows[position - first + 1]
    for c = 1, row and #names or 0 do
      if M.holds(row[c], wanted) then
        return position
      end
    end
  end
  return false
end

local RANK = { ["nil"] = 0, number = 1, string = 2 }

--- Whether one row comes before another, as SQLite orders their keys; then by their numbers.
---@param a { key: any, number: integer }
---@param b { key: any, number: integer }
---@param descending boolean?
---@return boolean
function M.before(a, b, descending)
  local x, y = a.key, b.key
  if descending then
    x, y = y, x
  end
  local left, right = RANK[type(x)], RANK[type(y)]
  if left ~= right then
    return left < right
  elseif x ~= y then
    return x < y -- texts by their bytes: the program keeps the C locale
  end
  return a.number < b.number
end

--- All rows of the sheet that hold a text, in the order of a view; false where they are too many.
local function matches_of(source, sheet, sort, wanted, on_progress)
  local key = sort and sql.name(sheet.columns[sort.column].name) or "NULL"
  local list, seen = {}, {}
  local tests = tests_of(sheet, wanted)
  for first = 1, sheet.rows, SLICE do
    local last = math.min(sheet.rows, first + SLICE - 1)
    for _, test in ipairs(tests) do
      local full
      local from = first
      repeat
        local got, err, id, fields = answer(source,
          "SELECT rowid, %s FROM %s WHERE rowid BETWEEN %d AND %d AND (%s) ORDER BY rowid LIMIT %d", key,
          sql.name(sheet.table), from, last, test, ANSWER)
        if not got then
          return nil, err, id, fields
        end
        for _, row in ipairs(got.rows) do
          if not seen[row[1]] then
            seen[row[1]] = true
            list[#list + 1] = { number = row[1], key = row[2] }
          end
        end
        if #list > MATCHES then
          return false
        end
        full = #got.rows == ANSWER
        from = full and got.rows[ANSWER][1] + 1 or last
      until not full
    end
    on_progress(last, sheet.rows)
  end
  table.sort(list, function(a, b)
    return M.before(a, b, sort and sort.descending)
  end)
  return list
end

--- The row at a position of a view, with what the view is sorted by.
local function row_at(source, sheet, arranged, position)
  local column = sheet.columns[arranged.sort and arranged.sort.column or 1].name
  local got, err, id, fields = source:rows(sheet, {
    first = position, count = 1, columns = { column }, view = arranged.view, cellBytes = KEY_BYTES,
  })
  if not got then
    return nil, err, id, fields
  end
  return { number = got.numbers[1], key = arranged.sort and got.rows[1][1] or nil }
end

--- The position of a row between two others of a view; false where the view does not let it through.
local function place_of(source, sheet, arranged, low, high, wanted)
  while low <= high do
    local middle = (low + high) // 2
    local row, err, id, fields = row_at(source, sheet, arranged, middle)
    if not row then
      return nil, err, id, fields
    elseif row.number == wanted.number then
      return middle
    elseif M.before(row, wanted, arranged.sort and arranged.sort.descending) then
      low = middle + 1
    else
      high = middle - 1
    end
  end
  return false
end

--- The next of the matches in the order of a view.
local function in_matches(source, sheet, arranged, from, to, list)
  local step, descending = from <= to and 1 or -1, arranged.sort and arranged.sort.descending
  local first, err, id, fields = row_at(source, sheet, arranged, from)
  local last
  if first then
    last, err, id, fields = row_at(source, sheet, arranged, to)
  end
  if not last then
    return nil, err, id, fields
  end
  local low, high = 1, #list -- the first match that is not before the row to begin with
  while low <= high do
    local middle = (low + high) // 2
    if M.before(list[middle], first, descending) then
      low = middle + 1
    else
      high = middle - 1
    end
  end
  if step < 0 and not (list[low] and list[low].number == first.number) then
    low = low - 1
  end
  while list[low] do
    local ahead, behind = last, list[low]
    if step < 0 then
      ahead, behind = behind, ahead
    end
    if M.before(ahead, behind, descending) then
      return false
    end
    local place
    place, err, id, fields = place_of(source, sheet, arranged, math.min(from, to), math.max(from, to), list[low])
    if place ~= false then
      return place, err, id, fields
    end
    low = low + step
  end
  return false
end

--- Looks through rows part by part.
local function walk(look, size, from, to, on_progress)
  local step = from <= to and 1 or -1
  for at = from, to, step * size do
    local till = step > 0 and math.min(to, at + size - 1) or math.max(to, at - size + 1)
    local found, err, id, fields = look(at, till)
    if found ~= false then
      return found, err, id, fields
    end
    on_progress(math.abs(till - from) + 1, math.abs(to - from) + 1)
  end
  return false
end

--- The next position that holds a text: see Source:search.
---@async
---@param source table
---@param sheet table
---@param arranged { view: table?, sort: table? }
---@param from integer
---@param to integer
---@param wanted string
---@param on_progress fun(done: integer, total: integer)
---@return integer|false|nil position
---@return string? err
---@return string? id
---@return table? fields
function M.next(source, sheet, arranged, from, to, wanted, on_progress)
  local function rows(at, till)
    return in_rows(source, sheet, at, till, wanted, arranged.view)
  end
  if not arranged.view then
    return walk(function(at, till)
      return in_sheet(source, sheet, at, till, wanted)
    end, SLICE, from, to, on_progress)
  elseif math.abs(to - from) < LARGE then
    return walk(rows, SCAN, from, to, on_progress)
  end
  local step = from <= to and 1 or -1
  local near = from + step * (2 * SCAN - 1)
  local found, err, id, fields = walk(rows, SCAN, from, near, on_progress)
  if found ~= false then
    return found, err, id, fields
  end
  local known = source.known
  if not known or known.sheet ~= sheet or known.sort ~= arranged.sort or known.wanted ~= wanted then
    local list
    list, err, id, fields = matches_of(source, sheet, arranged.sort, wanted, on_progress)
    if list == nil then
      return nil, err, id, fields
    end
    known = { sheet = sheet, sort = arranged.sort, wanted = wanted, list = list }
    source.known = known
  end
  if not known.list then
    return walk(rows, SCAN, near + step, to, on_progress)
  end
  return in_matches(source, sheet, arranged, near + step, to, known.list)
end

return M
