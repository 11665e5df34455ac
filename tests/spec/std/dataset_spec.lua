local dataset = require "std.dataset"
local fs = require "std.fs"
local task = require "std.task"

describe("std.dataset", function()
  local dir, client

  setup(function()
    dir = assert(fs.temp_dir("/tmp", "alisio-spec-"))
    client = dataset.open_engine { tmp = dir .. "/tmp" }
    assert(fs.write(dir .. "/s.csv", "Región,Total\nNorte,1.5\nSur,2\nSur,007\n"))
    assert(client:ingest { input = dir .. "/s.csv", output = dir .. "/s.sqlite", name = "s.csv" })
  end)
  teardown(function()
    client:close()
    assert(fs.remove(dir))
  end)

  local function ask(sql, options)
    return client:query(dir .. "/s.sqlite", sql, options)
  end

  describe("ingest", function()
    it("makes one private file and says what is in it", function()
      local d = assert(client:ingest {
        input = dir .. "/s.csv", output = dir .. "/one.sqlite", name = "s.csv", sample = 1,
      })
      assert.equal("csv", d.format)
      assert.equal(3, d.rows)
      assert.equal("region", d.sheets[1].columns[1].name)
      assert.same({ { "Norte", 1.5 } }, d.sheets[1].sample)
      assert.equal(64, #d.sha256)
      local st = fs.stat(dir .. "/one.sqlite")
      assert.equal(384, st.mode)
      assert.equal(1, st.links)
    end)

    it("takes an open file and what the caller knows better", function()
      local root <close> = assert(fs.open_root(dir))
      assert(root:write("odd.txt", "# note\na;b\n1;2\n"))
      local file <close> = assert(root:open "odd.txt")
      local d = assert(client:ingest {
        input = file, output = dir .. "/odd.sqlite", name = "odd.txt",
        overrides = { format = "csv", delimiter = ";", skip = 1 },
      })
      assert.equal(1, d.rows)
      assert.equal("a", d.sheets[1].columns[1].name)
    end)

    it("leaves nothing when the file is refused", function()
      assert(fs.write(dir .. "/none.csv", ""))
      local d, err, id = client:ingest {
        input = dir .. "/none.csv", output = dir .. "/none.sqlite", name = "none.csv",
      }
      assert.is_nil(d)
      assert.is_truthy(err)
      assert.equal("ingest_invalid", id)
      assert.is_false(fs.exists(dir .. "/none.sqlite"))
    end)

    it("says which limit was passed", function()
      local d, _, id, fields = client:ingest {
        input = dir .. "/s.csv", output = dir .. "/limit.sqlite", name = "s.csv", limits = { maxRows = 2 },
      }
      assert.is_nil(d)
      assert.equal("ingest_limit", id)
      assert.matches("maxRows", fields.object)
    end)

    it("never replaces a file", function()
      local d, _, id = client:ingest { input = dir .. "/s.csv", output = dir .. "/s.sqlite", name = "s.csv" }
      assert.is_nil(d)
      assert.equal("io_error", id)
      assert.equal(3, ask("SELECT count(*) FROM data").rows[1][1])
    end)

    it("refuses what is no regular file", function()
      for _, path in ipairs { dir, "/dev/zero", dir .. "/missing" } do
        local d, err = client:ingest { input = path, output = dir .. "/x.sqlite", name = "x.csv" }
        assert.is_nil(d)
        assert.matches(path, err, 1, true)
      end
    end)

    it("stops when its task is cancelled and leaves nothing", function()
      assert(fs.write(dir .. "/big.csv", "a,b\n" .. ("1234567,abcdefg\n"):rep(3000000)))
      local t = task.spawn(function()
        return client:ingest { input = dir .. "/big.csv", output = dir .. "/big.sqlite", name = "big.csv" }
      end)
      task.sleep(60)
      t:cancel()
      local ok, err = t:wait()
      assert.is_nil(ok)
      assert.matches("cancelled", err)
      assert.is_false(fs.exists(dir .. "/big.sqlite"))
      assert(fs.remove(dir .. "/big.csv"))
    end)
  end)

  describe("query", function()
    it("gives rows by number and name", function()
      local a = assert(ask "SELECT region, count(*) AS n, sum(total) AS total FROM data GROUP BY 1 ORDER BY 1")
      assert.same({ "region", "n", "total" }, a.columns)
      assert.equal("Sur", a.rows[2].region)
      assert.equal(2, a.rows[2].n) -- the column, not the number of cells
      assert.equal("Norte", a.rows[1][1])
      assert.equal(1, ask("SELECT 1 AS a").rows[1].n)
    end)

    it("gives cells exactly", function()
      local row = ask("SELECT 9007199254740993, -9223372036854775807 - 1, 9223372036854775807, 1.0, 0.1, "
        .. "1e999, -1e999, x'00ff', x'', NULL, '', 'a' || char(0) || 'ñ'").rows[1]
      assert.equal(9007199254740993, row[1])
      assert.equal(math.mininteger, row[2])
      assert.equal(math.maxinteger, row[3])
      assert.equal("float", math.type(row[4]))
      assert.equal(0.1, row[5])
      assert.equal(math.huge, row[6])
      assert.equal(-math.huge, row[7])
      assert.equal("\0\xff", row[8])
      assert.equal("", row[9])
      assert.is_nil(row[10])
      assert.equal("", row[11])
      assert.equal("a\0ñ", row[12])
      assert.equal(12, row.n)
    end)

    it("gives the engine's own JSON when asked", function()
      local a = assert(ask("SELECT region, total FROM data", { raw = true }))
      assert.equal('[["Norte",1.5],["Sur",2],["Sur","007"]]', a.rowsJson)
      assert.is_nil(a.rows)
      assert.equal("[]", ask("SELECT 1 WHERE 0", { raw = true }).rowsJson)
    end)

    it("cuts rows and cells and says so", function()
      local a = assert(ask("SELECT region FROM data", { maxRows = 2 }))
      assert.is_true(a.truncated)
      assert.equal(2, #a.rows)
      a = assert(ask("SELECT 1, printf('%.*c', 100, 'x')", { cellBytes = 16 }))
      assert.equal(("x"):rep(16) .. "…", a.rows[1][2])
      assert.same({ { 1, 2 } }, a.cut)
    end)

    it("passes on what SQLite and the guard say", function()
      local a, err, id = ask "SELECT nope FROM data"
      assert.is_nil(a)
      assert.matches("no such column: nope", err, 1, true)
      assert.equal("query_failed", id)
      assert.equal("query_rejected", select(3, ask "DELETE FROM data"))
      assert.equal("query_rejected", select(3, ask "SELECT 1; SELECT 2"))
    end)

    it("ends a statement that takes too long and goes on", function()
      local endless = "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t"
      assert.equal("query_timeout", select(3, ask(endless, { timeoutMs = 100 })))
      assert.equal(3, ask("SELECT count(*) FROM data").rows[1][1])
    end)

    it("answers many at once with two engines", function()
      local fns = {}
      for i = 1, 12 do
        fns[i] = function()
          return ask("SELECT " .. i).rows[1][1]
        end
      end
      assert.same({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }, task.all(fns))
      assert.is_true(#client.questions.idle <= 2)
    end)

    it("goes on after a cancelled question", function()
      local t = task.spawn(function()
        return ask("WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t")
      end)
      task.sleep(30)
      t:cancel()
      assert.is_nil((t:wait()))
      assert.equal(3, ask("SELECT count(*) FROM data").rows[1][1])
    end)
  end)

  describe("rows", function()
    local function page(options)
      return client:rows(dir .. "/s.sqlite", options)
    end

    it("gives a page by row number", function()
      local p = assert(page { first = 2, count = 1 })
      assert.same({ "region", "total" }, p.columns)
      assert.same({ "Sur", 2, n = 2, region = "Sur", total = 2 }, p.rows[1])
      assert.same({ 2 }, p.numbers)
      assert.equal(2, p.first)
      assert.equal(3, p.total)
      assert.is_false(p.truncated)
      assert.equal(3, #assert(page()).rows)
    end)

    it("gives what there is of it", function()
      assert.same({ 3 }, assert(page { first = 3, count = 10 }).numbers)
      assert.same({}, assert(page { first = 4 }).rows)
      assert.same({}, assert(page { first = math.maxinteger, count = 1000 }).rows)
      assert.same({}, assert(page { count = 0 }).rows)
    end)

    it("gives the columns that are asked for, as they are asked for", function()
      local p = assert(page { columns = { "total", "region", "total" }, raw = true })
      assert.equal('[[1.5,"Norte",1.5],[2,"Sur",2],["007","Sur","007"]]', p.rowsJson)
      local none, err, id = page { columns = { "nope" } }
      assert.is_nil(none)
      assert.matches("nope", err)
      assert.equal("query_failed", id)
    end)

    it("cuts cells and says which", function()
      assert(fs.write(dir .. "/long.csv", "a,b\n1," .. ("ñ"):rep(50) .. "\n"))
      assert(client:ingest { input = dir .. "/long.csv", output = dir .. "/long.sqlite", name = "long.csv" })
      local p = assert(client:rows(dir .. "/long.sqlite", { cellBytes = 17 }))
      assert.equal(("ñ"):rep(8) .. "…", p.rows[1].b)
      assert.same({ { 1, 2 } }, p.cut)
    end)

    it("names a sheet that is not there", function()
      assert.equal(3, assert(page { table = "data" }).total)
      local none, _, id, fields = page { table = "s_other" }
      assert.is_nil(none)
      assert.equal("not_found", id)
      assert.equal("sheet", fields.reason)
    end)

    it("raises for a view that was released", function()
      local view = assert(client:view(dir .. "/s.sqlite"))
      view:release()
      view:release()
      assert.has_error(function() page { view = view } end, "the view was released")
    end)

    it("has an engine of its own that stays", function()
      local before = client.pages.idle[1]:pid()
      assert(page())
      assert.equal(before, client.pages.idle[1]:pid())
      for _, e in ipairs(client.questions.idle) do
        assert.not_equal(before, e:pid())
      end
    end)
  end)

  describe("aggregate", function()
    local function ask_groups(...)
      local answer, err, id, fields = client:aggregate(dir .. "/s.sqlite", { groups = { ... } })
      return answer and answer.groups, err, id, fields
    end

    it("answers group-bys in their order, NULL being nil", function()
      assert(fs.write(dir .. "/g.csv", "d,city,n\n2024-01-05,a,1\n2024-01-20,b,2.5\n2024-02-01,,3\n,a,\n"))
      assert(client:ingest { input = dir .. "/g.csv", output = dir .. "/g.sqlite", name = "g.csv" })
      local answer = assert(client:aggregate(dir .. "/g.sqlite", {
        groups = {
          { by = { { column = "city" } }, measures = { { fn = "count" }, { fn = "sum", column = "n" } } },
          { by = { { column = "d", unit = "month" } }, filter = { { column = "city", null = false } } },
          {},
        },
        samples = { { columns = { "n" }, rows = 2 } },
      }))
      local city, month, all = table.unpack(answer.groups)
      assert.equal(4, answer.rows)
      assert.equal(3, city.n)
      assert.same({ nil, "a", "b" }, city.keys[1].values)
      assert.same({ 1, 2, 1 }, city.measures[1])
      assert.same({ 3, 1, 2.5 }, city.measures[2])
      assert.equal(3, city.keys[1].count)
      assert.same({ nil, "2024-01-01" }, month.keys[1].values)
      assert.same({ 1, 2 }, month.measures[1])
      assert.equal(3, month.rows)
      assert.same({ 4 }, all.measures[1])
      assert.same({ { 1, 2.5 } }, answer.samples[1].columns)
      assert.equal(3, answer.samples[1].rows)
    end)

    it("counts measures from 1, and marks the rest", function()
      local groups = assert(ask_groups({
        by = { { column = "total", top = 1, rank = 2 } }, measures = { { fn = "count" }, { fn = "max", column = "region" } },
      }))
      assert.same({ "Sur", "Sur" }, groups[1].measures[2])
      assert.same({ [2] = true }, groups[1].keys[1].other)
      assert.equal(3, groups[1].keys[1].count)
      groups = assert(ask_groups { by = { { column = "region" } }, order = { measure = 1, descending = true }, limit = 1 })
      assert.same({ "Sur" }, groups[1].keys[1].values)
      assert.is_true(groups[1].truncated)
      assert.equal(2, groups[1].count)
    end)

    it("holds filters of the request for all", function()
      local answer = assert(client:aggregate(dir .. "/s.sqlite", {
        filter = { { column = "region", eq = "Sur" } }, groups = { {}, { filter = { { column = "total", eq = 2 } } } },
      }))
      assert.same({ 2 }, answer.groups[1].measures[1])
      assert.same({ 1 }, answer.groups[2].measures[1])
    end)

    it("says what is wrong", function()
      for want, group in pairs {
        ["no such column: Region"] = { by = { { column = "Region" } } },
        ["no field is called buy"] = { buy = {} },
        ["fn: median is none"] = { measures = { { fn = "median", column = "total" } } },
        ["not an integer between 0 and 0"] = { order = { measure = 2 } },
      } do
        local none, err, id, fields = ask_groups(group)
        assert.is_nil(none)
        assert.is_truthy(err)
        assert.equal("query_rejected", id)
        assert.matches(want, fields.detail, 1, true)
      end
      local _, _, id = client:aggregate(dir .. "/s.sqlite", { table = "s_other" })
      assert.equal("not_found", id)
    end)
  end)

  describe("view", function()
    local function view(options)
      return client:view(dir .. "/s.sqlite", options)
    end
    local function numbers(v, options)
      options = options or {}
      options.view = v
      return assert(client:rows(dir .. "/s.sqlite", options)).numbers
    end

    it("sorts and filters", function()
      assert.same({ 1, 2, 3 }, numbers(assert(view())))
      local v = assert(view { sort = { { column = "region", descending = true }, { column = "total", descending = true } } })
      assert.equal(3, v.rows)
      assert.same({ 3, 2, 1 }, numbers(v))
      local p = assert(client:rows(dir .. "/s.sqlite", { view = v, first = 2, count = 1, columns = { "total" } }))
      assert.equal(2, p.rows[1].total)
      assert.equal(3, p.total)
      assert.same({}, numbers(v, { first = 4 }))
      local few = assert(view { filter = { { column = "region", eq = "Sur" } }, sort = { { column = "total" } } })
      assert.equal(2, few.rows)
      assert.same({ 2, 3 }, numbers(few))
      assert.equal(0, assert(view { filter = { { column = "region", null = true } } }).rows)
    end)

    it("says what is wrong", function()
      for _, options in ipairs {
        { sort = { { column = "nope" } } }, { sort = { { column = "total", nulls = "middle" } } },
        { filter = { { column = "total", eq = 1, null = true } } },
      } do
        local none, err, id = view(options)
        assert.is_nil(none)
        assert.is_truthy(err)
        assert.equal("query_rejected", id)
      end
      assert.equal("sheet", select(4, view { table = "s_other" }).reason)
    end)

    it("is made again when the engine died", function()
      local v <close> = assert(view { sort = { { column = "total", descending = true } } })
      local e = client.pages.idle[1]
      e:close()
      assert.same({ 3, 2, 1 }, numbers(v))
      assert.not_equal(e, client.pages.idle[1])
    end)

    it("stops when its task is cancelled", function()
      local t = task.spawn(function()
        return view { sort = { { column = "total" } } }
      end)
      t:cancel()
      assert.is_nil((t:wait()))
      assert.equal(3, assert(view()).rows)
    end)

    it("is forgotten when nobody needs it", function()
      do
        local _ <close> = assert(view())
      end
      assert.equal(1, #client.forgotten)
      numbers(assert(view()))
      collectgarbage()
      collectgarbage()
      assert.is_true(#client.forgotten > 0)
      assert(view())
      assert.equal(0, #client.forgotten)
    end)
  end)

  it("survives memory running out #oom", function()
    local one <close> = dataset.open_engine { tmp = dir .. "/tmp" }
    assert(one:query(dir .. "/s.sqlite", "SELECT region, total FROM data"))
    local view <close> = assert(one:view(dir .. "/s.sqlite", { sort = { { column = "total" } } }))
    assert(one:rows(dir .. "/s.sqlite", { columns = { "total" }, view = view }))
  end)

  it("describes a dataset from the file alone", function()
    local d = assert(client:describe(dir .. "/s.sqlite", { sample = 2 }))
    assert.equal("Región", d.sheets[1].columns[1].label)
    assert.equal(2, #d.sheets[1].sample)
  end)

  it("looks at pages", function()
    assert(fs.write(dir .. "/a.html", "<script src=//x></script><p>"))
    assert.same({ "network_resource" }, client:lint(dir .. "/a.html"))
    assert(fs.write(dir .. "/b.html", "<p>"))
    assert.same({}, client:lint(dir .. "/b.html"))
    local found, err, id = client:lint(dir .. "/none.html")
    assert.is_nil(found)
    assert.matches("/none.html", err, 1, true)
    assert.equal("not_found", id)
  end)

  it("says that the engine could not be started", function()
    local broken = dataset.open_engine { tmp = dir .. "/tmp", program = "/no/such/engine" }
    local a, err, id = broken:query(dir .. "/s.sqlite", "SELECT 1")
    assert.is_nil(a)
    assert.matches("/no/such/engine", err, 1, true)
    assert.equal("engine_failed", id)
  end)

  it("says that the engine died", function()
    local dead = dataset.open_engine { tmp = dir .. "/tmp", program = "/bin/true" }
    local a, err, id = dead:query(dir .. "/s.sqlite", "SELECT 1")
    assert.is_nil(a)
    assert.is_truthy(err)
    assert.equal("engine_failed", id)
  end)

  local RESULT, PROGRESS = 4, 2
  local function frame(kind, body)
    return string.pack("<I4B", #body, kind) .. body
  end

  -- An engine of our own: it answers every request with `reply`, a frame of the kind RESULT, behind
  -- the frames in `front`.
  local function engine_that_says(reply, front)
    local file = dir .. "/liar"
    assert(fs.write(file, "#!/bin/sh\nexec 3<&3\nhead -c 5 <&3 >/dev/null\ncat >&3 '" .. dir .. "/reply'\nsleep 5\n",
      { mode = 448 }))
    assert(fs.write(dir .. "/reply", (front or "") .. frame(RESULT, reply)))
    return dataset.open_engine { tmp = dir .. "/tmp", program = file }
  end

  it("believes no page that is none", function()
    local whole = '{"columns":["a"],"first":1,"total":%s,"numbers":[%s],"truncated":false,"cut":[]}'
    for _, case in ipairs { { "0", "1" }, { "-1", "" }, { "1", "0" } } do
      local liar <close> = engine_that_says(whole:format(case[1], case[2]))
      assert.equal("engine_failed", select(3, liar:rows(dir .. "/s.sqlite")))
    end
    local plain <close> = engine_that_says(whole:format("0", ""))
    assert.same({}, assert(plain:rows(dir .. "/s.sqlite")).rows)
  end)

  it("believes no other warnings than there are", function()
    local liar <close> = engine_that_says '{"found":["<b>"]}'
    assert.equal("engine_failed", select(3, liar:lint(dir .. "/s.sqlite")))
  end)

  it("believes no progress that is none", function()
    local function said(progress)
      local liar <close> = engine_that_says('{"rows":7}', frame(PROGRESS, progress))
      local steps = {}
      local view, _, id = liar:view(dir .. "/s.sqlite", { on_progress = function(step) steps[#steps + 1] = step end })
      return view and view.rows or id, #steps
    end
    assert.same({ 7, 1 }, { said '{"bytes":1,"total":2,"rows":0}' })
    for _, lie in ipairs {
      "true", "[]", "{", '{"bytes":1,"total":2}', '{"bytes":-1,"total":2,"rows":0}', '{"bytes":1,"total":"2","rows":0}',
      '{"bytes":1,"total":2,"rows":0.5}',
    } do
      assert.same({ "engine_failed", 0 }, { said(lie) }, lie)
    end
  end)

  it("believes no description that is none", function()
    local sheet = '{"name":"data","table":"data","rows":%s,"columns":[%s],"sample":[]}'
    local column = '{"name":"a","label":"a","type":"text","nulls":0,"distinct":0,"distinctExact":true,'
      .. '"textFallbacks":0,"top":[]}'
    local whole = '{"format":"csv","rows":1,"irregularRows":0,"sheets":[%s],"notes":[%s]}'
    local good = sheet:format(1, column)
    local function said(sheets, notes)
      local liar <close> = engine_that_says(whole:format(sheets, notes))
      local output = dir .. "/liar.sqlite"
      local d, _, id = liar:ingest { input = dir .. "/s.csv", output = output, name = "s.csv" }
      if not d then
        assert.is_false(fs.exists(output))
      end
      fs.remove(output)
      return d and "believed" or id
    end
    assert.equal("believed", said(good, '{"id":"short_rows","count":1,"lines":[3]}'))
    for _, case in ipairs {
      { "", "" },
      { sheet:format(1, ""), "" },
      { sheet:format(-1, column), "" },
      { good, '{"id":"short_rows","count":"x","lines":[3]}' },
      { good, '{"id":"short_rows","count":1,"lines":5}' },
      { good, '{"id":"distinct_estimated","columns":[1,{}]}' },
    } do
      assert.equal("engine_failed", said(case[1], case[2]), case[1] .. case[2])
    end
  end)
end)
