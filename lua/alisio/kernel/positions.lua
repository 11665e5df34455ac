--- Where each key of a JSON text stands. The text is valid already: std.json has read it; this only
-- finds places again, so that a message can name line and column.
local json = require "std.json"

local M = {}

local Scanner = {}
Scanner.__index = Scanner

function Scanner:space()
  self.at = self.text:find("[^ \t\r\n]", self.at) or #self.text + 1
end

--- Moves behind the string that begins here.
function Scanner:skip_string()
  local at = self.at + 1
  while true do
    local mark = self.text:find('["\\]', at)
    if self.text:byte(mark) == 34 then -- the closing quote
      self.at = mark + 1
      return
    end
    at = mark + 2
  end
end

function Scanner:place(at)
  while self.line_end and self.line_end < at do
    self.line, self.line_start = self.line + 1, self.line_end + 1
    self.line_end = self.text:find("\n", self.line_start, true)
  end
  local before = self.text:sub(self.line_start, at - 1)
  return { line = self.line, column = (utf8.len(before) or #before) + 1 }
end

function Scanner:object(steps)
  local seen = {}
  self.at = self.at + 1
  self:space()
  while self.text:byte(self.at) ~= 125 do -- }
    local start = self.at
    self:skip_string()
    local name = json.decode(self.text:sub(start, self.at - 1))
    local inner = table.move(steps, 1, #steps, 1, {})
    inner[#inner + 1] = name
    local place = self:place(start)
    place.steps = inner
    if seen[name] then
      self.twice = self.twice or place
    end
    seen[name] = true
    self.places[table.concat(inner, "\0")] = place
    self:space()
    self.at = self.at + 1 -- the colon
    self:value(inner)
    self:space()
    if self.text:byte(self.at) == 44 then -- a comma
      self.at = self.at + 1
      self:space()
    end
  end
  self.at = self.at + 1
end

function Scanner:array(steps)
  self.at = self.at + 1
  self:space()
  while self.text:byte(self.at) ~= 93 do -- ]
    self:value(steps)
    self:space()
    if self.text:byte(self.at) == 44 then
      self.at = self.at + 1
      self:space()
    end
  end
  self.at = self.at + 1
end

function Scanner:value(steps)
  self:space()
  local byte = self.text:byte(self.at)
  if byte == 123 then
    self:object(steps)
  elseif byte == 91 then
    self:array(steps)
  elseif byte == 34 then
    self:skip_string()
  else
    self.at = self.text:find("[,%]}%s]", self.at) or #self.text + 1
  end
end

---@class alisio.Place
---@field line integer      from 1
---@field column integer    from 1, in characters
---@field steps string[]    the names that lead there

--- The places of all keys, by their names joined with "\0", and the first key that stands twice.
---@param text string  valid JSON
---@return table<string, alisio.Place> places
---@return alisio.Place? twice
function M.of(text)
  local scanner = setmetatable({ text = text, at = 1, places = {}, line = 1, line_start = 1 }, Scanner)
  scanner.line_end = text:find("\n", 1, true)
  scanner:value {}
  return scanner.places, scanner.twice
end

return M
