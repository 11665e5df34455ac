--- Amounts drawn in text: bars in eighths of a cell, and rows of small columns. They start at zero.
local M = {}

local EIGHTHS = { "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█" }
local HEIGHTS = { "▁", "▂", "▃", "▄", "▅", "▆", "▇" } -- the whole cell would touch the line above

--- A bar; whatever is not zero is seen.
---@param value number    from 0 to most
---@param most number     what fills the width
---@param width integer   cells
---@param utf8 boolean    false: whole cells of "#"
---@return string bar  not padded
function M.bar(value, most, width, utf8)
  if value <= 0 or most <= 0 then
    return ""
  end
  local share = math.min(1, value / most) * width
  if not utf8 then
    return ("#"):rep(math.max(1, math.floor(share + 0.5)))
  end
  local eighths = math.max(1, math.floor(share * 8 + 0.5))
  local rest = eighths % 8
  return EIGHTHS[8]:rep(eighths // 8) .. (rest > 0 and EIGHTHS[rest] or "")
end

--- Neighbours together, so that there are no more than `width`: the mean of as many each.
local function merge(heights, width)
  local each = (#heights + width - 1) // width
  local out = {}
  for i = 1, #heights, each do
    local last, sum = math.min(#heights, i + each - 1), 0
    for k = i, last do
      sum = sum + heights[k]
    end
    out[#out + 1] = sum / (last - i + 1)
  end
  return out
end

--- One cell an amount, its height by the largest; nothing where there is none.
---@param heights number[]  `ranked`: from the greatest on, each by itself
---@param width integer     at most so many cells, at least 1; else neighbours share one, or the last are left out
---@return string
function M.columns(heights, width)
  if #heights > width then
    heights = heights.ranked and table.move(heights, 1, width, 1, {}) or merge(heights, width)
  end
  local most, out = 0, {}
  for _, height in ipairs(heights) do
    most = math.max(most, height)
  end
  for i, height in ipairs(heights) do
    out[i] = height > 0 and HEIGHTS[math.max(1, math.floor(height / most * #HEIGHTS + 0.5))] or " "
  end
  return table.concat(out)
end

return M
