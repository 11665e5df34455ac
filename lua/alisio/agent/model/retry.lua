--- The one layer that sends a request to a model again. It knows nothing of HTTP: an attempt that
-- may be repeated says so, and how long its server asked to wait.
local clock = require "std.clock"
local task = require "std.task"

local M = {}

--- How often a request is sent at most, the waits between (doubled each time, up to a quarter of it
--- left to chance), and the longest wait a server may ask for.
M.ATTEMPTS = 5
M.FIRST_MS = 500
M.MOST_MS = 60000

local MONTHS = { jan = 1, feb = 2, mar = 3, apr = 4, may = 5, jun = 6, jul = 7, aug = 8, sep = 9, oct = 10, nov = 11, dec = 12 }

--- Days since 1970-01-01 of a date of the Gregorian calendar.
local function days(year, month, day)
  if month <= 2 then
    year, month = year - 1, month + 12
  end
  return 365 * year + year // 4 - year // 100 + year // 400 + (153 * (month - 3) + 2) // 5 + day - 719469
end

--- Milliseconds since 1970 of an HTTP date, of whichever of its three forms.
local function date_ms(text)
  local day, month, year, hour, minute, second = text:match "^%a+, (%d%d?)[ -](%a%a%a)[ -](%d+) (%d%d):(%d%d):(%d%d) GMT$"
  if not day then
    month, day, hour, minute, second, year = text:match "^%a+ (%a%a%a) +(%d+) (%d%d):(%d%d):(%d%d) (%d%d%d%d)$"
  end
  month = month and MONTHS[month:lower()]
  if not month then
    return nil
  end
  year = math.tointeger(tonumber(year))
  if year < 100 then
    year = year + (year < 70 and 2000 or 1900)
  end
  return ((days(year, month, math.tointeger(tonumber(day))) * 24 + hour) * 60 + minute) * 60000 + second * 1000
end

--- What a Retry-After header asks for, at most MOST_MS; nil when it says nothing that can be used.
---@param header string?  seconds, or a date
---@param now? integer    ms since 1970
---@return integer? ms
function M.after(header, now)
  local text = (header or ""):match "^%s*(.-)%s*$"
  local ms
  if text:find "^%d+%.?%d*$" then
    ms = tonumber(text) * 1000
  else
    local at = date_ms(text)
    ms = at and at - (now or clock.now())
  end
  return ms and math.floor(math.max(0, math.min(ms, M.MOST_MS)))
end

--- Calls attempt until it succeeds, fails for good, or has been called ATTEMPTS times.
---@async
---@param attempt fun(): any, string?, string?, table?  what it returns is returned; a failure with
---   `retry = true` in its fields is tried again, after `retryAfterMs` of them where that is given
---@param on_wait? fun(ms: integer, fields: table)     hears of every wait before it begins
---@return any ...
function M.run(attempt, on_wait)
  for n = 1, M.ATTEMPTS do
    local results = table.pack(attempt())
    local fields = results[4]
    if results[1] ~= nil or n == M.ATTEMPTS or type(fields) ~= "table" or not fields.retry then
      return table.unpack(results, 1, results.n)
    end
    local backoff = M.FIRST_MS << (n - 1)
    backoff = backoff - backoff * clock.random(1):byte() // 1024
    local ms = fields.retryAfterMs or math.min(backoff, M.MOST_MS)
    if on_wait then
      on_wait(ms, fields)
    end
    task.sleep(ms)
  end
end

return M
