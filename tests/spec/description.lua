--- Made-up descriptions of datasets, as alisio.data gives them.
local json = require "std.json"

local M = {}

--- A column.
---@param name string
---@param type string
---@param fields? table  what is not as usual
---@return table
function M.column(name, type, fields)
  local column = {
    name = name, label = name, type = type, nulls = 0, distinct = 2, distinctExact = true, min = json.null, max = json.null,
    mean = json.null, textFallbacks = 0, top = {},
  }
  for key, value in pairs(fields or {}) do
    column[key] = value
  end
  return column
end

--- A dataset of one sheet.
---@param columns table[]
---@param fields? table  of the dataset
---@param sheet? table   of its sheet
---@return table
function M.dataset(columns, fields, sheet)
  local made = {
    id = "ds_01m8ptjfbp2exdyyxbmf4d2kac", file = "f.csv", format = "csv", encoding = "utf-8", delimiter = ",", bytes = 1024, notes = {},
    sheets = { { name = "data", table = "data", rows = 3, columns = columns, sample = {} } },
  }
  for key, value in pairs(fields or {}) do
    made[key] = value
  end
  for key, value in pairs(sheet or {}) do
    made.sheets[1][key] = value
  end
  return made
end

return M
