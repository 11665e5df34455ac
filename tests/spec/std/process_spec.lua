local clock = require "std.clock"
local fs = require "std.fs"
local process = require "std.process"
local task = require "std.task"
local without_memory = require "spec.without_memory"

local function sh(script, more)
  local opts = { argv = { "sh", "-c", script } }
  for key, value in pairs(more or {}) do
    opts[key] = value
  end
  return opts
end

local function alive(pid)
  local stat = fs.read("/proc/" .. pid .. "/stat")
  return stat ~= nil and not stat:find "%) Z"
end

-- Waits for a condition, never for a time.
local function eventually(condition)
  for _ = 1, 500 do
    if condition() then
      return true
    end
    task.sleep(2)
  end
  return false
end

describe("std.process run", function()
  it("gives both streams, bytes as they are, and the exit code #oom", function()
    local r = assert(process.run(sh "printf 'a\\000\\377b'; printf oops >&2; exit 3"))
    assert.equal("a\0\255b", r.stdout)
    assert.equal("oops", r.stderr)
    assert.equal(3, r.code)
    assert.is_nil(r.signal)
    assert.equal("exited", r.reason)
    assert.is_false(r.timedOut)
    assert.are.same({ stdout = false, stderr = false }, r.truncated)
  end)

  it("names what ended a program", function()
    local r = assert(process.run(sh "kill -9 $$"))
    assert.is_nil(r.code)
    assert.equal(9, r.signal)
    assert.equal("signaled", r.reason)
  end)

  it("says which program or folder is missing", function()
    local r, err, id = process.run { argv = { "no-such-program-here" } }
    assert.is_nil(r)
    assert.matches("no-such-program-here", err, 1, true)
    assert.equal("not_found", id)
    r, err, id = process.run { argv = { "true" }, cwd = "/no/such/folder" }
    assert.is_nil(r)
    assert.matches("/no/such/folder", err, 1, true)
    assert.equal("not_found", id)
  end)

  it("looks the program up in the PATH it is given", function()
    local r, _, id = process.run { argv = { "sh", "-c", "true" }, env = { PATH = "/no/such" } }
    assert.is_nil(r)
    assert.equal("not_found", id)
  end)

  it("gives exactly the environment and the folder asked for", function()
    local r = assert(process.run {
      argv = { "/usr/bin/env" }, env = { B = "two=2", A = "1" }, cwd = "/",
    })
    assert.equal("A=1\nB=two=2\n", r.stdout)
    r = assert(process.run { argv = { "pwd" }, cwd = "/usr" })
    assert.equal("/usr\n", r.stdout)
  end)

  it("passes on descriptors 0 to 2 and no other", function()
    local r = assert(process.run(sh "ls /proc/self/fd"))
    assert.equal("0\n1\n2\n3\n", r.stdout) -- 3 is the folder ls reads
  end)

  it("writes the input while it reads the output", function()
    local text = ("0123456789abcdef"):rep(100000)
    local r = assert(process.run { argv = { "cat" }, stdin = text, maxOutputBytes = #text })
    assert.is_true(r.stdout == text)
  end)

  it("ends the input also when memory ends", function()
    local r
    without_memory(function()
      r = nil
      r = process.run { argv = { "cat" }, stdin = "all", timeoutMs = 1500 }
    end, function(n)
      assert.is_false(r ~= nil and r.timedOut, "cat waits for its end after allocation " .. n)
    end)
    assert.equal("all", r.stdout)
  end)

  it("lets a program leave its input unread", function()
    local r = assert(process.run { argv = { "true" }, stdin = ("x"):rep(1000000) })
    assert.equal(0, r.code)
  end)

  it("keeps the first and the last half of what is too long", function()
    local r = assert(process.run(sh("seq 1 5000", { maxOutputBytes = 20 })))
    assert.equal("1\n2\n3\n4\n5\n4999\n5000\n", r.stdout)
    assert.equal(20, #r.stdout)
    assert.equal(10, r.headBytes.stdout)
    assert.equal(23893 - 20, r.truncated.stdout)
    r = assert(process.run(sh("printf 12345", { maxOutputBytes = 5 })))
    assert.equal("12345", r.stdout)
    assert.is_false(r.truncated.stdout)
    r = assert(process.run(sh("printf 123456", { maxOutputBytes = 1 })))
    assert.equal("1", r.stdout)
    r = assert(process.run(sh("printf 123456", { maxOutputBytes = 0 })))
    assert.equal("", r.stdout)
    assert.equal(6, r.truncated.stdout)
  end)

  it("tells the whole output as it comes", function()
    local bytes, streams = 0, {}
    assert(process.run(sh("head -c 3000000 /dev/zero; echo x >&2", {
      maxOutputBytes = 10,
      on_output = function(stream, chunk)
        bytes = bytes + #chunk
        streams[stream] = true
      end,
    })))
    assert.equal(3000002, bytes)
    assert.are.same({ stdout = true, stderr = true }, streams)
  end)

  it("ends a program that takes too long, with all it started", function()
    local start = clock.monotonic()
    local r = assert(process.run(sh("setsid sleep 60 & echo $!; sleep 60", { timeoutMs = 200 })))
    assert.is_true(r.timedOut)
    assert.equal("timeout", r.reason)
    assert.is_true(clock.monotonic() - start < 1500)
    assert.is_false(alive(r.stdout:match "%d+"))
  end)

  it("ends what a program leaves behind", function()
    local r = assert(process.run(sh "(setsid sh -c 'trap \"\" TERM HUP; sleep 60' & echo $!); exit 4"))
    assert.equal(4, r.code)
    assert.is_true(r.ended >= 1)
    assert.is_false(alive(r.stdout:match "%d+"))
  end)

  it("ends soon after a cancel", function()
    local pid
    local runner = task.spawn(process.run, sh("echo $$; sleep 60 & wait", {
      on_output = function(_, chunk)
        pid = chunk:match "%d+"
      end,
    }))
    assert.is_true(eventually(function()
      return pid
    end))
    local start = clock.monotonic()
    runner:cancel()
    local ok, err = runner:wait()
    local took = clock.monotonic() - start
    assert.is_nil(ok)
    assert.equal("cancelled", err)
    assert.is_false(alive(pid))
    assert.is_true(took < 1000, took .. " ms")
  end)

  it("gives a program the time to tidy up", function()
    local r = assert(process.run(sh("trap 'echo bye; exit 0' TERM; echo hi; while :; do sleep 0.01; done",
      { timeoutMs = 200 })))
    assert.equal("hi\nbye\n", r.stdout)
  end)

  it("runs many at once", function()
    local list = {}
    for i = 1, 20 do
      list[i] = i
    end
    local results = assert(task.map(list, function(i)
      return process.run(sh("sleep 0.0" .. i % 10 .. "; echo " .. i))
    end))
    for i = 1, 20 do
      assert.equal(i .. "\n", results[i].stdout)
    end
  end)

  it("refuses names that are no variables", function()
    assert.has_error(function()
      process.run { argv = { "true" }, env = { ["A=B"] = "1" } }
    end, "not the name of a variable: A=B")
  end)
end)

describe("std.process jail", function()
  it("holds its limits", function()
    local jail = { limits = { openFiles = 50, fileBytes = 1048576, cpuMs = 3000 } }
    local r = assert(process.run(sh("ulimit -n; ulimit -f; ulimit -t; ulimit -c", { jail = jail })))
    assert.equal("50\n2048\n3\n0\n", r.stdout)
  end)

  it("gives no new privileges", function()
    local r = assert(process.run(sh("grep NoNewPrivs /proc/self/status", { jail = {} })))
    assert.matches("1", r.stdout)
  end)

  it("ends a job with too many processes", function()
    local r = assert(process.run(sh("for i in 1 2 3 4 5 6 7 8; do sleep 60 & done; wait", {
      jail = { limits = { processes = 5 } }, timeoutMs = 10000,
    })))
    assert.equal("limit", r.reason)
    assert.equal("processes", r.limit)
    assert.is_true(r.usage.processes > 5)
  end)

  it("ends a job whose script has killed the supervisor", function()
    local r = assert(process.run(sh("echo $$; setsid sleep 60 & echo $!; kill -9 $PPID; sleep 60", {
      jail = { mark = "SPEC_MARK=unlike-any-other" },
      env = { PATH = "/usr/bin:/bin", SPEC_MARK = "unlike-any-other" },
    })))
    assert.equal("lost", r.reason)
    assert.is_false(r.left)
    assert.is_nil(r.code)
    for pid in r.stdout:gmatch "%d+" do
      assert.is_false(alive(pid))
    end
  end)

  it("ends a job whose script has stopped the supervisor", function()
    local r = assert(process.run(sh("kill -STOP $PPID; sleep 60", {
      jail = { mark = "SPEC_MARK=stopped" }, timeoutMs = 1500, -- time enough to stop it
      env = { PATH = "/usr/bin:/bin", SPEC_MARK = "stopped" },
    })))
    assert.is_true(r.reason == "lost" or r.reason == "timeout") -- whoever of the two sees first that time is up
    assert.is_false(r.left)
  end)
end)

describe("std.process spawn", function()
  it("talks with a program", function()
    local child <close> = assert(process.spawn { argv = { "cat" } })
    assert(child:write "hello ")
    assert.are.same({ "stdout", "hello " }, { child:read() })
    assert(child:write "again")
    child:close_stdin()
    assert.are.same({ "stdout", "again" }, { child:read() })
    assert.is_nil(child:read())
    assert.equal(0, assert(child:wait()).code)
    assert.is_true(child.pid > 1)
  end)

  it("says when nobody reads the input", function()
    local child <close> = assert(process.spawn { argv = { "true" } })
    child:wait()
    local ok, _, id, fields = child:write "x"
    assert.is_nil(ok)
    assert.equal("io_error", id)
    assert.equal("closed", fields.reason)
  end)

  it("kills the whole tree", function()
    local child <close> = assert(process.spawn(sh "sleep 60 & echo $!; wait"))
    local _, pid = child:read()
    child:kill()
    local r = assert(child:wait())
    assert.equal("stopped", r.reason)
    assert.is_false(alive(pid:match "%d+"))
  end)

  it("ends it with the block, and with the handle", function()
    local pid, forgotten
    do
      local child <close> = assert(process.spawn(sh "echo $$; exec sleep 60"))
      pid = select(2, child:read())
    end
    assert.is_false(alive(pid:match "%d+"))
    do
      local child = assert(process.spawn(sh "echo $$; exec sleep 60"))
      forgotten = select(2, child:read())
    end
    collectgarbage()
    collectgarbage()
    assert.is_true(eventually(function()
      return not alive(forgotten:match "%d+")
    end))
  end)

  it("makes a program wait whose output nobody reads", function()
    local child <close> = assert(process.spawn { argv = { "head", "-c", "5000000", "/dev/zero" } })
    task.sleep(50)
    local bytes = 0
    for _, chunk in child.read, child do
      assert.is_true(#chunk <= 65536)
      bytes = bytes + #chunk
    end
    assert.equal(5000000, bytes)
  end)

  it("may be waited for twice", function()
    local child <close> = assert(process.spawn { argv = { "true" } })
    assert.equal(0, assert(child:wait()).code)
    assert.equal(0, assert(child:wait()).code)
  end)
end)

describe("std.process signals", function()
  it("hears the named signals", function()
    local signals <close> = process.signals { "USR1", "USR2" }
    local me = fs.read("/proc/self/stat"):match "^%d+"
    assert(process.run { argv = { "kill", "-USR2", me } })
    assert.equal("USR2", signals:wait())
  end)

  it("can be left waiting", function()
    local signals <close> = process.signals { "USR1" }
    local _, _, id = task.timeout(10, function()
      return signals:wait()
    end)
    assert.equal("timeout", id)
  end)

  it("wakes who waits when it is closed", function()
    local signals = process.signals { "USR1" }
    local waiter = task.spawn(signals.wait, signals)
    task.sleep(0)
    signals:close()
    assert.are.same({ true, nil }, { waiter:wait() })
  end)

  it("knows its names", function()
    assert.has_error(function()
      process.signals { "KILL" }
    end, "no signal 'KILL': HUP, INT, QUIT, TERM, USR1, USR2, WINCH, CONT, TSTP")
  end)
end)

describe("std.process environment", function()
  it("is a table of this process's own", function()
    assert.equal(fs.env "PATH", process.environment().PATH)
  end)
end)
