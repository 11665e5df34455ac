local fs = require "std.fs"
local quickest = require "spec.quickest"
local sql = require "std.sql"
local task = require "std.task"

describe("std.sql", function()
  local dir, db

  local function open(name, opts)
    return assert(sql.open(dir .. "/" .. name, opts))
  end

  before_each(function()
    dir = assert(fs.temp_dir "/tmp")
    db = open "a.db"
    assert(db:exec "CREATE TABLE t(x, y)")
  end)

  after_each(function()
    db:close()
    fs.remove(dir)
  end)

  it("keeps every type of value #oom", function()
    local row = assert(db:row("SELECT ? AS i, ? AS r, ? AS z, ? AS s, ? AS b, ? AS t",
      math.mininteger, 0.1, nil, "caf\u{e9}\0", sql.blob "\xff\0", true))
    assert.equal(math.mininteger, row.i)
    assert.equal("integer", math.type(row.i))
    assert.equal(0.1, row.r)
    assert.is_nil(row.z)
    assert.equal("caf\u{e9}\0", row.s)
    assert.equal("\xff\0", row.b)
    assert.equal(1, row.t)
    assert.equal(6, row.n)
    assert.equal(row.r, row[2])
    assert.equal("blob", db:value("SELECT typeof(?)", sql.blob "x"))
    assert.equal("text", db:value("SELECT typeof(?)", "x"))
  end)

  it("lets a column named n win over the count", function()
    local row = db:row "SELECT 5 AS n, 1 AS a, 2 AS a"
    assert.equal(5, row.n)
    assert.equal(1, row.a)
    assert.equal(2, row[3])
  end)

  it("says what a statement changed", function()
    assert.same({ changes = 2, lastId = 2 }, db:run "INSERT INTO t(x) VALUES (1), (2)")
    assert.equal(0, db:run("CREATE TABLE u(x)").changes)
    assert.equal(2, db:run("DELETE FROM t").changes)
  end)

  it("iterates over rows in batches and ends a loop that is left", function()
    local series = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < ?) SELECT x FROM c"
    local sum = 0
    for row in assert(db:query(series, 1000)) do
      sum = sum + row.x
    end
    assert.equal(500500, sum)
    assert.equal(1000, #db:rows(series, 1000))
    for row in db:query(series, 100000000) do
      if row.x == 300 then
        break
      end
    end
    assert.equal(1, db:value(series, 100000000))
    for _ in db:query "SELECT x FROM t" do
      error "no rows, no turn"
    end
  end)

  it("answers nothing, not an error, where there is no row", function()
    assert.is_nil((db:row "SELECT x FROM t"))
    local value, err = db:value "SELECT x FROM t"
    assert.is_nil(value)
    assert.is_nil(err)
    assert.same({}, db:rows "SELECT x FROM t")
  end)

  it("names the file and SQLite's words #oom", function()
    for _, how in ipairs { "exec", "run", "query", "rows", "row", "value" } do
      local ok, err, id = db[how](db, "SELECT nope FROM t")
      assert.is_nil(ok)
      assert.equal(dir .. "/a.db: no such column: nope", err)
      assert.equal("query_failed", id)
    end
  end)

  it("raises for a caller's mistake", function()
    assert.has_error(function() db:run("SELECT ?", print) end)
    assert.has_error(function() db:run "SELECT 'a\0'" end)
    assert.has_error(function() sql.blob(1) end)
  end)

  it("commits what a transaction did and hands its results on #oom", function()
    local a, b = db:transaction(function(same)
      same:run "INSERT INTO t(x) VALUES (1)"
      return "a", "b"
    end)
    if a == nil then
      return -- out of memory, said as a failure
    end
    assert.equal("a", a)
    assert.equal("b", b)
    assert.is_true(db:value "SELECT count(*) FROM t" >= 1)
    assert.is_true(db:transaction(function() end))
  end)

  it("rolls back when the function raises or fails", function()
    assert.has_error(function()
      db:transaction(function()
        db:run "INSERT INTO t(x) VALUES (1)"
        error("no", 0)
      end)
    end, "no")
    local ok, err, id = db:transaction(function()
      db:run "INSERT INTO t(x) VALUES (1)"
      return nil, "refused", "some_id"
    end)
    assert.is_nil(ok)
    assert.equal("refused", err)
    assert.equal("some_id", id)
    assert.equal(0, db:value "SELECT count(*) FROM t")
  end)

  it("refuses a transaction inside a transaction and keeps the outer one", function()
    assert.is_true(db:transaction(function()
      db:run "INSERT INTO t(x) VALUES (1)"
      local ok, err = pcall(db.transaction, db, print)
      assert.is_false(ok)
      assert.matches("inside a transaction", err)
      return true
    end))
    assert.equal(1, db:value "SELECT count(*) FROM t")
  end)

  it("keeps a transaction to its task while that waits", function()
    local order = {}
    local other
    assert(db:transaction(function()
      db:run "INSERT INTO t(x) VALUES ('mine')"
      other = task.spawn(function()
        db:run "INSERT INTO t(x) VALUES ('other')"
        order[#order + 1] = "other"
      end)
      task.sleep(20)
      assert.equal(1, db:value "SELECT count(*) FROM t")
      order[#order + 1] = "mine"
    end))
    other:wait()
    assert.same({ "mine", "other" }, order)
    assert.equal(2, db:value "SELECT count(*) FROM t")
  end)

  it("rolls back the transaction of a cancelled task", function()
    local inside = task.channel(1)
    local t = task.spawn(function()
      db:transaction(function()
        db:run "INSERT INTO t(x) VALUES (1)"
        inside:send(true)
        task.sleep(10000)
      end)
    end)
    inside:receive()
    t:cancel()
    t:wait()
    assert.equal(0, db:value "SELECT count(*) FROM t")
    assert.is_true(db:transaction(function() return true end))
  end)

  it("stops a running statement when its task is cancelled", function()
    local endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
    assert.is_true(quickest(100, function(start)
      local t = task.spawn(function() return db:value(endless) end)
      task.sleep(20)
      start()
      t:cancel()
      t:wait()
      assert.equal(7, db:value "SELECT 7")
    end) < 100)
  end)

  it("says that another connection holds the lock", function()
    local other <close> = open("a.db", { busyMs = 30 })
    assert(db:transaction(function()
      local ok, err, id = other:run "INSERT INTO t(x) VALUES (1)"
      assert.is_nil(ok)
      assert.equal("session_locked", id)
      assert.matches("a.db", err, 1, true)
    end))
    assert(other:run "INSERT INTO t(x) VALUES (1)")
  end)

  it("says what is wrong with a file", function()
    assert(fs.write(dir .. "/junk", ("x"):rep(5000)))
    local bad, err, id, fields = sql.open(dir .. "/junk")
    assert.is_nil(bad)
    assert.equal(dir .. "/junk: file is not a database", err)
    assert.equal("io_error", id)
    assert.equal("corrupt", fields.reason)
    assert.equal("not_found", select(3, sql.open(dir .. "/none", { readonly = true })))
    fs.remove(dir .. "/a.db")
    assert.equal("io_error", select(3, db:run "INSERT INTO t(x) VALUES (1)"))
  end)

  it("opens with a write-ahead log, private, read-only", function()
    local path = dir .. "/b.db"
    local b = assert(sql.open(path, { wal = true, private = true }))
    assert.equal("wal", b:value "PRAGMA journal_mode")
    assert.equal(2, b:value "PRAGMA synchronous")
    assert.equal(384, fs.stat(path).mode & 511)
    assert(b:exec "CREATE TABLE t(x); PRAGMA user_version = 3")
    local reader <close> = assert(sql.open(path, { readonly = true }))
    assert.equal(3, reader:value "PRAGMA user_version")
    assert.equal("io_error", select(3, reader:exec "CREATE TABLE u(x)"))
    b:close()
  end)

  it("closes after what was asked before, once and for all", function()
    local t = task.spawn(function() return db:run "INSERT INTO t(x) VALUES (1)" end)
    task.sleep(0)
    assert.is_true(db:close())
    assert.is_true(db:close())
    assert.is_true(t:wait())
    assert.has_error(function() db:run "SELECT 1" end, "the database is closed")
    db = open "a.db"
    assert.equal(1, db:value "SELECT x FROM t")
  end)

  it("finalises what is forgotten without being asked #oom", function()
    local lost = sql.open(dir .. "/a.db")
    if lost then
      lost:query "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
    end
    lost = nil -- luacheck: ignore 311
    collectgarbage()
    collectgarbage()
  end)
end)
