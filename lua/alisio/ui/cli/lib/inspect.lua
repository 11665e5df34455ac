--- What is known of a dataset, drawn for the width of a terminal: a line a column with its histogram,
--- the most frequent values as bars, the first rows, and what was odd about the file.
local json = require "std.json"
local term = require "std.term"
local text = require "std.text"
local words = require "alisio.kernel.words"
local distribution = require "alisio.data.distribution"
local blocks = require "alisio.ui.cli.lib.blocks"
local cells = require "alisio.ui.cli.lib.cells"
local counts = require "alisio.ui.cli.lib.counts"
local pick = require("alisio.ui.cli.lib.text").pick
local row_lines = require "alisio.ui.cli.lib.rows"

local M = {}

local LEFT, GAP = 2, 2
local NAME_MOST, NAME_LEAST = 28, 10
local RANGE_LEAST = 17  -- two short values
local SPREAD = 12       -- cells of a histogram
local VALUE_MOST, VALUE_LEAST = 24, 8
local BARS = 16         -- columns of values that are drawn
local SIDE_BY_SIDE = 76 -- columns of text a block of bars takes at most

local said = {
  column = { en = "column", es = "columna" },
  type = { en = "type", es = "tipo" },
  empty = { en = "empty", es = "vacías" },
  distinct = { en = "distinct", es = "distintos" },
  spread = { en = "spread", es = "reparto" },
  range = { en = "from – to", es = "de – a" },
  mean = { en = "mean", es = "media" },
  frequent = { en = "Most frequent", es = "Más frecuentes" },
  first = { en = "First rows", es = "Primeras filas" },
  rows = counts.rows,
  columns = counts.columns,
  more_bars = {
    one = { en = "and {count} more column that repeats its values", es = "y {count} columna más que repite sus valores" },
    other = { en = "and {count} more columns that repeat their values", es = "y {count} columnas más que repiten sus valores" },
  },
  sampled = {
    en = "The histograms are of {count} rows, evenly spread.",
    es = "Los histogramas son de {count} filas, repartidas por igual.",
  },
  fallbacks = {
    one = { en = "{name}: {count} cell kept as text", es = "{name}: {count} celda guardada como texto" },
    other = { en = "{name}: {count} cells kept as text", es = "{name}: {count} celdas guardadas como texto" },
  },
  all_exact = { en = "All figures are exact.", es = "Todas las cifras son exactas." },
  none_exact = {
    en = "~ is an estimate, about 1 %: no column's distinct and most frequent values are exact.",
    es = "~ es una estimación, de un 1 %: ninguna columna tiene exactos los distintos y los más frecuentes.",
  },
  some_exact = {
    en = "~ is an estimate, about 1 %. Exact are the distinct and most frequent values of {names}.",
    es = "~ es una estimación, de un 1 %. Son exactos los distintos y los más frecuentes de {names}.",
  },
  delimiter = { en = "delimiter {c}", es = "delimitador {c}" },
  reused = { en = "read before", es = "leído antes" },
}

local Page = {}
Page.__index = Page

function Page:t(key, fields)
  return pick(said[key], self.locale, fields)
end

function Page:count(key, n, fields)
  fields = fields or {}
  fields.count = words.number(self.locale, n)
  local entry = said[key]
  return pick(n == 1 and entry.one or entry.other, self.locale, fields)
end

function Page:paint(s, role)
  return self.color and term.style(s, role) or s
end

