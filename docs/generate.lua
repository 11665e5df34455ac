--- Writes the parts of documents that come from tables of the program:
---   build/alisio script docs/generate.lua
-- docs/configuration.md and the key lists of lua/alisio/defaults/init*.lua from the configuration's
-- schema, the table of docs/events.md from the event types. A spec checks that they are current.
local config = require "alisio.kernel.config"
local config_keys = require "alisio.kernel.config_schema"
local event_types = require "alisio.kernel.event_types"
local words = require "alisio.kernel.words"

local M = {}

local function value_text(value)
  if type(value) == "table" then
    return "[]"
  end
  return value == nil and "" or tostring(value)
end

local function range(spec)
  if spec.type == "choice" then
    return table.concat(spec.choices, ", ")
  elseif spec.min then
    return ("%s to %s"):format(words.number("en", spec.min), words.number("en", spec.max))
  elseif spec.type == "boolean" then
    return "true, false"
  elseif spec.type == "list" then
    return "list of texts"
  end
  return "text"
end

local PROJECT = { lower = "lower it", off = "switch it off", add = "add to it" }

local function default_text(spec)
  if spec.default == nil then
    return "–"
  elseif spec.type == "integer" then
    local size = spec.key:find "Bytes$" and words.bytes or spec.key:find "Ms$" and words.duration or words.number
    local short = size("en", spec.default)
    local plain = ("%d"):format(spec.default)
    return short == plain and plain or ("%s (%s)"):format(plain, short)
  end
  return "`" .. value_text(spec.default) .. "`"
end

--- The rows of docs/configuration.md.
---@return string[]
function M.configuration()
  local lines = { "| key | default | values | a project may | meaning |", "|---|---|---|---|---|" }
  for _, spec in ipairs(config_keys) do
    local key = spec.key:gsub("%*", "NAME")
    lines[#lines + 1] = ("| `%s` | %s | %s | %s | %s |"):format(key, default_text(spec), range(spec),
      spec.project and PROJECT[spec.project] or "–", spec.help.en)
  end
  return lines
end

--- The sections of docs/events.md.
---@return string[]
function M.events()
  local lines = {}
  for _, entry in ipairs(event_types) do
    lines[#lines + 1] = ("### %s%s"):format(entry.type, entry.ephemeral and " (no seq)" or "")
    lines[#lines + 1] = ""
    lines[#lines + 1] = entry.help
    lines[#lines + 1] = ""
    lines[#lines + 1] = "| field | type | |"
    lines[#lines + 1] = "|---|---|---|"
    for _, field in ipairs(entry.fields) do
      lines[#lines + 1] = ("| %s | `%s` | %s |"):format(field[1], field[2]:gsub("|", "\\|"), field[3]:gsub("|", "\\|"))
    end
    lines[#lines + 1] = ""
  end
  lines[#lines] = nil
  return lines
end

--- A tree of the keys, in the order of the schema: { name, help, default } or { name, children }.
local function key_tree(locale)
  local root = {}
  for _, spec in ipairs(config_keys) do
    local list = root
    local parts = {}
    for part in spec.key:gmatch "[^.]+" do
      parts[#parts + 1] = part == "*" and "work" or part
    end
    for i = 1, #parts - 1 do
      local last = list[#list]
      if not last or last.name ~= parts[i] then
        last = { name = parts[i], children = {} }
        list[#list + 1] = last
      end
      list = last.children
    end
    list[#list + 1] = { name = parts[#parts], help = spec.help[locale], default = spec.default, choices = spec.choices }
  end
  return root
end

local function lua_value(value)
  if type(value) == "string" then
    return ("%q"):format(value)
  elseif type(value) == "table" then
    return "{}"
  end
  return tostring(value)
end

local function key_lines(list, indent, lines)
  for _, node in ipairs(list) do
    if node.children then
      lines[#lines + 1] = ("  -- %s%s = {"):format(indent, node.name)
      key_lines(node.children, indent .. "  ", lines)
      lines[#lines + 1] = ("  -- %s},"):format(indent)
    else
      local choices = node.choices and (" (%s)"):format(table.concat(node.choices, " | ")) or ""
      lines[#lines + 1] = ("  -- %s-- %s%s"):format(indent, node.help, choices)
      lines[#lines + 1] = ("  -- %s%s = %s,"):format(indent, node.name, lua_value(node.default))
    end
  end
  return lines
end

--- The commented keys of init.lua.
---@param locale "en"|"es"
---@return string[]
function M.init(locale)
  return key_lines(key_tree(locale), "", {})
end

--- Which file holds what, between which lines.
M.files = {
  { "docs/configuration.md", "<!-- keys -->", "<!-- end of keys -->", M.configuration },
  { "docs/events.md", "<!-- types -->", "<!-- end of types -->", M.events },
  { "lua/alisio/defaults/init.lua", "  -- keys", "  -- end of keys", function() return M.init "en" end },
  { "lua/alisio/defaults/init.es.lua", "  -- keys", "  -- end of keys", function() return M.init "es" end },
}

--- The text of a file with its part made anew.
---@param text string
---@param first string
---@param last string
---@param lines string[]
---@return string
function M.replace(text, first, last, lines)
  local _, from = text:find(first .. "\n", 1, true)
  local to = text:find("\n" .. last .. "\n", from and from - 1 or 1, true)
  if not from or not to then
    error("the marks are missing: " .. first)
  end
  return text:sub(1, from) .. table.concat(lines, "\n") .. text:sub(to)
end

local function read(name)
  local file <close> = assert(io.open(name))
  return file:read "a"
end

--- Whether each file is what it would be made into; names those that are not.
---@return string[] stale
function M.stale()
  local names = {}
  for _, file in ipairs(M.files) do
    local text = read(file[1])
    if M.replace(text, file[2], file[3], file[4]()) ~= text then
      names[#names + 1] = file[1]
    end
  end
  return names
end

if ... == "docs.generate" then -- required by the spec
  return M
end

assert(config) -- the schema is one that the configuration loads
for _, file in ipairs(M.files) do
  local text = M.replace(read(file[1]), file[2], file[3], file[4]())
  local out <close> = assert(io.open(file[1], "w"))
  assert(out:write(text))
end
