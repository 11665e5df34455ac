--- Sentences of the program in English and Spanish, made from an id and its fields.
--
-- words/en.lua and words/es.lua hold the same keys. An entry is a template; a table with `one` and
-- `other`, chosen by the field `count`; or a list, of which the first template counts whose fields
-- are all there. In a template `{name}` is a field, numbers grouped as the locale does;
-- `{n:raw}` leaves digits alone, `{n:bytes}` and `{n:duration}` (milliseconds) choose a unit,
-- `{list:list}` joins.
local fs = require "std.fs"

local M = {}

local TABLES = {
  en = function() return require "alisio.kernel.words.en" end,
  es = function() return require "alisio.kernel.words.es" end,
}

local MARKS = { -- decimal mark, group mark, digits from which groups are written (CLDR)
  en = { ".", ",", 4 },
  es = { ",", ".", 5 },
}

local function known(locale)
  return TABLES[locale] and locale or "en"
end

--- The language to speak: the setting when it names one, else what the environment says.
---@param setting string?  value of ui.locale
---@param env (fun(name: string): string?)?  reads an environment variable
---@return "en"|"es"
function M.locale(setting, env)
  if TABLES[setting] then
    return setting
  end
  env = env or fs.env
  for _, name in ipairs { "LC_ALL", "LC_MESSAGES", "LANG" } do
    local value = env(name)
    if value and value ~= "" then
      return value:lower():find "^es" and "es" or "en"
    end
  end
  return "en"
end

--- A number as the locale writes it: 4,812,044 or 4.812.044; fractions keep up to three digits.
---@param locale string
---@param n number
---@return string
function M.number(locale, n)
  local decimal, group, from = table.unpack(MARKS[known(locale)])
  local text = math.type(n) == "integer" and tostring(n) or ("%.3f"):format(n):gsub("%.?0+$", "")
  local sign, whole, fraction = text:match "^(-?)(%d+)%.?(%d*)$"
  if not whole then
    return text -- inf, nan
  end
  if #whole >= from then
    whole = whole:reverse():gsub("(%d%d%d)", "%1" .. group):reverse()
    whole = whole:gsub("^%" .. group, "")
  end
  return sign .. whole .. (fraction ~= "" and decimal .. fraction or "")
end

--- A share with one decimal: 10.6%, 10,6 %.
---@param locale string
---@param share number  1 is all
---@return string
function M.percent(locale, share)
  local decimal = MARKS[known(locale)][1]
  local text = ("%.1f"):format(100 * share):gsub("%.", decimal)
  return text .. (known(locale) == "es" and " %" or "%")
end

--- A size with its unit: 200 MiB, 1.5 GiB.
---@param locale string
---@param n integer  bytes
---@return string
function M.bytes(locale, n)
  local units = { "bytes", "KiB", "MiB", "GiB", "TiB" }
  local unit, value = 1, n
  while value >= 1024 and unit < #units do
    unit, value = unit + 1, value / 1024
  end
  if unit > 1 then
    value = math.floor(value * 10 + 0.5) / 10
    value = value == math.floor(value) and math.tointeger(value) or value
  end
  return M.number(locale, value) .. " " .. units[unit]
end

--- A span with its unit: 40 ms, 5 s, 2 min, 1.5 h.
---@param locale string
---@param ms number  milliseconds
---@return string
function M.duration(locale, ms)
  local steps = { { 3600000, "h" }, { 60000, "min" }, { 1000, "s" } }
  for _, step in ipairs(steps) do
    -- 90 s stay 90 s: the larger unit is for spans that it divides well.
    if ms >= step[1] and (ms % step[1] == 0 or ms >= 2 * step[1]) then
      local value = math.floor(ms / step[1] * 10 + 0.5) / 10
      value = value == math.floor(value) and math.tointeger(value) or value
      return M.number(locale, value) .. " " .. step[2]
    end
  end
  if ms >= 1000 then
    return M.number(locale, math.floor(ms / 100 + 0.5) / 10) .. " s"
  end
  return M.number(locale, math.floor(ms + 0.5)) .. " ms"
