local clock = require "std.clock"
local fs = require "std.fs"
local json = require "std.json"
local task = require "std.task"
local events = require "alisio.kernel.events"
local event_types = require "alisio.kernel.event_types"
local store_module = require "alisio.kernel.store"
local without_memory = require "spec.without_memory"

--- Wrong in one call after the other until `left` is used up.
local function failing(store, left)
  local real = store.append_all
  store.append_all = function(self, ...)
    if left > 0 then
      left = left - 1
      return nil, "the disk is full", "no_space", { object = "sessions.sqlite" }
    end
    return real(self, ...)
  end
end

describe("bus", function()
  local dir, store, session, bus, heard

  before_each(function()
    dir = assert(fs.temp_dir(fs.env "TMPDIR" or "/tmp", "events"))
    store = assert(store_module.open(dir))
    session = assert(store:create_session { kind = "run", cwd = "/x" })
    bus = events.bus(store, session, "run_1")
    heard = {}
    bus:on(function(event) heard[#heard + 1] = event end)
  end)
  after_each(function()
    bus:flush()
    store:close()
    fs.remove(dir)
  end)

  local function log(text)
    return bus:emit("log", { level = "info", text = text })
  end
  local function texts(list)
    local out = {}
    for i, event in ipairs(list) do
      out[i] = event.text
    end
    return table.concat(out, " ")
  end

  it("stores first, then tells", function()
    local stored_when_told
    bus:on(function(event)
      local other <close> = assert(store_module.open(dir))
      stored_when_told = assert(other:events(session))[event.seq]
    end)
    assert.equal(1, log "one")
    assert.equal("one", stored_when_told.text)
    local event = heard[1]
    assert.same({ 1, 1, session, "run_1", "log" }, { event.v, event.seq, event.session, event.run, event.type })
    assert.is_true(math.abs(clock.now() - event.time) < 5000)
  end)

  it("gives every reader what the database holds", function()
    bus:emit("tool_completed", { callId = "c", name = "t", status = "ok", output = {}, durationMs = 1.5, extra = { deep = true } })
    local stored = assert(store:events(session))[1]
    assert.equal(json.encode(stored), json.encode(heard[1]))
    assert.matches('"output":[]', json.encode(stored), 1, true)
  end)

  it("leaves nobody waiting when its own task ends early, and goes on with the next event", function()
    for _ = 1, 25 do -- more than may go out in a second: it waits
      bus:emit("message_delta", { text = "x", channel = "text" })
      bus:release()
    end
    local first = task.spawn(log, "one")
    task.sleep(20)
    bus.pump_task:cancel()
    assert.same({ true, nil, "the event was not stored", "internal" }, { task.timeout(1000, function()
      return first:wait()
    end) })
    assert.equal("number", type(log "three"))
  end)

  it("leaves nobody waiting when memory ends, wherever it does, and goes on with the next event", function()
    without_memory(function()
      log "one"
    end, function(n)
      assert.equal("number", type(log "two"), "after allocation " .. n)
    end)
  end)

  it("lets out what has no seq after memory ended, wherever it did", function()
    local said
    without_memory(function()
      bus:emit("tool_progress", { callId = "c", text = "x" })
    end, function(n)
      said = "progress " .. n
      bus.sent, bus.last_sent = {}, -math.huge -- as if the second were over
      bus:emit("tool_progress", { callId = "c", text = said })
      for _ = 1, 200 do
        if heard[#heard] and heard[#heard].text == said then
          return
        end
        task.sleep(1)
      end
      error("nothing went out after allocation " .. n)
    end)
  end)

  it("keeps the order of seq across tasks and for every listener", function()
    local second = {}
    bus:on(function(event)
      task.sleep(event.seq % 3)
      second[#second + 1] = event.seq
    end)
    local list = {}
    for i = 1, 30 do
      list[i] = i
    end
    local seqs = assert(task.map(list, function(i) return log(tostring(i)) end))
    table.sort(seqs)
    for i = 1, 30 do
      assert.same({ i, i, i }, { seqs[i], heard[i].seq, second[i] })
    end
  end)

  it("tells nobody what could not be stored", function()
    failing(store, 1)
    local seq, message, id, fields = log "lost"
    assert.same({ "the disk is full", "no_space", "sessions.sqlite" }, { message, id, fields.object })
    assert.is_nil(seq)
    assert.same({}, heard)
    assert.equal(1, log "kept")
    assert.equal("kept", texts(heard))
  end)

  it("stores and tells also for a task that is being cancelled", function()
    local ended
    local doomed = task.spawn(function()
      local _ <close> = setmetatable({}, { __close = function()
        log "last words"
        ended = true
      end })
      task.sleep(60000)
    end)
    task.sleep(5)
    doomed:cancel()
    doomed:wait()
    bus:flush()
    assert.is_true(ended)
    assert.equal("last words", texts(heard))

    doomed = task.spawn(function()
      pcall(task.sleep, 60000)
      log "cannot wait any more"
    end)
    task.sleep(5)
    doomed:cancel()
    assert.same({ nil, "cancelled" }, { doomed:wait() })
    bus:flush()
    assert.equal("last words cannot wait any more", texts(heard))
  end)

  it("lets a listener emit", function()
    bus:on(function(event)
      if event.text == "ping" then
        log "pong"
      end
    end)
    log "ping"
    bus:flush()
    assert.equal("ping pong", texts(heard))
  end)

  it("reports a listener that raises once and goes on", function()
    bus:on(function() error "broken" end)
    log "one"
    log "two"
    bus:flush()
    local failures = {}
    for _, event in ipairs(heard) do
      failures[#failures + 1] = event.level == "error" and event.text or nil
    end
    assert.equal(1, #failures)
    assert.matches("a listener failed: .*events_spec.lua:%d+: broken", failures[1])
    assert.equal(3, #heard)
  end)

  it("answers who waits when the store raises, and goes on", function()
    local real = store.append_all
    store.append_all = function() error "not enough memory" end
    local answers = assert(task.map({ 1, 2, 3 }, function(i) return { log(tostring(i)) } end))
    store.append_all = real
    for _, answer in ipairs(answers) do
      assert.matches("not enough memory", answer[2])
      assert.equal("internal", answer[3])
    end
    assert.same({}, heard)
    assert.equal(1, log "after")
    assert.equal("after", texts(heard))
  end)

  it("forgets a listener that was removed", function()
    local count = 0
    local remove = bus:on(function() count = count + 1 end)
    log "one"
    remove()
    remove()
    log "two"
    assert.equal(1, count)
  end)

  it("raises for unknown types and wrong fields, at the caller", function()
    local ok, err = pcall(bus.emit, bus, "tool_startd", {})
    assert.is_false(ok)
    assert.matches('no event type "tool_startd", did you mean tool_started?', err, 1, true)
    ok, err = pcall(function() bus:emit("log", { level = "loud", text = "x" }) end)
    assert.is_false(ok)
    assert.matches('events_spec.lua:%d+: log: %$%.level: expected one of', err)
    assert.is_false(pcall(bus.emit, bus, "log", { level = "info", text = "x", bad = print }))
    assert.same({}, assert(store:events(session)))
  end)

  describe("without seq", function()
    local function deltas(list, channel)
      local out = {}
      for _, event in ipairs(list) do
        if event.type == "message_delta" and event.channel == channel then
          out[#out + 1] = event.text
        end
      end
      return table.concat(out), #out
    end

    it("loses no text, keeps the order, and stores nothing", function()
      local expected = {}
      for i = 1, 500 do
        expected[i] = i .. ","
        bus:emit("message_delta", { text = expected[i], channel = "text" })
        if i % 10 == 0 then
          bus:emit("message_delta", { text = "r" .. i, channel = "reasoning" })
          task.sleep(1)
        end
      end
      bus:emit("message_completed", { text = table.concat(expected), role = "assistant" })
      assert.equal(table.concat(expected), (deltas(heard, "text")))
      assert.is_true(#deltas(heard, "reasoning") > 50)
      assert.equal("message_completed", heard[#heard].type)
      for i = 1, #heard - 1 do
        assert.is_nil(heard[i].seq)
      end
      assert.equal(1, #assert(store:events(session)))
    end)

    it("goes out at once, then at most 20 times in any second", function()
      local start = clock.monotonic()
      local times = {}
      bus:on(function(event)
        times[#times + 1] = event.seq == nil and clock.monotonic() or nil
      end)
      bus:emit("message_delta", { text = "a", channel = "text" })
      task.sleep(20)
      assert.equal(1, #times)
      while clock.monotonic() - start < 1700 do
        bus:emit("message_delta", { text = "x", channel = "text" })
        bus:emit("tool_progress", { callId = "c" .. #times % 3, text = "y" })
        if #times % 2 == 0 then
          log "between"
        end
        task.sleep(2)
      end
      bus:flush()
      assert.is_true(#times >= 25, "only " .. #times)
      for i = 21, #times do -- some slack: a listener hears it a little after it was let out
        assert.is_true(times[i] - times[i - 20] >= 980, ("%d: %.1f ms"):format(i, times[i] - times[i - 20]))
      end
    end)

    it("says the newest progress of each call", function()
      bus:emit("tool_progress", { callId = "a", text = "0%" })
      task.sleep(10)
      for i = 1, 99 do
        bus:emit("tool_progress", { callId = "a", text = i .. "%" })
        bus:emit("tool_progress", { callId = "b", text = "row " .. i })
      end
      bus:flush()
      assert.equal("0% 99% row 99", texts(heard))
    end)
  end)
end)

describe("event types", function()
  it("are those of the contract", function()
    local names = {}
    for i, entry in ipairs(event_types) do
      names[i] = entry.type
      assert.is_truthy(entry.help ~= "" and #entry.fields > 0)
    end
    table.sort(names)
    assert.equal("artifact_published dataset_ready log message_completed message_delta permission_requested "
      .. "permission_resolved run_completed run_started session_opened tool_completed tool_progress tool_started "
      .. "turn_completed", table.concat(names, " "))
  end)
end)
