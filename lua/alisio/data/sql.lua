--- Names and values inside of SQL statements.
local M = {}

--- A name, quoted.
---@param name string
---@return string
function M.name(name)
  return '"' .. name:gsub('"', '""') .. '"'
end

--- A text, quoted.
---@param s string
---@return string
function M.text(s)
  return "'" .. s:gsub("'", "''") .. "'"
end

return M