end

local FORMATS = {
  raw = function(_, value) return math.type(value) == "integer" and ("%d"):format(value) or tostring(value) end,
  bytes = M.bytes,
  duration = M.duration,
  list = function(_, value) return table.concat(value, ", ") end,
}

--- A field that says something: C leaves texts empty and lines 0 where it knows nothing.
local function present(fields, name)
  local value = fields[name]
  if value == nil or value == "" or (name == "line" or name == "column") and value == 0 then
    return nil
  end
  return value
end

local function fill(locale, template, fields)
  local complete = true
  local text = template:gsub("{(%w+):?(%w*)}", function(name, format)
    local value = present(fields, name)
    if value == nil then
      complete = false
      return nil
    elseif FORMATS[format] then
      return FORMATS[format](locale, value)
    elseif type(value) == "number" then
      return M.number(locale, value)
    end
    return tostring(value)
  end)
  return text, complete
end

local function render(locale, entry, fields)
  if type(entry) == "table" and entry.other then
    entry = fields.count == 1 and entry.one or entry.other
  end
  if type(entry) ~= "table" then
    return fill(locale, entry, fields)
  end
  local text, complete
  for _, alternative in ipairs(entry) do
    text, complete = render(locale, alternative, fields)
    if complete then
      break
    end
  end
  return text, complete
end

local function find(locale, key)
  return TABLES[known(locale)]()[key] or TABLES.en()[key]
end

--- The sentence of a key. Raises when there is none: that is a mistake of ours.
---@param locale string
---@param key string       "sessions.empty"
---@param fields table?
---@return string
function M.t(locale, key, fields)
  local entry = find(locale, key)
  if not entry then
    error("no words for " .. tostring(key), 2)
  end
  return (render(locale, entry, fields or {}))
end

local keys_of_details

-- The detail of an error in a language: by its key where it was made from one, else C said it in
-- English. What has no key (what the system or a library says) stays as it is.
local function translated(locale, fields)
  if not keys_of_details then
    keys_of_details = {}
    for key, text in pairs(TABLES.en()) do
      if key:find "^detail%." then
        keys_of_details[text] = key
      end
    end
  end
  local key = fields.say and "detail." .. fields.say or keys_of_details[fields.detail]
  return key and M.t(locale, key, fields) or fields.detail
end

--- The sentence of an error: what it is about and the way out.
---@param locale string
---@param id string        a code of `--json` errors
---@param fields table?    reason, object, detail, line, column and what else the error carries
---@return string
function M.error(locale, id, fields)
  fields = fields or {}
  if present(fields, "detail") then
    fields = setmetatable({ detail = translated(locale, fields) }, { __index = fields })
  end
  local keys = { "error." .. id }
  if present(fields, "reason") then
    table.insert(keys, 1, keys[1] .. "." .. fields.reason)
  end
  local text, complete
  for _, key in ipairs(keys) do
    local entry = find(locale, key)
    if entry then
      text, complete = render(locale, entry, fields)
    end
    if complete then
      return text
    end
  end
  return present(fields, "detail") or present(fields, "object") or id
end

--- The sentence of a failure as functions return it: the message itself where nothing more is known.
---@param locale string
---@param message string
---@param id string?
---@param fields table?
---@return string
function M.failure(locale, message, id, fields)
  if id and fields and (present(fields, "object") or present(fields, "detail")) then
    return M.error(locale, id, fields)
  end
  return message
end

--- The sentence of a structured note: `{ id = "short_rows", count = 2, lines = { 7, 12 } }`.
---@param locale string
---@param note table|string  a string is a sentence already
---@return string
function M.note(locale, note)
  if type(note) == "string" then
    return note
  end
  if note.lines and note.count and note.count > #note.lines then
    local some = setmetatable({ lines = table.move(note.lines, 1, #note.lines, 1, {}) }, { __index = note })
    some.lines[#some.lines + 1] = "…"
    note = some
  end
  local entry = find(locale, "note." .. tostring(note.id))
  return entry and (render(locale, entry, note)) or tostring(note.id)
end

return M
