--- Unicode text, and the shape it takes on a terminal.
---
--- Columns are counted by what a reader sees as one character. Colour sequences of our own count
--- nothing and are never cut. Text that came from a file, a model or a server goes through `visible`
--- (or `markdown`, which does it) before it is shown.
local text = require "host.text"

local M = {}

--- Columns the text takes.
---@param s string
---@return integer
M.width = text.width

--- At most `columns` wide; what was cut ends in "…".
---@param s string
---@param columns integer
---@return string
M.truncate = text.truncate

--- Lines of at most `columns`, broken at spaces.
---@param s string
---@param columns integer
---@return string[]
M.wrap = text.wrap

--- The composed form (NFC).
---@param s string
---@return string?  nil when s is not UTF-8
M.normalize = text.normalize

--- Without accents and in lower case: for comparing what people type.
---@param s string
---@return string?  nil when s is not UTF-8
M.fold = text.fold

--- Whether s is UTF-8.
---@param s string
---@return boolean
M.valid = text.valid

--- The text with U+FFFD where bytes are no UTF-8.
---@param s string
---@return string
function M.repair(s)
  if text.valid(s) then
    return s
  end
  return (s:gsub("[\128-\255]+", function(run)
    return text.valid(run) and run or "\u{FFFD}"
  end))
end

--- The longest beginning of at most `max` bytes that cuts no character.
---@param s string
---@param max integer  bytes
---@return string
M.cut = text.cut

--- Shows what would act instead of being seen: control, escape, format and bidi characters as
--- \u001b, bytes that are no UTF-8 as \x9b.
---@param s string
---@param keep_lines? boolean  leave line feeds and tabs
---@return string
M.visible = text.visible

--- Markdown as lines for a terminal. No escape sequence of the text survives.
---@param s string
---@param options? { width: integer?, color: boolean? }  columns, 80 when left out
---@return string
M.markdown = text.markdown

return M
