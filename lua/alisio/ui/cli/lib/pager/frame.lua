--- Draws the screen of the table view (a grid, a whole cell, or the help) as lines, and places the
--- columns. Reads the pager's state; of it only widths grow and the scroll position follows the cursor.
local text = require "std.text"
local words = require "alisio.kernel.words"
local blocks = require "alisio.ui.cli.lib.blocks"
local cells = require "alisio.ui.cli.lib.cells"

local M = {}

local GAP = 2
local MOST = 40       -- columns of text a cell takes
local HEAD = 24       -- columns a heading takes at first
local TALL = 16       -- rows of a terminal from which the distributions are shown

M.SLOW_MS = 300 -- work that takes longer is shown

local function pad(s, width, right)
  local room = (" "):rep(width - text.width(s))
  return right and room .. s or s .. room
end

--- Text at both ends of a line; the left gives way.
local function ends(left, right, columns)
  right = text.truncate(right, columns - 1)
  local room = columns - text.width(right) - (right ~= "" and 2 or 1)
  left = text.truncate(left, math.max(0, room))
  return left .. (" "):rep(columns - text.width(left) - text.width(right) - 1) .. right
end

local function cap(columns)
  return math.max(4, math.min(MOST, columns // 2))
end

--- The width a column begins with: that of its name and of the values known of it.
---@param column table   of a description
---@param label string
---@return integer
function M.first_width(column, label)
  local width = math.min(HEAD, text.width(label))
  for _, value in ipairs { column.min or "", column.max or "" } do
    width = math.max(width, text.width(cells.show(value)))
  end
  for _, top in ipairs(column.top) do
    width = math.max(width, text.width(cells.show(top.value)))
  end
  return math.min(MOST, width)
end

local function number_width(p)
  return math.max(text.width(p:t "row"), #words.number(p.locale, p.view.sheet.rows))
end

--- The last column that fits when the first is `left`.
local function last_from(p, left)
  local view = p.view
  local room = p.columns - 2 - number_width(p)
  local last = left
  for c = left, #view.columns do
    room = room - GAP - math.min(view.columns[c].width, cap(p.columns))
    if room < 0 and c > left then
      break
    end
    last = c
  end
  return last
end

--- Scrolls so that the cursor is in sight.
local function follow(p, height)
  local view = p.view
  local rows = view.pages.rows
  view.row = math.max(1, math.min(view.row, rows))
  view.top = math.max(1, math.min(view.top, rows - height + 1, view.row))
  view.top = math.max(view.top, view.row - height + 1)
  view.left = math.min(view.left, view.column)
  while last_from(p, view.left) < view.column do
    view.left = view.left + 1
  end
end

--- Rows of cells in sight as text; columns grow with what they hold, up to their limit.
local function gather(p, height)
  local view, out = p.view, {}
  local last = last_from(p, view.left)
  local bottom = math.min(view.top + height - 1, view.pages.rows)
  if bottom >= view.top then
    view.pages:look(view.top, bottom, view.left, last)
  end
  for position = view.top, bottom do
    local row = {}
    for c = view.left, last do
      local there, value, number = view.pages:cell(position, c)
      row.number = number or row.number
      if there then
        local column = view.columns[c]
        local shown = value == nil and p:t "empty" or cells.show(value)
        row[c] = { text = shown, empty = value == nil, right = column.right and type(value) ~= "string" }
        column.width = math.max(column.width, math.min(MOST, text.width(shown)))
      end
    end
    out[#out + 1] = row
  end
  return out
end

local function filters_of(p)
  local out = {}
  for c, column in ipairs(p.view.columns) do
    local filter = p.view.filters[c]
    if filter then
      local how = p:t("is_" .. filter.op, { value = filter.value and cells.show(filter.value) })
      out[#out + 1] = p:paint(column.label, "quiet") .. " " .. how
    end
  end
  return table.concat(out, "   ")
end

local function title(p)
  local view, sheet = p.view, p.view.sheet
  local name = p:paint(p.title, "strong")
  if #p.views > 1 then
    name = name .. "  " .. p:t("sheet", { name = p:paint(cells.text(sheet.name), "strong"), at = p.at, count = #p.views })
  end
  local size = p:count("rows", sheet.rows) .. ", " .. p:count("columns", #view.columns)
  local order = view.sort and view.columns[view.sort.column].label .. (view.sort.descending and " ↓" or " ↑") or ""
  if not p.utf8 then
    order = order:gsub("↓", "v"):gsub("↑", "^")
  end
  return ends(" " .. name .. "  " .. p:paint(size, "quiet"), p:paint(order, "accent"), p.columns)
end

local function second(p, last)
  local view, right = p.view, {}
  if next(view.filters) then
    right[1] = p:count("kept", view.pages.rows)
  end
  local hidden = { { view.left - 1, "before" }, { #view.columns - last, "after" } }
  for _, side in ipairs(hidden) do
    if side[1] > 0 then
      right[#right + 1] = p:paint(p:count(side[2], side[1]), "quiet")
    end
  end
  return ends(" " .. filters_of(p), table.concat(right, "   "), p.columns)
end

local function rule(p)
  return p:paint((p.utf8 and "─" or "-"):rep(p.columns), "quiet")
end

--- One line of the grid: what stands over the row numbers, and one text a column.
local function line(p, head, last, cell)
  local out, limit = { head }, cap(p.columns)
  for c = p.view.left, last do
    local column = p.view.columns[c]
    local width = math.min(column.width, limit, p.columns - 2 - number_width(p) - GAP)
    out[#out + 1] = (" "):rep(GAP) .. cell(c, column, width)
  end
  return (table.concat(out):gsub("%s+$", ""))
end

local function body(p, rows, height, last)
  local view, out, wide = p.view, {}, number_width(p)
  for i = 1, height do
    local row = rows[i]
    local here = view.top + i - 1 == view.row
    if row then
      local mark = here and p:paint(p.utf8 and "›" or ">", "accent") or " "
      local number = row.number and words.number(p.locale, row.number) or ""
      out[i] = line(p, mark .. " " .. p:paint(pad(number, wide, true), here and "strong" or "quiet"), last, function(c, _, width)
        local cell = row[c]
        local shown = text.truncate(cell and cell.text or "", width)
        local room = (" "):rep(width - text.width(shown))
        if here and c == view.column then -- the whole width: an empty text is seen, too
          return p:paint(cell and cell.right and room .. shown or shown .. room, "selected")
        elseif cell and cell.empty then
          shown = p:paint(shown, "quiet")
        end
        return cell and cell.right and room .. shown or shown .. room
      end)
    else
      out[i] = ""
    end
  end
  if #rows == 0 then
    out[1] = "  " .. p:paint(p:t(next(view.filters) and "none_kept" or "none"), "quiet")
  end
  return out
end

--- Where the work stands that the screen waits for.
local function busy(p)
  local work = p.busy
  local share = work.total and work.total > 0 and math.min(1, work.done / work.total) or 0
  local bar = pad(blocks.bar(share, 1, 20, p.utf8), 20)
  local percent = ("%d%%"):format(math.floor(share * 100))
  return (" %s  %s %4s   %s"):format(work.text, p:paint(bar, "accent"), percent, p:paint(p:t "cancels", "quiet"))
end

local function place(p)
  local view = p.view
  local rows = view.pages.rows
  local at = p:t("at", { row = words.number(p.locale, math.min(view.row, rows)), rows = words.number(p.locale, rows) })
  return p:paint(at, "quiet") .. " "
end

local function status(p)
  local view = p.view
  if p.input then
    local from = " " .. p.input.prompt .. " "
    local shown, room = cells.text(p.input.text), p.columns - text.width(from) - 2
    while text.width(shown) > room do -- the end is where one types
      shown = shown:sub((utf8.offset(shown, 2) or 2))
    end
    return from .. shown .. p:paint(" ", "selected")
  elseif p.busy and p.busy.since + M.SLOW_MS <= p.now() then
    return text.truncate(busy(p), p.columns)
  elseif p.message then
    return ends(" " .. p:paint(p.message.text, p.message.role), "", p.columns)
  elseif view.pages.failure then
    return ends(" " .. p:paint("✗ " .. p:failure(table.unpack(view.pages.failure, 1, 3)), "failed"), "", p.columns)
  elseif view.pages.rows == 0 then
    return ""
  end
  local column = view.columns[view.column]
  local there, value = view.pages:cell(view.row, view.column)
  local left = " " .. p:paint(column.label, "strong") .. "  " .. p:paint(column.type, "quiet")
  if there then
    left = left .. "  " .. (value == nil and p:paint(p:t "empty", "quiet") or cells.show(value))
  end
  return ends(left, place(p), p.columns)
end

--- The keys; those in the middle are left out where the line is short.
local function keys(p, list)
  local shown = {}
  for i, name in ipairs(list) do
    local key, does = p:t("key_" .. name):match "^(%S+) (.*)$"
    shown[i] = { key, does }
  end
  local function width()
    local sum = 1
    for _, k in ipairs(shown) do
      sum = sum + text.width(k[1]) + text.width(k[2]) + 3
    end
    return sum - 2
  end
  while #shown > 1 and width() > p.columns do
    table.remove(shown, math.max(1, #shown - 2))
  end
  local parts = {}
  for i, k in ipairs(shown) do
    parts[i] = k[1] .. " " .. k[2]
  end
  return text.truncate(" " .. p:paint(table.concat(parts, "  "), "quiet"), p.columns)
end

local function grid(p)
  local tall = p.rows >= TALL
  local filtered = next(p.view.filters) ~= nil
  local height = math.max(1, p.rows - (tall and 8 or 7) - (tall and filtered and 1 or 0))
  p.height = height
  follow(p, height)
  gather(p, height) -- widths first: what they are decides what is in sight
  follow(p, height)
  local rows = gather(p, height)
  local last = last_from(p, p.view.left)
  local view = p.view
  local lines = { title(p), second(p, last) }
  if tall and filtered then
    lines[#lines + 1] = ""
  end
  local over = (" "):rep(number_width(p) + 2)
  lines[#lines + 1] = line(p, "  " .. p:paint(pad(p:t "row", number_width(p), true), "quiet"), last, function(c, column, width)
    local label = pad(cells.middle(column.label, width), width, column.right)
    return p:paint(label, c == view.column and "accent" or "strong")
  end)
  if tall then
    lines[#lines + 1] = line(p, over, last, function(c, column, width)
      local shown = p.utf8 and view.spread[c] and blocks.columns(view.spread[c], width) or ""
      return p:paint(pad(shown, width, column.right), "quiet")
    end)
  end
  lines[#lines + 1] = rule(p)
  table.move(body(p, rows, height, last), 1, height, #lines + 1, lines)
  lines[#lines + 1] = rule(p)
  lines[#lines + 1] = status(p)
  local shown = p.input and p.input.keys or { "move", "cell", "find", "sort", "filter", "go", "help", "quit" }
  if not p.input and #p.views > 1 then
    table.insert(shown, 2, "tab")
  end
  lines[#lines + 1] = keys(p, shown)
  return lines
end

--- Lines that can be scrolled beneath a heading: a cell, the help.
local function page(p)
  local height = math.max(1, p.rows - 5)
  local shown = p.page
  shown.first = math.max(1, math.min(shown.first, #shown.lines - height + 1))
  p.height = height
  local lines = { ends(" " .. p:paint(shown.title, "strong"), p:paint(shown.about or "", "quiet") .. " ", p.columns), rule(p) }
  for i = shown.first, shown.first + height - 1 do
    lines[#lines + 1] = shown.lines[i] and " " .. shown.lines[i] or ""
  end
  lines[#lines + 1] = rule(p)
  local below = #shown.lines - shown.first - height + 1
  lines[#lines + 1] = below > 0 and " " .. p:paint(p:count("below", below), "quiet") or ""
  lines[#lines + 1] = keys(p, { "scroll", "back" })
  return lines
end

--- The lines of the screen, as many as it has rows.
---@param p table  the pager
---@return string[]
function M.draw(p)
  local lines = p.page and page(p) or grid(p)
  for i = #lines, p.rows + 1, -1 do -- a window of few rows: the top stays
    lines[i] = nil
  end
  return lines
end

return M
