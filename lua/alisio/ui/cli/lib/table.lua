--- Rows in columns for a terminal or a pipe.
local term = require "std.term"
local text = require "std.text"

local M = {}

local GAP = 2
local MIN = 4 -- columns of text a cell keeps when the line is too short

local function widths_of(rows, columns)
  local widths = {}
  for c = 1, columns do
    widths[c] = 0
    for _, row in ipairs(rows) do
      widths[c] = math.max(widths[c], text.width(row[c] or ""))
    end
  end
  return widths
end

--- Makes the widest columns give way until all fits; `whole` ones do not.
local function fit(widths, room, whole)
  local sum = GAP * (#widths - 1)
  for _, width in ipairs(widths) do
    sum = sum + width
  end
  while sum > room do
    local widest
    for c, width in ipairs(widths) do
      if not whole[c] and width > (widest and widths[widest] or MIN) then
        widest = c
      end
    end
    if not widest then
      return
    end
    widths[widest] = widths[widest] - 1
    sum = sum - 1
  end
end

local function line(row, widths, right, head)
  local cells = {}
  for c, width in ipairs(widths) do
    local cell = text.truncate(row[c] or "", width)
    local pad = (" "):rep(width - text.width(cell))
    cells[c] = right[c] and pad .. cell or cell .. pad
  end
  local joined = table.concat(cells, (" "):rep(GAP)):gsub(" +$", "")
  return head and term.style(joined, "strong") or joined
end

--- Draws rows; the first is the head. On a terminal they fit its width, on a pipe nothing is cut.
---@param rows string[][]   cells are shown as they are: make them visible first
---@param right? table<integer, boolean>  columns that stand at the right
---@param whole? table<integer, boolean>  columns that are never cut: what is in them is to be copied
---@return string lines
function M.draw(rows, right, whole)
  local tty = term.is_tty(1)
  local color = tty and term.color(1)
  local widths = widths_of(rows, #rows[1])
  if tty then
    fit(widths, (term.size(1)), whole or {})
  end
  local out = {}
  for i, row in ipairs(rows) do
    out[i] = line(row, widths, right or {}, color and i == 1)
  end
  return table.concat(out, "\n") .. "\n"
end

return M
