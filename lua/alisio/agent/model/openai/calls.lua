--- Tool calls put together from the pieces of a stream. Index and id are hints: servers leave the
-- index out or always say 0, and leave the id out, repeat it, or use it twice. The calls are a list
-- in order of arrival; a known id means that call; a new id on a place that is taken means a new
-- call; neither id nor index means the call that came last. Names are never joined.
local clock = require "std.clock"
local json = require "std.json"

local M = {}

local Calls = {}
Calls.__index = Calls

local KNOWN = { index = true, id = true, type = true, ["function"] = true }

---@return table calls
function M.new()
  return setmetatable({ list = {}, by_id = {}, by_index = {} }, Calls)
end

local function text(value)
  return type(value) == "string" and value ~= "" and value or nil
end

--- Follows the JSON of a call's arguments as they come: `complete` once the first value is closed.
local function follow(call, piece)
  local at = 1
  while at <= #piece do
    if call.escaped then
      call.escaped, at = false, at + 1
    elseif call.quoted then
      local found = piece:find('["\\]', at)
      if not found then
        return
      end
      call.quoted, call.escaped, at = piece:byte(found) ~= 34, piece:byte(found) == 92, found + 1
    else
      local found, _, sign = piece:find('([%[%]{}"])', at)
      if not found then
        return
      elseif sign == '"' then
        call.quoted = true
      elseif sign == "{" or sign == "[" then
        call.depth = call.depth + 1
      else
        call.depth = call.depth - 1
        call.complete = call.complete or call.depth == 0
      end
      at = found + 1
    end
  end
end

local function arguments(call)
  return table.concat(call.parts)
end

local function clear_arguments(call)
  call.parts, call.size, call.depth, call.quoted, call.escaped, call.complete = {}, 0, 0, false, false, false
  call.input = nil
end

--- Whether a piece says again what is there already, all of it.
local function repeats(call, piece)
  return call.complete and #piece == call.size and piece == arguments(call)
end

local function is_placeholder(call)
  return call.complete and #call.parts <= 2 and arguments(call):find "^%s*{%s*}%s*$" ~= nil
end

--- Whether a piece that seems to be of `call` is in truth the head of another one.
local function is_other(call, name, piece)
  if not name or not call.name then
    return false
  elseif name ~= call.name then
    return call.complete or #call.parts > 0 or name:sub(1, #call.name) ~= call.name
  end
  return call.complete and type(piece) == "string" and piece:find "%S" ~= nil
    and not is_placeholder(call) and not repeats(call, piece)
end

function Calls:begin(id, index)
  local call = { id = id and not self.by_id[id] and id or nil, extra = {} }
  clear_arguments(call)
  self.list[#self.list + 1] = call
  if call.id then
    self.by_id[id] = call
  end
  if index then
    self.by_index[index] = call
  end
  return call
end

--- The call a piece belongs to.
function Calls:find(id, index, name, piece)
  local place = self.current
  if index then
    place = self.by_index[index]
  end
  if id and self.by_id[id] then
    local call = self.by_id[id]
    -- One id for two calls: only what cannot be of the first begins a second.
    return call.complete and is_other(call, name, piece) and self:begin(nil, index) or call
  elseif not place or is_other(place, name, piece) then
    return self:begin(id, index)
  elseif not id then
    return place
  elseif place.id or not index and place.name and name then
    return self:begin(id, index)
  end
  place.id, self.by_id[id] = id, place
  return place
end

--- Takes one element of `delta.tool_calls`.
---@param delta table
function Calls:add(delta)
  local fn = type(delta["function"]) == "table" and delta["function"] or {}
  local name, piece = text(fn.name), fn.arguments
  local index = math.type(delta.index) == "integer" and delta.index or nil
  local call = self:find(text(delta.id), index, name, piece)
  self.current = call
  if name and (not call.name or name:sub(1, #call.name) == call.name) then
    call.name = name
  end
  if type(piece) == "table" then
    clear_arguments(call)
    call.input, call.complete = piece, true
  elseif text(piece) and not repeats(call, piece) then
    if piece:find "%S" and is_placeholder(call) then
      clear_arguments(call)
    end
    call.parts[#call.parts + 1], call.size = piece, call.size + #piece
    follow(call, piece)
  end
  for key, value in pairs(delta) do
    if not KNOWN[key] and value ~= json.null then
      call.extra[key] = value
    end
  end
end

--- What arguments mean: an object, or nil and the text that is none. Some servers quote them twice.
local function read(call)
  local value = call.input
  local said = arguments(call)
  if value == nil then
    if not said:find "%S" then
      return {}
    end
    value = json.decode(said)
    if type(value) == "string" then
      value = json.decode(value)
    end
  end
  if value == json.null then
    return {}
  elseif type(value) ~= "table" or json.is_array(value) then
    return nil, said ~= "" and said or json.encode(value)
  end
  return value
end

--- An id of our own, of a form that every server takes back.
local function new_id()
  return (clock.random(9):gsub(".", function(byte)
    local letters <const> = "abcdefghijklmnopqrstuvwxyz012345"
    local at = byte:byte() % 32 + 1
    return letters:sub(at, at)
  end))
end

--- The calls, ready to be run: { id, name, input | badInput }, and what else each was sent with.
---@return table[] calls
---@return table extras  by the position as a text; only those that have something
function Calls:finish()
  local out, extras = {}, {}
  for i, call in ipairs(self.list) do
    local input, bad = read(call)
    out[i] = { id = call.id or new_id(), name = call.name or "", input = input, badInput = bad }
    if next(call.extra) then
      extras[tostring(i)] = call.extra
    end
  end
  return out, extras
end

return M
