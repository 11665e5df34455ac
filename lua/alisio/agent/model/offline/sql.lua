--- The queries of the offline model. Names come from the dataset's own catalogue and are quoted.
local quote = require("alisio.data.sql").name

local M = {}

--- The expression a plan groups by.
---@param plan table
---@return string
function M.key(plan)
  local name = quote(plan.dimension.name)
  local cut = { day = 10, month = 7, year = 4 }
  if plan.bucket == "quarter" then
    return ("substr(%s, 1, 4) || '-Q' || ((substr(%s, 6, 2) + 2) / 3)"):format(name, name)
  elseif plan.bucket then
    return ("substr(%s, 1, %d)"):format(name, cut[plan.bucket])
  end
  return name
end

--- The expression a plan computes.
---@param plan table
---@return string
function M.value(plan)
  if plan.aggregation == "count" then
    return plan.distinct and ("count(DISTINCT %s)"):format(quote(plan.measure.name)) or "count(*)"
  end
  local name = quote(plan.measure.name)
  -- Cells kept as text would count as 0 in a sum.
  return ("%s(CASE WHEN typeof(%s) <> 'text' THEN %s END)"):format(plan.aggregation, name, name)
end

--- One value over all rows.
---@param plan table
---@param from string  table
---@return string
function M.single(plan, from)
  return ("SELECT %s AS value FROM %s"):format(M.value(plan), quote(from))
end

--- A value per group, largest first; time runs forward.
---@param plan table
---@param from string
---@return string
function M.grouped(plan, from)
  local order = plan.bucket and "1" or "2 DESC, 1"
  return ("SELECT %s AS key, %s AS value, count(*) AS n FROM %s GROUP BY 1 ORDER BY %s"):format(
    M.key(plan), M.value(plan), quote(from), order)
end

--- The rows with the largest value of a column.
---@param plan table
---@param from string
---@param columns table[]  at most 8 are shown
---@return string
function M.largest(plan, from, columns)
  local shown = {}
  for _, column in ipairs(columns) do
    if #shown < 8 and column ~= plan.measure then
      shown[#shown + 1] = quote(column.name)
    end
  end
  local name = quote(plan.measure.name)
  table.insert(shown, 1, name)
  return ("SELECT %s FROM %s WHERE typeof(%s) <> 'text' AND %s IS NOT NULL ORDER BY %s DESC, rowid LIMIT %d"):format(
    table.concat(shown, ", "), quote(from), name, name, name, plan.limit)
end

--- Sums and averages of several columns at once.
---@param measures table[]
---@param from string
---@return string
function M.figures(measures, from)
  local out = { "count(*)" }
  for _, measure in ipairs(measures) do
    out[#out + 1] = M.value { aggregation = "sum", measure = measure }
    out[#out + 1] = M.value { aggregation = "avg", measure = measure }
  end
  return ("SELECT %s FROM %s"):format(table.concat(out, ", "), quote(from))
end

return M
