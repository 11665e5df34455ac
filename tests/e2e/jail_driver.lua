--- Runs one program in the jail and tells what became of it:
---   alisio script jail_driver.lua HOW MARK PROGRAM [ARG…]
--- HOW is "wait", "stop" (when the program says ready) or a time limit in milliseconds. The program's
--- output is passed on; last comes a line of JSON.
local clock = require "std.clock"
local json = require "std.json"
local process = require "std.process"
local term = require "std.term"

local how, mark = ...
local env = require("std.fs").env
local limits, sandbox = json.decode(env "JAIL_LIMITS" or "{}"), env "JAIL_SANDBOX"
local child <close> = assert(process.spawn {
  argv = { table.unpack({ ... }, 3) }, timeoutMs = math.tointeger(tonumber(how)),
  env = { PATH = "/usr/bin:/bin", E2E_MARK = mark },
  jail = { limits = limits, mark = "E2E_MARK=" .. mark, sandbox = sandbox and json.decode(sandbox) },
})
local stopped
for _, chunk in child.read, child do
  term.write(chunk)
  if how == "stop" and chunk:find "ready" then
    stopped = clock.monotonic()
    child:kill()
  end
end
local result = assert(child:wait())
result.stopMs = stopped and clock.monotonic() - stopped
term.write(json.encode(result) .. "\n")
