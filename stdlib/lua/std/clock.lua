--- Time and randomness. Nothing else of the program asks the system for either, so that a spec can
--- put a fake in front and a test build can fix both from the environment.
local clock = require "host.clock"

local M = {}

--- The wall clock.
---@return integer ms  milliseconds since 1970, UTC
M.now = clock.now

--- A clock for measuring: from an arbitrary start, never set back.
---@return number ms
M.monotonic = clock.monotonic

--- Bytes nobody can guess.
---@param n integer  how many, at most 1048576
---@return string? bytes
---@return string? err
---@return string? id
M.random = clock.random

--- A moment as ISO 8601 with milliseconds: "2026-01-31T09:30:00.250Z".
---@param ms integer  milliseconds since 1970, UTC
---@return string
function M.iso(ms)
  return os.date("!%Y-%m-%dT%H:%M:%S", ms // 1000) .. (".%03dZ"):format(ms % 1000)
end

return M
