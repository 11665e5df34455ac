--- What a person types to filter a column: `=value`, `=` (empty), `!=` (not empty), `>value` and the like,
--- or a part of the text.
local cells = require "alisio.ui.cli.lib.cells"

local M = {}

local OPERATORS = { { ">=", "least" }, { "<=", "most" }, { ">", "above" }, { "<", "below" } }

--- The filter that was typed.
---@param typed string
---@param numeric boolean  of a column of numbers
---@return { op: string, value: any }?  nil: none
function M.parse(typed, numeric)
  local function value(s)
    local n = tonumber(s)
    if n and s:find "^-?%d" and not s:find "[xX]" and (numeric or cells.show(n) == s) then
      return n
    end
    return s
  end
  if typed == "" then
    return nil
  elseif typed == "=" then
    return { op = "empty" }
  elseif typed == "!=" then
    return { op = "filled" }
  elseif typed:sub(1, 1) == "=" then
    return { op = "equals", value = value(typed:sub(2)) }
  end
  for _, operator in ipairs(OPERATORS) do
    if typed:sub(1, #operator[1]) == operator[1] then
      return { op = operator[2], value = value((typed:sub(#operator[1] + 1):gsub("^ +", ""))) }
    end
  end
  return { op = "contains", value = typed }
end

--- A filter as it is typed.
---@param filter { op: string, value: any }
---@return string
function M.typed(filter)
  if filter.op == "empty" then
    return "="
  elseif filter.op == "filled" then
    return "!="
  end
  local shown = type(filter.value) == "string" and filter.value or cells.show(filter.value)
  local marks = { equals = "=", contains = "" }
  for _, operator in ipairs(OPERATORS) do
    marks[operator[2]] = operator[1]
  end
  return marks[filter.op] .. shown
end

return M
