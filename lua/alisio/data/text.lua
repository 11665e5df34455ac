--- What the model reads of a dataset: compact, complete enough to write a first query.
local json = require "std.json"
local text = require "std.text"
local words = require "alisio.kernel.words"

local M = {}

local MAX_COLUMNS = 60 -- of a table that are described; the names of the others are listed
local MAX_CELL = 60    -- columns of text a value takes
local TOP = 3

local function value(v)
  if v == nil or v == json.null then
    return "NULL"
  end
  return text.truncate(text.visible(tostring(v)), MAX_CELL)
end

local function top_values(column)
  local parts = {}
  for i = 1, math.min(TOP, #column.top) do
    local top = column.top[i]
    parts[i] = ("%s (%d)"):format(value(top.value), top.count)
  end
  return table.concat(parts, ", ")
end

local function column_line(column)
  local parts = { ("- %s: %s"):format(column.name, column.type) }
  local function add(format, ...)
    parts[#parts + 1] = format:format(...)
  end
  if column.label ~= column.name then
    add("label %q", value(column.label))
  end
  if column.nulls > 0 then
    add("%d nulls", column.nulls)
  end
  add("%s%d distinct", column.distinctExact and "" or "about ", column.distinct)
  if column.min ~= json.null and column.min ~= nil then
    add("%s to %s", value(column.min), value(column.max))
  end
  if column.mean ~= json.null and column.mean ~= nil then
    add("mean %.6g", column.mean)
  end
  if column.textFallbacks > 0 then
    add("%d cells kept as text", column.textFallbacks)
  end
  if #column.top > 0 then
    add("most: %s", top_values(column))
  end
  return table.concat(parts, "; ")
end

local function sheet_lines(sheet, out)
  out[#out + 1] = ("Table %s (%s), %d rows:"):format(sheet.table, value(sheet.name), sheet.rows)
  local rest = {}
  for i, column in ipairs(sheet.columns) do
    if i <= MAX_COLUMNS then
      out[#out + 1] = column_line(column)
    else
      rest[#rest + 1] = column.name
    end
  end
  if #rest > 0 then
    out[#out + 1] = ("- and %d more columns: %s"):format(#rest, text.cut(table.concat(rest, ", "), 4000))
  end
  for i, row in ipairs(sheet.sample) do
    local cells = {}
    for c = 1, math.min(#sheet.columns, MAX_COLUMNS) do
      cells[c] = value(row[c])
    end
    out[#out + 1] = ("row %d: %s"):format(i, table.concat(cells, " | "))
  end
end

--- A dataset in words for the model.
---@param described table  of alisio.data
---@return string
function M.describe(described)
  local kind = described.format
  if described.encoding and described.encoding ~= json.null and described.encoding ~= "utf-8" then
    kind = kind .. ", " .. described.encoding
  end
  if described.delimiter and described.delimiter ~= json.null then
    kind = kind .. (", delimiter %q"):format(described.delimiter == "\t" and "TAB" or described.delimiter)
  end
  local out = {
    ("Dataset %s of %s (%s)%s"):format(described.id, value(described.file), kind,
      described.reused and ", read before" or ""),
  }
  for _, sheet in ipairs(described.sheets) do
    sheet_lines(sheet, out)
  end
  for _, note in ipairs(described.notes) do
    out[#out + 1] = "Note: " .. words.note("en", note)
  end
  out[#out + 1] = "Column names are as in SQL; empty cells are NULL; a number column may hold texts that are no plain numbers."
  return table.concat(out, "\n")
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
  local shown = type(v) == "string" and v or tostring(v)
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