function Page:add(line)
  self[#self + 1] = (line or ""):gsub(" +$", "")
end

--- Words in lines of the page's width.
function Page:prose(said_words, mark)
  local indent = (" "):rep(LEFT) .. (mark and self:paint(mark, "waiting") .. " " or "")
  for i, line in ipairs(text.wrap(said_words, self.width - LEFT - (mark and 2 or 0))) do
    self:add((i == 1 and indent or (" "):rep(LEFT + (mark and 2 or 0))) .. line)
  end
end

local function pad(s, width, right)
  local room = (" "):rep(math.max(0, width - text.width(s)))
  return right and room .. s or s .. room
end

local function given(value)
  return value ~= nil and value ~= json.null
end

--- The least and the greatest value in a number of columns; both keep their beginning.
local function range(column, width)
  if not given(column.min) then
    return ""
  end
  local low, high = cells.show(column.min), cells.show(column.max)
  if column.min == column.max then
    return text.truncate(low, width)
  elseif text.width(low) + 3 + text.width(high) > width then
    local half = (width - 3) // 2
    local short = math.min(text.width(low), text.width(high))
    local room = math.max(half, width - 3 - short)
    low = text.truncate(low, text.width(low) <= half and half or room)
    high = text.truncate(high, width - 3 - text.width(low))
  end
  return low .. " – " .. high
end

--- The fields of one column as text, and how much room each wants.
local function fields_of(page, column)
  local plain = (column.distinctExact and "" or "~") .. words.number(page.locale, column.distinct)
  return {
    name = cells.text(column.name), type = cells.text(column.type), empty = words.number(page.locale, column.nulls), distinct = plain,
    mean = given(column.mean) and ("%.6g"):format(column.mean) or "",
  }
end

--- Chooses the fields that fit, and their widths.
local function fit(page, sheet, rows, drawn)
  local width = {}
  for _, key in ipairs { "name", "type", "empty", "distinct", "mean" } do
    width[key] = text.width(page:t(key == "name" and "column" or key))
    for _, row in ipairs(rows) do
      width[key] = math.max(width[key], text.width(row[key]))
    end
  end
  width.name = math.min(width.name, NAME_MOST)
  width.spread = drawn and SPREAD or nil
  width.range = text.width(page:t "range")
  for _, column in ipairs(sheet.columns) do
    width.range = math.max(width.range, text.width(range(column, 60)))
  end
  local order = { "name", "type", "empty", "distinct", "spread", "range", "mean" }
  local function over()
    local sum = LEFT - GAP
    for _, key in ipairs(order) do
      sum = sum + (width[key] and width[key] + GAP or 0)
    end
    return sum - page.width
  end
  local function give(key, least)
    local much = over()
    if much > 0 and width[key] then
      width[key] = math.max(math.min(width[key], least), width[key] - much)
    end
  end
  give("range", 25)
  if over() > 0 then
    width.mean = nil
  end
  if over() > 0 and width.spread then
    width.spread = 8
  end
  give("range", RANGE_LEAST)
  give("name", NAME_LEAST)
  for _, key in ipairs { "spread", "type", "empty", "range", "distinct" } do
    if over() > 0 then
      width[key] = nil
    end
  end
  return width, order
end

local RIGHT = { empty = true, distinct = true, mean = true }

local function print_columns(page, sheet, heights)
  local rows, drawn = {}, false
  for i, column in ipairs(sheet.columns) do
    rows[i] = fields_of(page, column)
    local spread = page.utf8 and page.draws and (heights[i] or distribution.shares(column, sheet.rows)) or nil
    rows[i].heights, drawn = spread, drawn or spread ~= nil
  end
  local width, order = fit(page, sheet, rows, drawn)
  local head, total = {}, 0
  for _, key in ipairs(order) do
    if width[key] then
      head[#head + 1] = pad(page:t(key == "name" and "column" or key), width[key], RIGHT[key])
      total = total + width[key] + GAP
    end
  end
  page:add((" "):rep(LEFT) .. page:paint(table.concat(head, (" "):rep(GAP)):gsub(" +$", ""), "quiet"))
  page:add((" "):rep(LEFT) .. page:paint((page.utf8 and "─" or "-"):rep(total - GAP), "quiet"))
  for i, row in ipairs(rows) do
    local line = {}
    for _, key in ipairs(order) do
      local shown, role = row[key], "quiet"
      if key == "name" then
        role = "strong"
      elseif key == "spread" then
        shown, role = row.heights and blocks.columns(row.heights, width.spread or SPREAD) or "", "accent"
      elseif key == "range" then
        shown = width.range and range(sheet.columns[i], width.range)
        role = "text"
      elseif key == "distinct" or key == "empty" and sheet.columns[i].nulls > 0 then
        role = "text"
      end
      if width[key] then
        shown = key == "name" and cells.middle(shown, width[key]) or text.truncate(shown, width[key])
        line[#line + 1] = page:paint(pad(shown, width[key], RIGHT[key]), role)
      end
    end
    page:add((" "):rep(LEFT) .. table.concat(line, (" "):rep(GAP)))
  end
end

--- The lines of one column's most frequent values.
local function bar_lines(page, column, rows, width, name_width, count_width)
  local out, most = {}, column.top[1].count
  local value_width = VALUE_LEAST
  for _, top in ipairs(column.top) do
    value_width = math.max(value_width, math.min(VALUE_MOST, width // 4, text.width(cells.show(top.value))))
  end
  local bar_width = width - name_width - value_width - (count_width + 1) - 7 - 4 * GAP
  for i, top in ipairs(column.top) do
    local name = i == 1 and cells.middle(cells.text(column.name), name_width) or ""
    local parts = {
      page:paint(pad(name, name_width), "strong"), pad(text.truncate(cells.show(top.value), value_width), value_width),
    }
    if page.draws and bar_width >= 4 then
      parts[3] = page:paint(pad(blocks.bar(top.count, most, bar_width, page.utf8), bar_width), "accent")
    end
    local percent = words.percent(page.locale, top.count / math.max(1, rows))
    parts[#parts + 1] = pad((column.distinctExact and "" or "~") .. words.number(page.locale, top.count), count_width + 1, true)
    parts[#parts + 1] = page:paint(pad(percent, 7, true), "quiet")
    out[i] = table.concat(parts, (" "):rep(GAP))
  end
  return out
end

local function print_bars(page, sheet)
  local list, rest = {}, 0
  for _, column in ipairs(sheet.columns) do
    if distribution.shares(column, sheet.rows) then
      if #list < BARS then
        list[#list + 1] = column
      else
        rest = rest + 1
      end
    end
  end
  if #list == 0 then
    return
  end
  page:add()
  page:add((" "):rep(LEFT) .. page:paint(page:t "frequent", "quiet"))
  local room, name, count = page.width - LEFT, 0, 0
  for _, column in ipairs(list) do
    name = math.max(name, text.width(cells.text(column.name)))
    count = math.max(count, #words.number(page.locale, column.top[1].count))
  end
  local beside = room >= 2 * 56 + 4 and 2 or 1
  local each = math.min(SIDE_BY_SIDE, (room - (beside - 1) * 4) // beside)
  for i = 1, #list, beside do
    local parts, longest = {}, 0
    for k = 1, beside do
      parts[k] = list[i + k - 1] and bar_lines(page, list[i + k - 1], sheet.rows, each, math.min(name, each // 4), count) or {}
      longest = math.max(longest, #parts[k])
    end
    for n = 1, longest do
      local line = {}
      for k = 1, beside do
        line[k] = pad(parts[k][n] or "", each)
      end
      page:add((" "):rep(LEFT) .. table.concat(line, "    "))
    end
    if i + beside <= #list then
      page:add()
    end
  end
  if rest > 0 then
    page:prose(page:paint(page:count("more_bars", rest), "quiet"))
  end
end

local function print_rows(page, sheet)
  local names = {}
  for c, column in ipairs(sheet.columns) do
    names[c] = column.name
  end
  for _, line in ipairs(row_lines.lines(names, sheet.sample, { width = page.width - LEFT, locale = page.locale, color = page.color })) do
    page:add((" "):rep(LEFT) .. line)
  end
end

local function print_exactness(page, sheets)
  local exact, all = {}, true
  for _, sheet in ipairs(sheets) do
    for _, column in ipairs(sheet.columns) do
      if column.distinctExact then
        exact[#exact + 1] = (#sheets > 1 and cells.text(sheet.table) .. "." or "") .. cells.text(column.name)
      else
        all = false
      end
    end
  end
  page:add()
  if all then
    page:prose(page:paint(page:t "all_exact", "quiet"))
  else
    page:prose(page:t(#exact > 0 and "some_exact" or "none_exact", { names = table.concat(exact, ", ") }))
  end
end

--- The page of a dataset.
---@param described table  of alisio.data
---@param options { locale: string, width: integer, color: boolean, utf8: boolean, draws: boolean, spreads: table<integer, table>, sample: boolean? }
---   draws: with histograms and bars; spreads: what alisio.data.distribution knows of each sheet, as far as it
---   does; sample = false: without first rows
---@return string[] lines
function M.lines(described, options)
  local page = setmetatable({
    locale = options.locale, width = options.width, color = options.color, utf8 = options.utf8, draws = options.draws,
  }, Page)
  local kind = { cells.text(described.format) }
  kind[#kind + 1] = given(described.encoding) and cells.text(described.encoding) or nil
  if given(described.delimiter) then
    kind[#kind + 1] = page:t("delimiter", { c = described.delimiter == "\t" and "TAB" or cells.text(described.delimiter) })
  end
  kind[#kind + 1] = words.bytes(page.locale, described.bytes)
  kind[#kind + 1] = described.reused and page:t "reused" or nil
  local about = "  " .. page:paint(table.concat(kind, "  "), "quiet")
  local name = page:paint(cells.text(described.file), "strong")
  local id = page:paint(described.id, "quiet")
  if LEFT + text.width(name) + text.width(about) + 2 + text.width(id) <= page.width then
    page:add((" "):rep(LEFT) .. name .. pad(about, page.width - LEFT - text.width(name) - text.width(id)) .. id)
  else
    page:add((" "):rep(LEFT) .. text.truncate(name, page.width - LEFT))
    page:add(text.truncate(about, page.width))
    page:add((" "):rep(LEFT) .. id)
  end
  local sampled
  for i, sheet in ipairs(described.sheets) do
    local spread = options.spreads[i] or { heights = {} }
    sampled = spread.rows and spread.rows < sheet.rows and math.max(sampled or 0, spread.rows) or sampled
    page:add()
    local title = page:paint(cells.text(sheet.table), "strong")
    if sheet.name ~= sheet.table then
      title = title .. "  " .. cells.text(sheet.name)
    end
    title = title .. "  " .. page:count("rows", sheet.rows) .. ", " .. page:count("columns", #sheet.columns)
    page:add(text.truncate((" "):rep(LEFT) .. title, page.width))
    page:add()
    print_columns(page, sheet, spread.heights)
    print_bars(page, sheet)
    if #sheet.sample > 0 and options.sample ~= false then
      page:add()
      page:add((" "):rep(LEFT) .. page:paint(page:t "first", "quiet"))
      print_rows(page, sheet)
    end
  end
  print_exactness(page, described.sheets)
  if sampled and page.draws then
    page:prose(page:paint(page:t("sampled", { count = words.number(page.locale, sampled) }), "quiet"))
  end
  for _, sheet in ipairs(described.sheets) do
    for _, column in ipairs(sheet.columns) do
      if column.textFallbacks > 0 then
        page:prose(page:count("fallbacks", column.textFallbacks, { name = cells.text(column.name) }), "!")
      end
    end
  end
  for _, note in ipairs(described.notes) do
    if note.id ~= "distinct_estimated" then -- said above, the other way round
      page:prose(cells.text(words.note(page.locale, note)), "!")
    end
  end
  local lines = {}
  for i, line in ipairs(page) do
    lines[i] = line
  end
  return lines
end

return M
