--- What test_kill.py kills: a session whose bus is used by several tasks at once, as fast as the disk
--- allows. Prints each event the moment it is told, as `alisio run --json` does.
local fs = require "std.fs"
local json = require "std.json"
local task = require "std.task"
local events = require "alisio.kernel.events"
local ids = require "alisio.kernel.ids"
local store_module = require "alisio.kernel.store"

io.stdout:setvbuf "line"

local store = assert(store_module.open(fs.env "ALISIO_STATE_HOME"))
local session = assert(store:create_session { kind = "run", cwd = fs.cwd() })
local lock <const> = assert(store:hold(session, "run"))
local run = ids.new "run"
local bus = events.bus(store, session, run)
bus:on(function(event)
  io.write(json.encode(event), "\n")
end)

bus:emit("run_started", { prompt = "until killed", model = "none", agent = "driver" })
local workers = {}
for worker = 1, 4 do
  workers[worker] = function()
    for i = 1, math.maxinteger do
      local call = { callId = ("c%d-%d"):format(worker, i), name = "tool" .. worker }
      bus:emit("tool_started", { callId = call.callId, name = call.name, input = { i = i }, effect = "write" })
      bus:emit("message_delta", { text = "w" .. worker, channel = "text" })
      assert(store.artifacts.save { id = ids.new "art", session = session, status = "ready", title = ("x"):rep(i % 5000) })
      bus:emit("tool_completed", {
        callId = call.callId, name = call.name, status = "ok", output = { { type = "text", text = ("y"):rep(i % 3000) } },
        durationMs = 1,
      })
    end
  end
end
task.all(workers)
lock:release()
