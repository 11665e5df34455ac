--- The log of the program: one JSON object a line, without secrets, in a file that only its user can
-- read. At 1 MiB a file is put aside; five are kept. Logging never fails and never waits: what cannot
-- be written is dropped.
local clock = require "std.clock"
local fs = require "std.fs"
local json = require "std.json"
local path = require "std.path"
local secret = require "std.secret"

local M = {}

local MAX_BYTES, KEEP = 1024 * 1024, 5
local MAX_LINE = 16 * 1024
local RANK = { error = 1, warn = 2, info = 3, debug = 4 }
local HIDDEN = "***"

-- Names whose values are secret whatever they look like; compared without case and punctuation.
local SECRET_NAMES = {
  authorization = true, apikey = true, xapikey = true, token = true, accesstoken = true, password = true,
  secret = true, cookie = true, setcookie = true,
}
local SECRET_SHAPES = { "([Bb]earer%s+)[%w%._~+/%-]+=*", "(sk%-)" .. ("[%w_%-]"):rep(8) .. "[%w_%-]*" }

local file, limit = nil, RANK.info
local listeners = {}

local function clean_text(text)
  text = secret.redact(text)
  for _, shape in ipairs(SECRET_SHAPES) do
    text = text:gsub(shape, "%1" .. HIDDEN)
  end
  return text
end

--- A copy without secrets: those of std.secret, what looks like a key, and what stands under a telling
-- name, however deep.
---@param value any
---@return any
function M.redact(value)
  if type(value) == "string" then
    return clean_text(value)
  elseif secret.is(value) then
    return HIDDEN
  elseif type(value) ~= "table" or value == json.null then
    return value
  end
  local copy = json.is_array(value) and json.array {} or {}
  for key, inner in pairs(value) do
    local name = type(key) == "string" and key:lower():gsub("[^%w]", "")
    copy[key] = SECRET_NAMES[name] and HIDDEN or M.redact(inner)
  end
  return copy
end

--- Puts the full file aside. Two processes may come here at once: who holds the lock looks again.
local function rotate()
  local lock = fs.lock(file .. ".lock")
  if not lock then
    return
  end
  local _ <close> = lock
  local stat = fs.stat(file)
  if stat and stat.size >= MAX_BYTES then
    for i = KEEP - 1, 1, -1 do
      local from = i == 1 and file or ("%s.%d"):format(file, i - 1)
      os.rename(from, ("%s.%d"):format(file, i))
    end
  end
end

--- Opened for each line: another process may have put the file aside meanwhile. io, because a line
--- may be logged where nothing can wait; fs, because it makes the file private.
local function append(line)
  local stat = fs.stat(file)
  if stat and stat.size >= MAX_BYTES then
    rotate()
    stat = nil
  end
  local made = not stat and fs.open(file, "a")
  if made then
    made:close()
  end
  local handle = io.open(file, "a")
  if handle then
    handle:setvbuf("full", 2 * MAX_LINE) -- one write a line, so that lines of two processes do not mix
    handle:write(line)
    handle:close()
  end
end

local function encode(level, text, fields)
  local entry = {}
  for key, value in pairs(fields or {}) do
    entry[key] = value
  end
  entry.time, entry.level, entry.text = clock.iso(clock.now()), level, text
  local ok, line = pcall(function() return json.encode(M.redact(entry)) end)
  if ok and #line < MAX_LINE then
    return line .. "\n"
  end
  local why = ok and "cut: the line was too long" or "the fields are no JSON"
  return json.encode { time = entry.time, level = level, text = clean_text(text):sub(1, 4096), log = why } .. "\n"
end

local function write(level, text, fields)
  if RANK[level] > limit then
    return
  end
  for _, fn in ipairs(listeners) do
    fn(level, clean_text(text))
  end
  if file then
    append(encode(level, text, fields))
  end
end

--- Says where the log goes. Before this, lines reach only listeners.
---@param name string  path of the file; its folder is made when it is missing
---@param level "error"|"warn"|"info"|"debug"|nil  the least important that is kept, info when left out
function M.open(name, level)
  file, limit = name, RANK[level or "info"]
  fs.mkdirs(path.dirname(name))
end

--- Hears every line that is kept, without fields.
---@param fn fun(level: string, text: string)
---@return fun() remove
function M.listen(fn)
  listeners[#listeners + 1] = fn
  return function()
    for i, other in ipairs(listeners) do
      if other == fn then
        table.remove(listeners, i)
        return
      end
    end
  end
end

--- Something failed.
---@param text string
---@param fields table?
function M.error(text, fields) write("error", text, fields) end

--- Something is not as it should be, and the program goes on.
---@param text string
---@param fields table?
function M.warn(text, fields) write("warn", text, fields) end

--- Something happened.
---@param text string
---@param fields table?
function M.info(text, fields) write("info", text, fields) end

--- For who looks for a fault.
---@param text string
---@param fields table?
function M.debug(text, fields) write("debug", text, fields) end

return M
