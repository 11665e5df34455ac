--- Rows of values under the names of their columns, for the width of a terminal: whole where they fit,
--- else cut, else the last columns are left out and counted.
local json = require "std.json"
local term = require "std.term"
local text = require "std.text"
local words = require "alisio.kernel.words"
local cells = require "alisio.ui.cli.lib.cells"
local pick = require("alisio.ui.cli.lib.text").pick

local M = {}

local GAP = 2
local CAPS = { math.huge, 40, 24 } -- columns of text a value takes at most, as far as all shall fit

local said = {
  empty = { en = "empty", es = "vacía" },
  one = { en = "{count} more column →", es = "{count} columna más →" },
  many = { en = "{count} more columns →", es = "{count} columnas más →" },
}

local function given(value)
  return value ~= nil and value ~= json.null
end

local function pad(s, width, right)
  local room = (" "):rep(width - text.width(s))
  return right and room .. s or s .. room
end

--- The columns whose values are all numbers.
local function numbers_of(names, rows)
  local right = {}
  for c in ipairs(names) do
    for _, row in ipairs(rows) do
      if math.type(row[c]) then
        right[c] = right[c] ~= false
      elseif given(row[c]) then
        right[c] = false
      end
    end
  end
  return right
end

--- Lines of rows.
---@param names string[]
---@param rows any[][]  nil and json.null: empty
---@param options { width: integer, locale: string, color: boolean }
---@return string[] lines  the first is the head
function M.lines(names, rows, options)
  local function paint(s, role)
    return options.color and term.style(s, role) or s
  end
  local function more(count)
    return pick(count == 1 and said.one or said.many, options.locale, { count = words.number(options.locale, count) })
  end
  local empty = pick(said.empty, options.locale)
  local function show(value)
    return given(value) and cells.show(value) or empty
  end
  local right, natural = numbers_of(names, rows), {}
  for c, name in ipairs(names) do
    natural[c] = text.width(cells.text(name))
    for _, row in ipairs(rows) do
      natural[c] = math.max(natural[c], text.width(show(row[c])))
    end
  end
  local cap
  for _, most in ipairs(CAPS) do
    local sum = -GAP
    for _, wide in ipairs(natural) do
      sum = sum + math.min(wide, most) + GAP
    end
    cap = most
    if sum <= options.width then
      break
    end
  end
  local width, room = {}, options.width
  for c, wide in ipairs(natural) do
    local rest = c < #names and GAP + text.width(more(#names - c)) or 0
    wide = math.min(wide, cap)
    if c == 1 then
      wide = math.max(1, math.min(wide, room - rest))
    elseif wide + rest > room then
      break
    end
    width[c] = wide
    room = room - wide - GAP
  end
  local head, out = {}, {}
  for c, wide in ipairs(width) do
    head[c] = paint(pad(cells.middle(cells.text(names[c]), wide), wide, right[c]), "strong")
  end
  if #width < #names then
    head[#head + 1] = paint(more(#names - #width), "quiet")
  end
  out[1] = table.concat(head, (" "):rep(GAP))
  for i, row in ipairs(rows) do
    local line = {}
    for c, wide in ipairs(width) do
      local cell = pad(text.truncate(show(row[c]), wide), wide, math.type(row[c]) ~= nil)
      line[c] = given(row[c]) and cell or paint(cell, "quiet")
    end
    out[i + 1] = table.concat(line, (" "):rep(GAP))
  end
  for i, line in ipairs(out) do
    out[i] = line:gsub(" +$", "")
  end
  return out
end

return M
