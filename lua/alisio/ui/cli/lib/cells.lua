--- Values of a table as text for a terminal. Whatever a file holds, none of it acts: control
--- characters become their pictures, other unseen ones their codes.
local json = require "std.json"
local text = require "std.text"

local M = {}

local MOST = 4096 -- bytes of a value that anyone looks at in a line

local function picture(c)
  return utf8.char(0x2400 + (c == "\127" and 0x21 or c:byte()))
end

--- A text on one line.
---@param s string
---@return string
function M.text(s)
  if #s > MOST then
    s = text.cut(s, MOST) .. "…"
  end
  if not s:find "[^\32-\126]" then
    return s
  end
  return text.visible((s:gsub("[\0-\31\127]", picture)))
end

--- A name in so many columns: its beginning and its end, since names of one table often begin alike.
---@param s string       shown as it is
---@param columns integer
---@return string
function M.middle(s, columns)
  local over = text.width(s) - columns
  if over <= 0 or columns < 8 then
    return text.truncate(s, columns)
  end
  local from = utf8.len(s) and utf8.offset(s, -((columns - 1) // 3)) or #s + 1
  local tail = s:sub(from)
  return text.truncate(s, columns - text.width(tail)) .. tail
end

--- A value, digit by digit as it is stored; nothing for NULL.
---@param value any  nil, json.null, a number or a text
---@return string
function M.show(value)
  if value == nil or value == json.null then
    return ""
  elseif math.type(value) == "float" then
    return value == value and math.abs(value) < math.huge and json.encode(value) or tostring(value)
  end
  return M.text(tostring(value))
end

return M
