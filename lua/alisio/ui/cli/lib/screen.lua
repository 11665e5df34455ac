--- The two outputs of a run as the eye sees them: finished lines that stay, and below them a few
-- live lines on a terminal that are drawn again and again. Whatever is written first takes the
-- live lines away.
local fs = require "std.fs"
local term = require "std.term"
local text = require "std.text"

local M = {}

local Screen = {}
Screen.__index = Screen

local plain_glyphs = {
  done = "+", waiting = "?", failed = "x", warning = "!", heavy = "=", spin = { "|", "/", "-", "\\" },
}
local glyphs = {
  done = "✓", waiting = "◇", failed = "✗", warning = "!", heavy = "━",
  spin = { "⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏" },
}

--- Makes the screen of this process. `term` and `env` stand in for the real ones in specs.
---@param options { quiet: boolean?, term: table?, env: (fun(name: string): string?)? }
---@return table
function M.new(options)
  local t = options.term or term
  local self = setmetatable({ term = t, quiet = options.quiet, live_lines = 0 }, Screen)
  self.out_tty, self.err_tty = t.is_tty(1), t.is_tty(2)
  self.out_color, self.err_color = t.color(1), t.color(2)
  self.glyph = t.utf8() and glyphs or plain_glyphs
  -- Live lines need a cursor that moves; a dumb terminal has none.
  local kind = (options.env or fs.env) "TERM" or ""
  self.live = self.err_tty and not options.quiet and kind ~= "" and kind ~= "dumb"
  return self
end

--- Columns to write to.
---@return integer
function Screen:width()
  return self.err_tty and self.term.size(2) or 80
end

--- Rows of the terminal.
---@return integer
function Screen:height()
  local _, rows = self.term.size(2)
  return rows
end

--- Text in the colour of a role, on the error output.
---@param words string
---@param role string
---@return string
function Screen:paint(words, role)
  return self.err_color and self.term.style(words, role) or words
end

-- The lines are deleted, not cleared: what is cleared from the first cell of a screen on, some
-- terminals keep in their history.
local function delete(lines)
  return lines > 0 and ("\27[%dM"):format(lines) or ""
end

--- Takes the live lines away.
function Screen:clear()
  if self.live_lines > 0 then
    self.term.werr(("\r\27[%dA"):format(self.live_lines) .. delete(self.live_lines))
    self.live_lines = 0
  end
end

--- Draws the live lines in place of those before. Each must fit the width.
---@param lines string[]
function Screen:draw(lines)
  if not self.live then
    return
  end
  local back = self.live_lines > 0 and ("\r\27[%dA"):format(self.live_lines) or ""
  local out = {}
  for i, line in ipairs(lines) do
    out[i] = line .. "\27[K\n"
  end
  self.term.werr(back .. delete(self.live_lines - #lines) .. table.concat(out))
  self.live_lines = #lines
end

--- Writes a finished line of words to the error output.
---@param line string
function Screen:say(line)
  self:clear()
  self.term.werr(line .. "\n")
end

--- Writes data to standard output.
---@param bytes string
function Screen:out(bytes)
  self:clear()
  self.term.write(bytes)
end

--- One row in fixed columns: glyph, name, detail, result, time (terminal.md).
---@param glyph string
---@param role string      colour of the glyph
---@param name string
---@param detail string
---@param result string
---@param time string
---@param result_role? string
---@return string[] lines
function Screen:row(glyph, role, name, detail, result, time, result_role)
  local columns = self:width()
  name, detail, result = text.visible(name), text.visible(detail), text.visible(result)
  local head = "  " .. self:paint(glyph, role) .. " " .. text.truncate(name, 19)
  result_role = result_role or "quiet"
  if columns < 60 then
    local room = columns - 5 - text.width(text.truncate(name, 19)) - 2
    local first = head .. (room > 3 and detail ~= "" and "  " .. self:paint(text.truncate(detail, room), "quiet") or "")
    local second = "    " .. text.truncate(result, math.max(1, columns - 16))
    second = self:paint(second .. (result ~= "" and "  " or "") .. time, result_role)
    return { first, second }
  end
  local result_end, row_end = columns - 11, columns - 1
  result = text.truncate(result, math.max(10, (result_end - 24) // 2))
  local room = result_end - text.width(result) - 2 - 24
  detail = text.truncate(detail, math.max(1, room))
  local line = head .. (" "):rep(24 - 4 - text.width(text.truncate(name, 19))) .. self:paint(detail, "quiet")
  line = line .. (" "):rep(result_end - 24 - text.width(detail) - text.width(result)) .. self:paint(result, result_role)
  line = line .. (" "):rep(row_end - result_end - text.width(time)) .. self:paint(time, "quiet")
  return { (line:gsub("%s+$", "")) }
end

return M
