--- Does a little of everything, over and over, in one process: alisio script tests/soak/loop.lua SECONDS FOLDER
-- Prints the number of rounds after each; what the process holds is watched from outside.
local artifact = require "std.artifact"
local clock = require "std.clock"
local dataset = require "std.dataset"
local fs = require "std.fs"
local json = require "std.json"
local path = require "std.path"
local process = require "std.process"
local sql = require "std.sql"
local task = require "std.task"
local text = require "std.text"

local seconds, folder = ...
local input = "examples/data/sales.csv"
local engine <close> = dataset.open_engine { tmp = folder }

local works = {
  function() -- files
    local name = path.join(folder, "file")
    assert(fs.write(name, ("x"):rep(100000)))
    assert(#fs.read(name) == 100000)
    local root <close> = assert(fs.open_root(folder))
    assert(root:write("deep/er/file", "y", { parents = true }))
    assert(root:remove "deep")
  end,
  function() -- JSON
    local value = json.decode(json.encode { list = { 1, 2.5, "é", { a = true } }, text = ("z"):rep(5000) })
    assert(value.list[2] == 2.5)
    assert(not json.decode "[1,2")
  end,
  function() -- processes: one that ends, one that is ended
    assert(process.run { argv = { "/bin/sh", "-c", "echo out; echo err >&2" } }.stdout == "out\n")
    assert(process.run { argv = { "/bin/sleep", "60" }, timeoutMs = 30 }.timedOut)
  end,
  function() -- databases
    local db <close> = assert(sql.open(path.join(folder, "db.sqlite")))
    assert(db:exec "CREATE TABLE IF NOT EXISTS t (a INTEGER, b TEXT); DELETE FROM t")
    assert(db:transaction(function()
      for i = 1, 50 do
        db:run("INSERT INTO t VALUES (?, ?)", i, ("row"):rep(i))
      end
      return true
    end))
    assert(db:value "SELECT count(*) FROM t" == 50)
    assert(not db:rows "SELECT * FROM nowhere")
  end,
  function() -- datasets: an engine of their own, and the kept ones
    local output = path.join(folder, "sales.sqlite")
    fs.remove(output)
    assert(engine:ingest { input = input, output = output, name = "sales.csv" })
    local answer = assert(engine:query(output, "SELECT region, sum(total) FROM data GROUP BY 1"))
    assert(#answer.rows == 5)
    assert(not engine:query(output, "DROP TABLE data"))
  end,
  function() -- output folders, good and bad, and pages
    local out, copy, zip = path.join(folder, "out"), path.join(folder, "copy"), path.join(folder, "site.zip")
    fs.remove(out)
    fs.remove(copy)
    fs.remove(zip)
    assert(fs.write(path.join(out, "site/index.html"), "<svg width=3></svg>", { parents = true }))
    do
      local source <close> = assert(artifact.scan(out))
      assert(source:copy("site/index.html", copy))
      assert(source:zip("site", zip))
    end
    assert(#engine:lint(copy) == 1)
    assert(not artifact.scan(out, { maxFileBytes = 1 }))
  end,
  function() -- tasks that are cancelled, time out, fail
    local sleeper = task.spawn(task.sleep, 60000)
    sleeper:cancel()
    task.timeout(1, function()
      task.sleep(60000)
    end)
    task.map({ 1, 2, 3 }, function(n)
      task.sleep(n)
      return n
    end)
    pcall(error, "on purpose")
  end,
  function() -- text
    assert(text.width "año" == 3)
    assert(#text.markdown("# Title\n\n* one\n* two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", { width = 60 }) > 10)
  end,
}

local stop, rounds = clock.monotonic() + seconds * 1000, 0
repeat
  task.all(works)
  rounds = rounds + 1
  io.write(rounds, "\n")
  io.flush()
until clock.monotonic() > stop
