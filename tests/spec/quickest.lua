--- For promises about time on a machine that others use too: what the program can do, not what the
--- machine did to it.
local clock = require "std.clock"

--- The shortest of up to five runs, in ms, of what fn(start) measures: fn calls start() when the time
--- begins. Stops early once a run took less than `enough`.
return function(enough, fn)
  local best = math.huge
  for _ = 1, 5 do
    local began
    fn(function() began = clock.monotonic() end)
    best = math.min(best, clock.monotonic() - began)
    if best < enough then
      break
    end
  end
  return best
end
