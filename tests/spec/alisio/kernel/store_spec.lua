local fs = require "std.fs"
local json = require "std.json"
local path = require "std.path"
local sql = require "std.sql"
local task = require "std.task"
local ids = require "alisio.kernel.ids"
local locks = require "alisio.kernel.locks"
local paths = require "alisio.kernel.paths"
local store_module = require "alisio.kernel.store"
local migrate = require "alisio.kernel.store.migrate"

local function integrity(file)
  local db <close> = assert(sql.open(file, { readonly = true }))
  return db:value "PRAGMA integrity_check"
end

describe("store", function()
  local dir, store

  before_each(function()
    dir = assert(fs.temp_dir(fs.env "TMPDIR" or "/tmp", "store"))
    store = assert(store_module.open(dir))
  end)
  after_each(function()
    store:close()
    assert.equal("ok", integrity(path.join(dir, "sessions.sqlite")))
    fs.remove(dir)
  end)

  local function session(kind, cwd)
    return assert(store:create_session { kind = kind or "run", cwd = cwd or "/home/u/my folder" })
  end

  it("keeps its files private, in write-ahead mode with every commit synced", function()
    assert.equal(384, assert(fs.stat(store.path)).mode)
    assert.equal(384, assert(fs.stat(store.path .. "-wal")).mode)
    assert.equal(448, assert(fs.stat(path.join(dir, "locks"))).mode)
    assert.equal("wal", store.db:value "PRAGMA journal_mode")
    assert.equal(2, store.db:value "PRAGMA synchronous")
    assert.equal(#migrate.migrations, store.db:value "PRAGMA user_version")
  end)

  it("makes, finds and lists sessions, the last used first", function()
    local one = session("run", "/a/Año Nuevo")
    local two = session("tui", "/b")
    assert.is_true(ids.valid(one, "ses"))
    local row = assert(store:session(one))
    assert.same({ "run", "/a/Año Nuevo", "" }, { row.kind, row.cwd, row.title })
    assert.matches("^ano%-nuevo%-%x+$", row.workspace)
    local later = assert(store:session(two)).updated + 10
    assert(store:append(one, { type = "log", level = "info", text = "x", time = later }))
    local listed = assert(store:sessions())
    assert.same({ one, two }, { listed[1].id, listed[2].id })
    assert.equal(later, listed[1].updated)
    assert.equal(two, assert(store:sessions { kind = "tui" })[1].id)
    assert.equal(one, assert(store:sessions { cwd = "/a/Año Nuevo" })[1].id)
    assert.equal(1, #assert(store:sessions { limit = 1 }))
    assert(store:update_session(one, { title = "Sales" }))
    assert.equal("Sales", assert(store:session(one)).title)
  end)

  it("says which session is not there", function()
    local row, message, id, fields = store:session "ses_x"
    assert.is_nil(row)
    assert.same({ "not_found", "session", "ses_x" }, { id, fields.reason, fields.object })
    assert.matches("ses_x", message, 1, true)
    assert.equal("not_found", select(3, store:update_session("ses_x", { title = "y" })))
    assert.equal("not_found", select(3, store:delete_session "ses_x"))
    assert.equal("not_found", select(3, store:hold("ses_x", "run")))
  end)

  it("shares one session of a kind in a workspace", function()
    local one = assert(store:shared_session("cli", "/a"))
    assert.equal(one, assert(store:shared_session("cli", "/a")))
    assert.are_not.equal(one, assert(store:shared_session("cli", "/b")))
    local results = assert(task.map({ 1, 2, 3, 4 }, function() return store:shared_session("cli", "/c") end))
    for _, id in ipairs(results) do
      assert.equal(results[1], id)
    end
  end)

  it("gives events back as they were", function()
    local s = session()
    local input = { n = 9007199254740993, x = 0.1, none = json.null, list = json.array {}, nest = { a = { 1, 2 } } }
    assert.equal(1, store:append(s, { type = "tool_started", run = "run_1", callId = "c", name = "t", input = input, effect = "read" }))
    assert.equal(2, store:append(s, { type = "log", level = "info", text = "ä\0b" }))
    local events = assert(store:events(s))
    assert.equal(2, #events)
    assert.same({ 1, s, 1, "run_1", "tool_started" },
      { events[1].v, events[1].session, events[1].seq, events[1].run, events[1].type })
    assert.equal(json.encode(input), json.encode(events[1].input))
    assert.equal("ä\0b", events[2].text)
    assert.is_nil(events[2].run)
    assert.same({ 2 }, { assert(store:events(s, { after = 1 }))[1].seq })
    assert.same({ "tool_started" }, { assert(store:events(s, { types = { "tool_started", "nothing" } }))[1].type })
    assert.equal(1, #assert(store:events(s, { limit = 1 })))
  end)

  it("numbers each session from one, in order, whoever appends", function()
    local one, two = session(), session()
    local list = {}
    for i = 1, 40 do
      list[i] = i
    end
    local seqs = assert(task.map(list, function(i)
      return store:append(i % 2 == 0 and one or two, { type = "log", level = "info", text = tostring(i) })
    end))
    for i, seq in ipairs(seqs) do
      assert.equal((i + 1) // 2, seq)
    end
    local texts = {}
    for i, event in ipairs(assert(store:events(one))) do
      texts[i] = event.text
    end
    assert.equal("2 4 6 8 10 12 14 16 18 20 22 24 26 28 30 32 34 36 38 40", table.concat(texts, " "))
  end)

  it("stores a list whole or not at all", function()
    local s = session()
    local bad = { { type = "log", time = 1 }, { type = "log" } } -- the second has no time
    local seqs, _, id = store:append_all(s, bad)
    assert.is_nil(seqs)
    assert.equal("query_failed", id)
    assert.same({}, assert(store:events(s)))
    assert.same({ 1, 2 }, store:append_all(s, { { type = "log", time = 1 }, { type = "log", time = 2 } }))
  end)

  it("survives its own closing, and is read by a second connection meanwhile", function()
    local s = session()
    assert(store:append(s, { type = "log", level = "info", text = "one" }))
    local other <close> = assert(store_module.open(dir))
    local lock <close> = assert(store:hold(s, "run"))
    assert.equal("one", assert(other:events(s))[1].text)
    assert(store:append(s, { type = "log", level = "info", text = "two" }))
    assert.equal("two", assert(other:events(s, { after = 1 }))[1].text)
    assert.is_truthy(lock)
  end)

  describe("grants, datasets and artifacts", function()
    it("keep every field and are found by their columns", function()
      local s = session()
      local grant = assert(store.grants.save { session = s, capability = "analysis.run", runtime = "managed", by = "user" })
      assert.equal("user", assert(store.grants.find(s, "analysis.run", "managed")).by)
      assert.same({}, { store.grants.find(s, "analysis.run", "oci") })
      assert.equal(grant, assert(store.grants.list(s))[1].id)
      assert.equal(1, #assert(store.grants.list()))
      assert.is_true(store.grants.revoke(grant))
      assert.equal("not_found", select(3, store.grants.revoke(grant)))

      local dataset = { id = ids.new "ds", session = s, name = "sales", bytes = 12, sha256 = "ab", overrides = "{}", sheets = { { rows = 3 } } }
      assert(store.datasets.save(dataset))
      local found = assert(store.datasets.find { session = s, bytes = 12, overrides = "{}" })
      assert.equal(3, found[1].sheets[1].rows)
      assert.same({}, assert(store.datasets.find { session = s, bytes = 13 }))
      local before = assert(store.datasets.get(dataset.id)).used
      task.sleep(2)
      assert(store.datasets.touch(dataset.id))
      assert.is_true(assert(store.datasets.get(dataset.id)).used > before)
      assert.error_matches(function() store.datasets.find { path = "x" } end, "not found by \"path\"")

      local artifact = { id = ids.new "art", session = s, status = "ready", title = "Report" }
      assert(store.artifacts.save(artifact))
      assert(store.artifacts.update(artifact.id, { status = "expired", note = "n" }))
      local row = assert(store.artifacts.get(artifact.id))
      assert.same({ "expired", "n", "Report" }, { row.status, row.note, row.title })
      assert.equal("not_found", select(3, store.artifacts.update("art_x", {})))
      assert.equal("artifact", select(4, store.artifacts.get "art_x").reason)
      assert.is_true(store.artifacts.delete(artifact.id))
    end)
  end)

  it("deletes a session with its files and rows, unless it is held", function()
    local s = session()
    local folders = paths.session(dir, assert(store:session(s)).workspace, s)
    for _, folder in pairs(folders) do
      assert(fs.mkdirs(path.join(folder, "x")))
    end
    assert(store:append(s, { type = "log", level = "info", text = "x" }))
    assert(store.artifacts.save { id = "art_1", session = s })
    local lock = assert(store:hold(s, "tui"))
    local ok, _, id, fields = store:delete_session(s)
    assert.is_nil(ok)
    assert.same({ "session_locked", "tui" }, { id, fields.face })
    lock:release()
    assert(store:delete_session(s))
    for _, folder in pairs(folders) do
      assert.is_false(fs.exists(folder))
    end
    assert.equal(0, store.db:value "SELECT (SELECT count(*) FROM events) + (SELECT count(*) FROM artifacts)")
    assert.is_false(fs.exists(path.join(dir, "locks", s)))
  end)

  describe("recovery", function()
    local function types(list)
      local out = {}
      for i, event in ipairs(list) do
        out[i] = event.type .. ":" .. (event.status or event.decision)
      end
      return table.concat(out, " ")
    end

    it("marks what was running as uncertain, once", function()
      local s = session()
      local function put(event)
        event.run = event.run or "run_2"
        assert(store:append(s, event))
      end
      put { run = "run_1", type = "run_started", prompt = "p", model = "offline", agent = "default" }
      put { run = "run_1", type = "tool_started", callId = "a", name = "shell", input = {}, effect = "process" }
      put { run = "run_1", type = "tool_completed", callId = "a", name = "shell", status = "ok", output = json.array {}, durationMs = 1 }
      put { run = "run_1", type = "run_completed", status = "completed", usage = {}, durationMs = 1 }
      put { type = "run_started", prompt = "p", model = "offline", agent = "default" }
      put { type = "tool_started", callId = "b", name = "python_run", input = {}, effect = "process" }
      put { type = "permission_requested", requestId = "r1", callId = "c", capability = "x", title = "t", sha256 = "0",
        options = json.array {}, guarantees = json.array {} }
      put { type = "tool_started", callId = "d", name = "data_query", input = {}, effect = "read" }
      put { type = "tool_completed", callId = "d", name = "data_query", status = "ok", output = json.array {}, durationMs = 1 }

      local added = assert(store:recover(s))
      assert.equal("tool_completed:uncertain permission_resolved:deny run_completed:cancelled", types(added))
      assert.same({ "b", "python_run", 10 }, { added[1].callId, added[1].name, added[1].seq })
      assert.matches("was not run again", added[1].output[1].text)
      assert.equal("run_2", added[3].run)
      local stored = assert(store:events(s, { after = 9 }))
      assert.equal(types(added), types(stored))
      assert.equal('[{"text":"' .. added[1].output[1].text .. '","type":"text"}]', json.encode(stored[1].output))
      assert.same({}, assert(store:recover(s)))
    end)

    it("closes a call that waited for an answer as cancelled: it had not begun", function()
      local s = session()
      for _, event in ipairs {
        { type = "run_started", prompt = "p", model = "offline", agent = "default" },
        { type = "tool_started", callId = "a", name = "shell", input = {}, effect = "process" },
        { type = "permission_requested", requestId = "r", callId = "a", capability = "x", title = "t", sha256 = "0",
          options = json.array {}, guarantees = json.array {} },
      } do
        event.run = "run_1"
        assert(store:append(s, event))
      end
      assert.equal("tool_completed:cancelled permission_resolved:deny run_completed:cancelled",
        types(assert(store:recover(s))))
    end)

    it("says which event is damaged", function()
      local s = session()
      assert(store:append(s, { type = "run_started", prompt = "p", model = "offline", agent = "default" }))
      for _, body in ipairs { "{bad", "[1]", "{}", "5" } do
        assert(store.db:run("UPDATE events SET body = ? WHERE session = ?", body, s))
        for _, read in ipairs { store.events, store.recover } do
          local events, message, id, fields = read(store, s)
          assert.same({ nil, "io_error", "damaged_event" }, { events, id, fields.reason }, body)
          assert.matches("event 1 of " .. s, message)
        end
      end
    end)

    it("has nothing to do in an orderly session", function()
      assert.same({}, assert(store:recover(session())))
    end)
  end)

  describe("migration", function()
    local real = migrate.migrations
    after_each(function() migrate.migrations = real end)

    local function reopen()
      store:close()
      local again, message, id, fields = store_module.open(dir)
      store = again or store
      return again, message, id, fields
    end

    it("goes forward with a private copy of what was there", function()
      local s = session()
      migrate.migrations = table.move(real, 1, #real, 1, {})
      table.insert(migrate.migrations, "ALTER TABLE sessions ADD COLUMN colour TEXT")
      assert(reopen())
      assert.equal(#real + 1, store.db:value "PRAGMA user_version")
      assert.is_truthy(store:session(s))
      local copy = ("%s.v%d"):format(store.path, #real)
      assert.equal(384, assert(fs.stat(copy)).mode)
      local old <close> = assert(sql.open(copy, { readonly = true }))
      assert.equal(#real, old:value "PRAGMA user_version")
      assert.equal(s, old:value "SELECT id FROM sessions")
      migrate.migrations = real
      local again, message, id, fields = reopen()
      assert.is_nil(again)
      assert.same({ "io_error", "newer_version", #real + 1 }, { id, fields.reason, fields.found })
      assert.matches("newer", message)
    end)

    it("leaves everything as it was when a step fails", function()
      session()
      migrate.migrations = table.move(real, 1, #real, 1, {})
      table.insert(migrate.migrations, "CREATE TABLE extra (x); SELECT no_such_function()")
      assert.is_nil(reopen())
      migrate.migrations = real
      assert(reopen())
      assert.equal(#real, store.db:value "PRAGMA user_version")
      assert.equal(0, store.db:value "SELECT count(*) FROM sqlite_schema WHERE name = 'extra'")
    end)

    it("is done once where several open at the same time", function()
      local fresh = path.join(dir, "fresh")
      local stores = assert(task.map({ 1, 2, 3, 4 }, function() return store_module.open(fresh) end))
      for _, other in ipairs(stores) do
        assert.equal(#real, other.db:value "PRAGMA user_version")
        other:close()
      end
    end)
  end)

  it("touches no file that is not its own", function()
    local other = path.join(dir, "other")
    assert(fs.mkdirs(other))
    local file = path.join(other, "sessions.sqlite")
    do
      local db <close> = assert(sql.open(file))
      assert(db:exec "CREATE TABLE mine (x)")
    end
    local again, _, id, fields = store_module.open(other)
    assert.is_nil(again)
    assert.same({ "io_error", "not_a_database" }, { id, fields.reason })
    assert(fs.write(file, ("this is text, not a database\n"):rep(100)))
    again, _, id = store_module.open(other)
    assert.is_nil(again)
    assert.equal("io_error", id)
    assert.equal(("this is text, not a database\n"):rep(100), (assert(fs.read(file))))
  end)
end)

describe("locks", function()
  local dir
  before_each(function() dir = assert(fs.temp_dir(fs.env "TMPDIR" or "/tmp", "locks")) end)
  after_each(function() fs.remove(dir) end)

  it("are held by one, name the holder, and are given back", function()
    local lock = assert(locks.acquire(dir, "ses_1", "run"))
    local none, message, id, about = locks.acquire(dir, "ses_1", "tui")
    assert.is_nil(none)
    assert.equal("session_locked", id)
    assert.same({ "ses_1", "run" }, { about.object, about.face })
    assert.is_truthy(math.type(about.pid) == "integer" and about.start and about.since)
    assert.matches("process " .. about.pid, message, 1, true)
    assert(locks.acquire(dir, "ses_2", "tui")):release()
    lock:release()
    lock:release()
    local again <close> = assert(locks.acquire(dir, "ses_1", "tui"))
    assert.is_truthy(again)
  end)

  it("say less when the file says nothing", function()
    local raw <close> = assert(fs.lock(path.join(dir, "x")))
    assert(fs.mkdirs(path.join(dir, "locks")))
    local held <close> = assert(fs.lock(path.join(dir, "locks", "ses_1")))
    held:write "not json"
    local none, message, _, about = locks.acquire(dir, "ses_1", "tui")
    assert.is_nil(none)
    assert.is_nil(about.pid)
    assert.matches("process unknown", message)
    assert.is_truthy(raw)
  end)
end)
