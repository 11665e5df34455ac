--- What the model reads of a dataset: compact, complete enough to write a first query.
local json = require "std.json"
local text = require "std.text"
local words = require "alisio.kernel.words"

local M = {}

local MAX_BYTES = 20000 -- of a description

-- How much is said, until it fits: columns of text a value takes, most frequent values, columns of a
-- table that are described (the others are named), rows, tables that are described (the others are named).
local DETAILS = {
  { cell = 60, top = 3, columns = 80, rows = 5, sheets = 40 },
  { cell = 30, top = 2, columns = 80, rows = 3, sheets = 40 },
  { cell = 20, top = 1, columns = 60, rows = 2, sheets = 20 },
  { cell = 16, top = 1, columns = 40, rows = 1, sheets = 10 },
  { cell = 12, top = 0, columns = 20, rows = 0, sheets = 3 },
  { cell = 12, top = 0, columns = 5, rows = 0, sheets = 1 },
}
local NAMES_BYTES = 2000 -- of the columns of a table that are only named

local function value(v, detail)
  if v == nil or v == json.null then
    return "NULL"
  end
  local shown = math.type(v) == "float" and json.encode(v) or tostring(v)
  return text.truncate(text.visible(text.cut(shown, 8 * detail.cell)), detail.cell)
end

local function some(n, one, many)
  return ("%d %s"):format(n, n == 1 and one or many)
end

