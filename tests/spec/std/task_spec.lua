local task = require "std.task"

-- A value for a `<close>` variable.
local function closing(fn)
  return setmetatable({}, { __close = fn })
end

-- A task that was cancelled in its first wait.
local function cancelled_task(fn, ...)
  local child
  local _ <close> = closing(function()
    if child then
      child:cancel()
    end
  end)
  child = task.spawn(fn, ...)
  task.sleep(0)
  return child
end

describe("std.task", function()
  describe("spawn and wait", function()
    it("gives a task's results to all who wait #oom", function()
      local child = task.spawn(function(a, b)
        task.sleep(0)
        return a + b, nil, "third"
      end, 1, 2)
      assert.are.same({ true, 3, nil, "third" }, { child:wait() })
      assert.are.same({ true, 3, nil, "third" }, { child:wait() })
    end)

    it("gives nil and the error of a task that raised #oom", function()
      local ok, err = task.spawn(error, "no luck", 0):wait()
      assert.is_nil(ok)
      assert.equal("no luck", err)
    end)

    it("makes a text of an error that is none", function()
      local _, err = task.spawn(error, setmetatable({}, { __tostring = function()
        return "an object"
      end })):wait()
      assert.equal("an object", err)
    end)

    it("begins a task only when the one that spawns it waits", function()
      local log = {}
      local child = task.spawn(function()
        log[#log + 1] = "child"
      end)
      log[#log + 1] = "parent"
      child:wait()
      assert.are.same({ "parent", "child" }, log)
    end)

    it("resumes in the order of the ends", function()
      local log = {}
      local function work(ms)
        task.sleep(ms)
        log[#log + 1] = ms
      end
      for _, child in ipairs { task.spawn(work, 30), task.spawn(work, 10), task.spawn(work, 0) } do
        child:wait()
      end
      assert.are.same({ 0, 10, 30 }, log)
    end)

    it("does not let a task wait for itself", function()
      local child
      child = task.spawn(function()
        child:wait()
      end)
      local _, err = child:wait()
      assert.matches("wait for itself", err, 1, true)
    end)

    it("knows the running task", function()
      local inside
      local child = task.spawn(function()
        inside = task.current()
      end)
      child:wait()
      assert.equal(child, inside)
      assert.not_equal(child, task.current())
    end)

    it("passes many values", function()
      local child = task.spawn(function(...)
        task.sleep(0)
        return ...
      end, table.unpack({}, 1, 5000))
      assert.equal(5001, select("#", child:wait()))
    end)
  end)

  describe("where no task can wait", function()
    it("raises inside a coroutine of one's own", function()
      local ok, err = coroutine.wrap(function()
        return pcall(task.sleep, 0)
      end)()
      assert.is_false(ok)
      assert.matches("inside a coroutine", err, 1, true)
    end)

    it("raises below a C function that cannot wait", function()
      local ok, err = pcall(table.sort, { 3, 2, 1 }, function()
        task.sleep(0)
      end)
      assert.is_false(ok)
      assert.matches("a C function", err, 1, true)
    end)

    it("ends a task that yields by itself", function()
      local ok, err = task.spawn(coroutine.yield, 1):wait()
      assert.is_nil(ok)
      assert.matches("coroutine.yield", err, 1, true)
    end)
  end)

  it("raises in the program's main task when nothing can end its wait any more", function()
    local ok, err = pcall(task.channel().receive, task.channel())
    assert.is_false(ok)
    assert.matches("deadlock", err, 1, true)
  end)

  describe("on_error", function()
    local heard
    before_each(function()
      heard = {}
      task.on_error(function(text)
        heard[#heard + 1] = text
      end)
    end)
    after_each(function()
      task.on_error(nil)
    end)

    it("hears once of an error that nobody waits for", function()
      task.spawn(error, "unheard", 0)
      task.sleep(1)
      collectgarbage()
      assert.equal(1, #heard)
      assert.matches("^unheard\nstack traceback:", heard[1])
    end)

    it("hears of a handler that fails in a cancelled task", function()
      cancelled_task(function()
        local _ <close> = closing(function()
          error("in the handler", 0)
        end)
        task.sleep(1000)
      end)
      task.sleep(1)
      collectgarbage()
      assert.equal(1, #heard)
      assert.matches("^in the handler", heard[1])
    end)

    it("does not hear what somebody waits for, before or after, nor a cancel", function()
      do
        local late = task.spawn(error, "late", 0)
        task.spawn(error, "heard", 0):wait()
        cancelled_task(task.sleep, 1000)
        task.sleep(1)
        late:wait()
      end
      collectgarbage()
      assert.are.same({}, heard)
    end)
  end)

  describe("cancel", function()
    it("ends a wait with the error cancelled #oom", function()
      local child = cancelled_task(task.sleep, 100)
      assert.are.same({ nil, "cancelled" }, { child:wait() })
    end)

    it("ends a task before its first step", function()
      local ran = false
      local child = task.spawn(function()
        ran = true
      end)
      child:cancel()
      assert.are.same({ nil, "cancelled" }, { child:wait() })
      assert.is_false(ran)
    end)

    it("is harmless on a task that is over", function()
      local child = task.spawn(function()
        return "done"
      end)
      child:wait()
      child:cancel()
      assert.are.same({ true, "done" }, { child:wait() })
    end)

    it("leaves alone the task that is waited for", function()
      local inner = task.spawn(function()
        task.sleep(10)
        return "inner"
      end)
      local outer = cancelled_task(inner.wait, inner)
      assert.are.same({ nil, "cancelled" }, { outer:wait() })
      assert.are.same({ true, "inner" }, { inner:wait() })
    end)

    it("raises at every wait, whatever pcall swallows", function()
      local seen = {}
      local child = cancelled_task(function()
        for i = 1, 3 do
          seen[i] = select(2, pcall(task.sleep, 1000))
        end
        task.sleep(1000)
        seen[4] = "went on"
      end)
      assert.are.same({ nil, "cancelled" }, { child:wait() })
      assert.are.same({ "cancelled", "cancelled", "cancelled" }, seen)
    end)

    it("ends the wait of a variadic function at once, under any protection", function()
      local function variadic(...)
        local waited = task.sleep(10000)
        return waited, ...
      end
      for _, fn in ipairs {
        variadic,
        function(...) return variadic(...) end,
        function() return pcall(variadic, 1, 2) end,
        function() return xpcall(variadic, tostring, 1, 2, 3) end,
      } do
        local began = require("std.clock").monotonic()
        local child = cancelled_task(fn, 1, 2, 3)
        child:wait()
        assert.is_true(require("std.clock").monotonic() - began < 900)
      end
    end)

    it("reaches a task that cancels itself", function()
      local child = task.spawn(function()
        task.current():cancel()
        task.sleep(1000)
      end)
      assert.are.same({ nil, "cancelled" }, { child:wait() })
    end)

    it("lets a task finish that does not wait any more", function()
      local child = task.spawn(function()
        task.current():cancel()
        return "result"
      end)
      assert.are.same({ true, "result" }, { child:wait() })
    end)

    it("drops what a wait has brought when the task did not go on yet", function()
      local ch = task.channel(1)
      local child = task.spawn(function()
        return ch:receive()
      end)
      task.sleep(0)
      ch:send "late"
      child:cancel()
      assert.are.same({ nil, "cancelled" }, { child:wait() })
    end)

    it("ends a task that swallows it for ever", function()
      local closed
      local child = cancelled_task(function()
        local _ <close> = closing(function()
          closed = { pcall(task.sleep, 1) }
        end)
        while true do
          pcall(task.sleep, 1000)
        end
      end)
      assert.are.same({ nil, "cancelled" }, { child:wait() })
      assert.are.same({ false, "cancelled" }, closed)
    end)
  end)

  describe("__close in a cancelled task", function()
    -- Runs fn in a task that is cancelled at its first wait; what fn's closers log comes back.
    local function log_of(fn)
      local log = {}
      local child = cancelled_task(fn, function(...)
        log[#log + 1] = table.concat({ ... }, " ")
      end)
      child:wait()
      return log
    end

    it("may wait when the error unwinds to the end of the task", function()
      assert.are.same({ "closed" }, log_of(function(log)
        local _ <close> = closing(function()
          task.sleep(5)
          log "closed"
        end)
        task.sleep(1000)
      end))
    end)

    it("may wait when a pcall or an xpcall catches the error", function()
      for _, protect in ipairs { pcall, function(fn)
        return xpcall(fn, tostring, 1, 2)
      end } do
        assert.are.same({ "closed", "after cancelled" }, log_of(function(log)
          protect(function()
            local _ <close> = closing(function()
              task.sleep(5)
              log "closed"
            end)
            task.sleep(1000)
          end)
          log("after", select(2, pcall(task.sleep, 5)))
        end))
      end
    end)

    it("may wait when a block ends normally, below functions and pcalls of its own", function()
      assert.are.same({ "closed true" }, log_of(function(log)
        pcall(task.sleep, 1000)
        do
          local _ <close> = closing(function()
            local function deeper()
              task.sleep(5)
            end
            log("closed", tostring(pcall(deeper)))
          end)
        end
      end))
    end)

    it("may wait in a task that cancelled itself and was not told yet", function()
      local log = {}
      task.spawn(function()
        do
          local _ <close> = closing(function()
            task.current():cancel()
            task.sleep(5)
            log[#log + 1] = "closed"
          end)
        end
        log[#log + 1] = select(2, pcall(task.sleep, 5))
      end):wait()
      assert.are.same({ "closed", "cancelled" }, log)
    end)

    it("goes on when the cancel comes while it waits", function()
      local log = {}
      local child = cancelled_task(function()
        do
          local _ <close> = closing(function()
            task.sleep(10)
            log[#log + 1] = "closed"
          end)
        end
        log[#log + 1] = select(2, pcall(task.sleep, 1000))
      end)
      child:wait()
      assert.are.same({ "closed", "cancelled" }, log)
    end)

    it("may wait for one second in all", function()
      local clock = require "std.clock"
      local began = clock.monotonic()
      local log = log_of(function(log)
        local _ <close> = closing(function()
          log("second", tostring(pcall(task.sleep, 5)))
        end)
        local _ <close> = closing(function()
          log("first", tostring(pcall(task.sleep, 60000)))
        end)
        task.sleep(1000)
      end)
      assert.are.same({ "first false", "second false" }, log)
      local took = clock.monotonic() - began
      assert.is_true(took > 900 and took < 5000, took)
    end)
  end)

  describe("map", function()
    it("keeps the order of the list #oom", function()
      local results = assert(task.map({ 30, 10, 20 }, function(ms)
        task.sleep(ms // 10)
        return ms
      end))
      assert.are.same({ 30, 10, 20 }, results)
    end)

    it("runs no more than limit at a time", function()
      local now, most = 0, 0
      task.map({ 1, 2, 3, 4, 5, 6, 7 }, function()
        now = now + 1
        most = math.max(most, now)
        task.sleep(1)
        now = now - 1
      end, { limit = 3 })
      assert.equal(3, most)
    end)

    it("returns the first failure and cancels the rest", function()
      local cancelled = 0
      local results, err, id = task.map({ 1, 2, 3 }, function(i)
        if i == 2 then
          task.sleep(0)
          return nil, "two is bad", "bad"
        end
        local ok = pcall(task.sleep, 10000)
        cancelled = cancelled + (ok and 0 or 1)
      end)
      assert.are.same({ nil, "two is bad", "bad" }, { results, err, id })
      assert.equal(2, cancelled)
    end)

    it("raises what a call raised and cancels the rest", function()
      local ok, err = pcall(task.map, { 1, 2 }, function(i)
        if i == 2 then
          error("two raised", 0)
        end
        task.sleep(10000)
      end)
      assert.are.same({ false, "two raised" }, { ok, err })
    end)

    it("takes its calls with it when it is cancelled", function()
      local ended = 0
      local child = cancelled_task(task.map, { 1, 2 }, function()
        local _ <close> = closing(function()
          task.sleep(5)
          ended = ended + 1
        end)
        task.sleep(10000)
      end)
      task.sleep(0)
      assert.are.same({ nil, "cancelled" }, { child:wait() })
      assert.equal(2, ended)
    end)

    it("takes an empty list", function()
      assert.are.same({}, task.map({}, error))
    end)

    it("refuses a limit that lets nothing run", function()
      assert.has_error(function()
        task.map({ 1 }, print, { limit = 0 })
      end, "limit must be at least 1")
    end)
  end)

  it("runs all functions side by side", function()
    assert.are.same({ 1, 2 }, task.all {
      function()
        task.sleep(5)
        return 1
      end,
      function()
        return 2
      end,
    })
  end)

  it("gives the results of the first in a race and cancels the others", function()
    local other = "running"
    local results = table.pack(task.race {
      function()
        local _ <close> = closing(function()
          other = "ended"
        end)
        task.sleep(10000)
      end,
      function()
        task.sleep(5)
        return "fast", nil, 3
      end,
    })
    assert.are.same({ n = 3, "fast", nil, 3 }, results)
    assert.equal("ended", other)
  end)

  describe("timeout", function()
    it("returns what the function returns #oom", function()
      assert.are.same({ n = 2, nil, "x" }, table.pack(task.timeout(100, function()
        task.sleep(0)
        return nil, "x"
      end)))
    end)

    it("cancels a function that takes too long", function()
      local ended = false
      local ok, err, id = task.timeout(5, function()
        local _ <close> = closing(function()
          ended = true
        end)
        task.sleep(10000)
      end)
      assert.are.same({ nil, "took longer than 5 ms", "timeout" }, { ok, err, id })
      assert.is_true(ended)
    end)

    it("raises what the function raises", function()
      assert.has_error(function()
        task.timeout(1000, function()
          error("inside", 0)
        end)
      end, "inside")
    end)
  end)

  describe("channel", function()
    it("hands each value over in order #oom", function()
      local ch, got = task.channel(), {}
      assert(task.all {
        function()
          for i = 1, 4 do
            ch:send(i)
          end
          ch:close()
        end,
        function()
          local value = ch:receive()
          while value do
            got[#got + 1] = value
            value = ch:receive()
          end
        end,
      })
      assert.are.same({ 1, 2, 3, 4 }, got)
    end)

    it("makes a sender wait for its receiver, and for room", function()
      for capacity = 0, 2 do
        local ch, sent = task.channel(capacity), 0
        local sender = task.spawn(function()
          for i = 1, 5 do
            ch:send(i)
            sent = i
          end
        end)
        task.sleep(0)
        assert.equal(capacity, sent)
        assert.equal(1, ch:receive())
        task.sleep(0)
        assert.equal(capacity + 1, sent)
        sender:cancel()
        sender:wait()
      end
    end)

    it("takes no value from a sender that was cancelled", function()
      local ch = task.channel()
      cancelled_task(ch.send, ch, "gone"):wait()
      task.spawn(ch.send, ch, "here")
      task.sleep(0)
      assert.equal("here", ch:receive())
    end)

    it("ends a wait for a value with the task that would send it, however that ends", function()
      for _, sender in ipairs { function() end, function() error "no" end, function() task.sleep(60000) end } do
        local ch = task.channel()
        local from = task.spawn(sender)
        local receiver = task.spawn(ch.receive, ch, from)
        task.sleep(0)
        from:cancel()
        assert.are.same({ true }, { receiver:wait() })
        assert.is_true(from:over())
        assert.is_false(ch:try_send "nobody waits any more")
        assert.is_nil(ch:receive(from))
        from:wait()
      end
    end)

    it("gives the value that is sent before the task that would send it ends #oom", function()
      local ch = task.channel(1)
      local from = task.spawn(function()
        ch:send "last words"
      end)
      assert.is_false(from:over())
      assert.equal("last words", ch:receive(from))
      local receiver = task.spawn(ch.receive, ch, from)
      receiver:cancel() -- its wait is forgotten, also by the task
      from:wait()
    end)

    it("does not let a task wait for a value of its own", function()
      local ch = task.channel()
      assert.has_error(function()
        ch:receive(task.current())
      end)
    end)

    it("gives no value to a receiver that was cancelled", function()
      local ch = task.channel()
      cancelled_task(ch.receive, ch):wait()
      assert.is_false(ch:try_send "lost")
    end)

    it("can be emptied after it was closed", function()
      local ch = task.channel(2)
      ch:send "a"
      local receiver = task.spawn(function()
        return ch:receive(), ch:receive()
      end)
      ch:close()
      assert.are.same({ true, "a", nil }, { receiver:wait() })
      assert.are.same({ nil, "the channel is closed", "closed" }, { ch:send "b" })
      assert.is_false(ch:try_send "b")
    end)

    it("ends the senders that wait when it is closed", function()
      local ch = task.channel()
      local sender = task.spawn(ch.send, ch, "x")
      task.sleep(0)
      ch:close()
      assert.are.same({ true, nil, "the channel is closed", "closed" }, { sender:wait() })
      assert.is_nil(ch:receive())
    end)

    it("refuses nil", function()
      assert.has_error(function()
        task.channel(1):send(nil)
      end)
    end)
  end)
end)
