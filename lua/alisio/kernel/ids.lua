--- Names of sessions, runs, executions, artifacts and datasets: a prefix and 26 Crockford
-- characters, 48 bits of milliseconds and 80 random ones. Later ids of a process sort behind
-- earlier ones, within a millisecond and when the clock steps back too.
local clock = require "std.clock"

local M = {}

local DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
local HALF = 1 << 40 -- 80 bits are two numbers of 40

local last_time, last_high, last_low = -1, 0, 0

local function base32(number, length)
  local out = {}
  for i = length, 1, -1 do
    local digit = (number & 31) + 1
    out[i] = DIGITS:sub(digit, digit)
    number = number >> 5
  end
  return table.concat(out)
end

--- A new id.
---@param prefix string  "ses", "run", "exec", "art", "ds", …
---@return string        "ses_" and 26 characters
function M.new(prefix)
  local time = clock.now()
  if time > last_time then
    last_time = time
    last_high, last_low = string.unpack(">I5I5", clock.random(10))
  else
    last_low = (last_low + 1) % HALF
    if last_low == 0 then
      last_high = (last_high + 1) % HALF
      last_time = last_time + (last_high == 0 and 1 or 0)
    end
  end
  return ("%s_%s%s%s"):format(prefix, base32(last_time, 10), base32(last_high, 8), base32(last_low, 8))
end

--- Whether a text is an id of that prefix.
---@param id any
---@param prefix string
---@return boolean
function M.valid(id, prefix)
  if type(id) ~= "string" or #id ~= #prefix + 27 or id:sub(1, #prefix + 1) ~= prefix .. "_" then
    return false
  end
  return id:find("[^" .. DIGITS .. "]", #prefix + 2) == nil
end

return M
