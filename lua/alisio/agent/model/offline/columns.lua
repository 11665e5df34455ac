--- Finds the columns a request speaks of, and chooses good ones where it names none.
local language = require "alisio.agent.model.offline.language"

local M = {}

local id_words = { id = true, code = true, codigo = true, key = true, clave = true, uuid = true, zip = true, postal = true,
  cp = true, phone = true, telefono = true, number = true, numero = true, no = true, nr = true, row = true, sku = true }
local averaged = { price = true, discount = true, score = true }

local function column_words(column)
  local seen, out = {}, {}
  for _, source in ipairs { column.name:gsub("_", " "), column.label or "" } do
    local words = language.words(source)
    local key = table.concat(words, " ")
    if #words > 0 and not seen[key] then
      seen[key] = true
      out[#out + 1] = words
    end
  end
  return out
end

--- How well `column` is named by the words from position i: its score and how many words it took.
local function match_at(words, i, column)
  local best, used = 0, 0
  for _, own in ipairs(column_words(column)) do
    local all = true
    for k, word in ipairs(own) do
      if not (words[i + k - 1] and language.same(words[i + k - 1], word)) then
        all = false
        break
      end
    end
    if all and 10 * #own > best then
      best, used = 10 * #own, #own
    end
    for _, word in ipairs(own) do
      local score = 0
      if #own > 1 and language.joins(word) then
        score = 0 -- "in" is no part of "Units in stock" by itself
      elseif language.same(words[i], word) then
        score = 6
      elseif language.concept(words[i]) and language.concept(words[i]) == language.concept(word) then
        score = 4
      end
      -- One word of several names a column less surely than all of them.
      score = score - (#own > 1 and 1 or 0)
      if score > best then
        best, used = score, 1
      end
    end
  end
  return best, used
end

--- The columns named in a request, in the order of their words.
---@param words string[]
---@param columns table[]  { name, label, type, … }
---@return table[] mentions  { column, at, score }
function M.mentions(words, columns)
  local out, i = {}, 1
  while i <= #words do
    local best, used, column = 0, 1, nil
    for _, candidate in ipairs(columns) do
      local score, taken = match_at(words, i, candidate)
      -- "total by region" means the amounts, not an identifier that shares a word with them.
      if M.is_identifier(candidate) then
        score = score - 1
      end
      if score > best then
        best, used, column = score, taken, candidate
      end
    end
    if column and best >= 3 then
      out[#out + 1] = { column = column, at = i, score = best }
    end
    i = i + (column and best >= 3 and used or 1)
  end
  return out
end

---@param column table
---@return boolean
function M.is_number(column)
  return column.type == "integer" or column.type == "real"
end

--- Whether a column tells rows apart rather than measuring them.
---@param column table
---@return boolean
function M.is_identifier(column)
  for _, words in ipairs(column_words(column)) do
    if id_words[words[#words]] or id_words[words[1]] then
      return true
    end
  end
  return column.type == "integer" and column.rows and column.rows > 20 and column.distinct == column.rows or false
end

--- Whether sums of a column mean something; of prices and scores only averages do.
---@param column table
---@return boolean
function M.adds_up(column)
  for _, words in ipairs(column_words(column)) do
    for _, word in ipairs(words) do
      if averaged[language.concept(word)] then
        return false
      end
    end
  end
  return true
end

--- The columns that `rank` gives a number, the highest first.
local function ranked(columns, rank)
  local out = {}
  for i, column in ipairs(columns) do
    local n = rank(column, i)
    out[#out + 1] = n and { column = column, rank = n } or nil
  end
  table.sort(out, function(a, b)
    return a.rank > b.rank
  end)
  for i, entry in ipairs(out) do
    out[i] = entry.column
  end
  return out
end

--- The columns that measure, best first: named like an amount, then reals, then what is left.
---@param columns table[]
---@return table[]
function M.measures(columns)
  return ranked(columns, function(column, i)
    if not M.is_number(column) or M.is_identifier(column) then
      return nil
    end
    local rank = M.adds_up(column) and 10 or 0
    for _, words in ipairs(column_words(column)) do
      for _, word in ipairs(words) do
        rank = math.max(rank, language.concept(word) == "amount" and 20 or 0)
      end
    end
    return rank + (column.type == "real" and 3 or 0) + i / 1000
  end)
end

--- The columns that group: few different texts, fewest nulls first, in the order of the table.
---@param columns table[]
---@return table[]
function M.dimensions(columns)
  return ranked(columns, function(column, i)
    local few = column.distinct and column.distinct >= 2 and column.distinct <= 60
      and column.distinct * 2 <= (column.rows or 0)
    if column.type ~= "text" and column.type ~= "boolean" or not few or M.is_identifier(column) then
      return nil
    end
    return (column.distinct <= 12 and 100 or 0) - i - (column.nulls or 0) / math.max(1, column.rows or 1) * 50
  end)
end

--- The first date column.
---@param columns table[]
---@return table?
function M.date(columns)
  for _, column in ipairs(columns) do
    if column.type == "date" then
      return column
    end
  end
end

--- What to compute: { aggregation, measure?, dimension?, bucket?, limit?, distinct? }.
---@param wish table
---@param columns table[]
---@return table plan
function M.plan(wish, columns)
  local mentions = M.mentions(wish.words, columns)
  local plan = { aggregation = wish.aggregation, limit = wish.limit }
  local date = M.date(columns)
  if wish.bucket and date then
    plan.dimension, plan.bucket = date, wish.bucket
  end
  -- Behind "by" stands what to group by; a number there is what to rank by.
  for _, mention in ipairs(mentions) do
    local number = M.is_number(mention.column) and not M.is_identifier(mention.column)
    local behind = wish.by and mention.at > wish.by
    if behind and not plan.dimension and not (number and wish.top) then
      plan.dimension = mention.column
    elseif number and mention.column ~= plan.dimension and (not plan.measure or behind and wish.top) then
      plan.measure = mention.column
    elseif not behind and not number and not plan.counted then
      plan.counted = mention.column
    end
  end
  if not plan.dimension and (wish.top or wish.chart or plan.measure) and plan.counted then
    plan.dimension, plan.counted = plan.counted, nil
  end
  if not plan.aggregation and (plan.measure or wish.top or wish.chart) then
    plan.aggregation = plan.measure and not M.adds_up(plan.measure) and "avg" or "sum"
  end
  if plan.aggregation and plan.aggregation ~= "count" and not plan.measure then
    plan.measure = M.measures(columns)[1]
    if not plan.measure then
      plan.aggregation = "count"
    end
  elseif plan.aggregation == "count" then
    plan.measure = wish.distinct and (plan.counted or plan.measure) or nil
    plan.distinct = plan.measure ~= nil
  end
  if wish.top and not plan.limit then
    plan.limit = 10
  end
  return plan
end

return M