local function column_line(column, detail)
  local parts = { ("- %s: %s"):format(column.name, column.type) }
  local function add(format, ...)
    parts[#parts + 1] = format:format(...)
  end
  if column.label ~= column.name then
    add('label "%s"', value(column.label, detail))
  end
  if column.nulls > 0 then
    add("%s", some(column.nulls, "null", "nulls"))
  end
  add("%s%d distinct", column.distinctExact and "" or "about ", column.distinct)
  if column.min ~= json.null and column.min ~= nil then
    add("%s to %s", value(column.min, detail), value(column.max, detail))
  end
  if column.mean ~= json.null and column.mean ~= nil then
    add("mean %.6g", column.mean)
  end
  if column.textFallbacks > 0 then
    add("%s kept as text", some(column.textFallbacks, "cell", "cells"))
  end
  local top = {}
  for i = 1, math.min(detail.top, #column.top) do
    top[i] = ("%s (%s%d)"):format(value(column.top[i].value, detail), column.distinctExact and "" or "about ", column.top[i].count)
  end
  if #top > 0 then
    add("most: %s", table.concat(top, ", "))
  end
  return table.concat(parts, "; ")
end

local function sheet_lines(sheet, detail, out)
  local rest = {}
  for i, column in ipairs(sheet.columns) do
    if i <= detail.columns then
      out[#out + 1] = column_line(column, detail)
    else
      rest[#rest + 1] = column.name
    end
  end
  if #rest > 0 then
    local names = table.concat(rest, ", ")
    out[#out + 1] = ("- and %s: %s%s"):format(some(#rest, "more column", "more columns"), text.cut(names, NAMES_BYTES),
      #names > NAMES_BYTES and "…" or "")
  end
  for i = 1, math.min(#sheet.sample, detail.rows) do
    local cells = {}
    for c = 1, math.min(#sheet.columns, detail.columns) do
      cells[c] = value(sheet.sample[i][c], detail)
    end
    out[#out + 1] = ("row %d: %s%s"):format(i, table.concat(cells, " | "), #rest > 0 and " | …" or "")
  end
end

--- Which columns are estimates, where any are.
local function estimates(described, out)
  local loose = {}
  for _, sheet in ipairs(described.sheets) do
    for _, column in ipairs(sheet.columns) do
      if not column.distinctExact then
        loose[#loose + 1] = (#described.sheets > 1 and sheet.table .. "." or "") .. column.name
      end
    end
  end
  if #loose > 0 then
    local names = table.concat(loose, ", ")
    out[#out + 1] = ("Estimates (about 1 %%): the distinct and most frequent values of %s%s. All else is exact."):format(
      text.cut(names, NAMES_BYTES), #names > NAMES_BYTES and "…" or "")
  end
end

local function describe(described, detail)
  local kind = described.format
  if described.encoding and described.encoding ~= json.null and described.encoding ~= "utf-8" then
    kind = kind .. ", " .. described.encoding
  end
  if described.delimiter and described.delimiter ~= json.null then
    kind = kind .. (', delimiter "%s"'):format(described.delimiter == "\t" and "TAB" or text.visible(described.delimiter))
  end
  local out = {
    ("Dataset %s of %s (%s)%s"):format(described.id, text.truncate(text.visible(described.file), 200), kind,
      described.reused and ", read before" or ""),
  }
  for i, sheet in ipairs(described.sheets) do
    local head = ("Table %s (%s), %s, %s"):format(sheet.table, value(sheet.name, detail), some(sheet.rows, "row", "rows"),
      some(#sheet.columns, "column", "columns"))
    if i <= detail.sheets then
      out[#out + 1] = head .. ":"
      sheet_lines(sheet, detail, out)
    else
      out[#out + 1] = head
    end
  end
  estimates(described, out)
  for _, note in ipairs(described.notes) do
    if note.id ~= "distinct_estimated" then
      out[#out + 1] = "Note: " .. text.cut(text.visible(words.note("en", note)), 500)
    end
  end
  return table.concat(out, "\n")
end

--- A dataset in words for the model: as much as fits into 20,000 bytes, whatever the file holds.
---@param described table  of alisio.data
---@return string
function M.describe(described)
  local said
  for _, detail in ipairs(DETAILS) do
    said = describe(described, detail)
    if #said <= MAX_BYTES then
      break
    end
  end
  if #said > MAX_BYTES then -- thousands of tables
    said = text.cut(said, MAX_BYTES):gsub("\n[^\n]*$", "")
      .. "\nand more that does not fit here: ask data_query for _alisio_sheets and _alisio_columns."
  end
  return said .. "\nColumn names are as in SQL; empty cells are NULL; a number column may hold texts that are no plain numbers."
end

--- The columns of every table as one table for faces and rules.
---@param described table
---@return { columns: string[], types: string[], rows: any[][], truncated: boolean }
function M.columns(described)
  local rows = json.array()
  for _, sheet in ipairs(described.sheets) do
    for _, c in ipairs(sheet.columns) do
      local top = {}
      for i, t in ipairs(c.top) do
        top[i] = t.value
      end
      rows[#rows + 1] = json.array {
        sheet.table, c.name, c.label, c.type, sheet.rows, c.nulls, c.distinct,
        c.min == nil and json.null or c.min, c.max == nil and json.null or c.max,
        c.mean == nil and json.null or c.mean, c.textFallbacks, table.concat(top, ", "),
      }
    end
  end
  return {
    columns = { "table", "name", "label", "type", "rows", "nulls", "distinct", "min", "max", "mean", "textFallbacks", "top" },
    types = { "text", "text", "text", "text", "integer", "integer", "integer", "text", "text", "real", "integer", "text" },
    rows = rows,
    truncated = false,
  }
end

local function cell_text(v)
  if v == nil or v == json.null then
    return ""
  end
  local shown = math.type(v) == "float" and json.encode(v) or tostring(v)
  return (shown:gsub("[|\r\n]", { ["|"] = "\\|", ["\n"] = " ", ["\r"] = " " }))
end

--- An answer as a Markdown table.
---@param answer { columns: string[], rows: table[], truncated: boolean }
---@param max_bytes? integer  rows beyond it are left out, and that is said
---@return string
function M.answer(answer, max_bytes)
  local heads, rules = {}, {}
  for i, name in ipairs(answer.columns) do
    heads[i], rules[i] = cell_text(name), "---"
  end
  local out = { "| " .. table.concat(heads, " | ") .. " |", "|" .. table.concat(rules, "|") .. "|" }
  local bytes, shown = 0, 0
  for _, row in ipairs(answer.rows) do
    local cells = {}
    for i = 1, #answer.columns do
      cells[i] = cell_text(row[i])
    end
    local line = "| " .. table.concat(cells, " | ") .. " |"
    bytes = bytes + #line + 1
    if max_bytes and bytes > max_bytes then
      break
    end
    shown = shown + 1
    out[#out + 1] = line
  end
  if answer.truncated or shown < #answer.rows then
    out[#out + 1] = ("(the first %d rows; there are more)"):format(shown)
  else
    out[#out + 1] = ("(%d row%s)"):format(shown, shown == 1 and "" or "s")
  end
  return table.concat(out, "\n")
end

return M
