local data = require "alisio.data"
local fs = require "std.fs"
local json = require "std.json"
local task = require "std.task"
local helper = require "spec.session_helper"

local SALES = "Región,Total\nNorte,1.5\nSur,2\nSur,007\n"

local function unhex(digits)
  return (digits:gsub("%x%x", function(pair) return string.char(tonumber(pair, 16)) end))
end

describe("alisio.data", function()
  local world, session, d

  before_each(function()
    world = helper.world()
    session = world.session()
    d = data.new { session = session }
  end)
  after_each(function()
    world.close()
  end)

  local function files()
    local names = {}
    for _, entry in ipairs(fs.list(d.folder) or {}) do
      names[#names + 1] = entry.name
    end
    return names
  end

  it("makes a dataset and remembers it", function()
    local file = world.put("sales.csv", SALES)
    local made = assert(d:open "sales.csv")
    assert.matches("^ds_%w+$", made.id)
    assert.equal("sales", made.name)
    assert.equal("sales.csv", made.file)
    assert.is_false(made.reused)
    assert.equal(3, made.rows)
    assert.is_true(fs.exists(made.path))
    assert.equal(SALES, (fs.read(file)))
    local again = assert(d:get(made.id))
    assert.equal(json.encode(made.sheets), json.encode(again.sheets))
    assert.equal(world.work .. "/sales.csv", world.store.datasets.get(made.id).origin)
  end)

  it("finds the same content read in the same way", function()
    world.put("sales.csv", SALES)
    local made = assert(d:open "sales.csv")
    world.put("copy of it.csv", SALES)
    local copy = assert(d:open "copy of it.csv")
    assert.equal(made.id, copy.id)
    assert.is_true(copy.reused)
    assert.not_equal(made.id, assert(d:open("sales.csv", { header = false })).id)
    world.put("sales.csv", (SALES:gsub("007", "008")))
    assert.not_equal(made.id, assert(d:open "sales.csv").id)
    assert.equal(3, #assert(d:list()))
  end)

  it("names a packed file as the one inside", function()
    local gz = unhex "1f8b08000000000002034bd449e232d431e202007b07970a08000000" -- a,b and 1,2
    world.put("sales.csv.gz", gz)
    local made = assert(d:open "sales.csv.gz")
    assert.equal("sales", made.name)
    assert.equal("csv", made.format)
    world.put("copy.CSV.gz", gz)
    assert.equal(made.id, assert(d:open "copy.CSV.gz").id)
    world.put("copy.tsv.gz", gz)
    assert.not_equal(made.id, assert(d:open "copy.tsv.gz").id)
  end)

  it("names the part that is damaged", function()
    world.put("sales.zip", unhex("504b0304140000000000000021007b07970a080000000800000006000000696e2e637376602c620a312c320a504b01021403"
      .. "140000000000000021007b07970a0800000008000000060000000000000000000000800100000000696e2e637376504b0506"
      .. "0000000001000100340000002c0000000000"))
    local got, message, id, fields = d:open "sales.zip"
    assert.is_nil(got)
    assert.equal("ingest_invalid", id)
    assert.equal(world.work .. "/sales.zip", fields.object)
    assert.equal("in.csv", fields.part)
    assert.matches("in.csv: ", message, 1, true)
    assert.matches("^in.csv: ", fields.detail)
  end)

  it("makes it again when its file is gone", function()
    world.put("sales.csv", SALES)
    local made = assert(d:open "sales.csv")
    assert(fs.remove(made.path))
    local _, _, id = d:get(made.id)
    assert.equal("not_found", id)
    local again = assert(d:open "sales.csv")
    assert.is_false(again.reused)
    assert.not_equal(made.id, again.id)
  end)

  it("keeps sessions apart", function()
    world.put("sales.csv", SALES)
    local made = assert(d:open "sales.csv")
    local other = data.new { session = world.session() }
    local got, err, id, fields = other:get(made.id)
    assert.is_nil(got)
    assert.matches(made.id, err, 1, true)
    assert.equal("not_found", id)
    assert.equal("dataset", fields.reason)
    assert.equal("not_found", select(3, other:query(made.id, "SELECT 1")))
    assert.is_false(assert(other:open "sales.csv").reused)
  end)

  it("names the file, the line and the limit", function()
    world.put("empty.csv", "")
    local got, _, id, fields = d:open "empty.csv"
    assert.is_nil(got)
    assert.equal("ingest_invalid", id)
    assert.equal(world.work .. "/empty.csv", fields.object)
    assert.equal("not_found", select(3, d:open "none.csv"))
    assert.equal("io_error", select(3, d:open "."))

    world.put("sales.csv", SALES)
    local small = data.new { session = world.session { ["analysis.data.maxRows"] = 2 } }
    got, _, id, fields = small:open "sales.csv"
    assert.is_nil(got)
    assert.equal("ingest_limit", id)
    assert.equal("analysis.data.maxRows", fields.object)
    assert.equal(world.work .. "/sales.csv", fields.file)
    assert.same({ "maxRows", 2 }, { fields.reason, fields.limit })
    local tiny = data.new { session = world.session { ["analysis.data.maxFileBytes"] = 10 } }
    id, fields = select(3, tiny:open "sales.csv")
    assert.same({ "ingest_limit", "maxFileBytes", 10 }, { id, fields.reason, fields.limit })
    world.put("wide.csv", ("x,"):rep(1001) .. "\n1\n")
    assert.equal("fixed", select(4, d:open "wide.csv").reason)
    assert.same({}, files())
  end)

  it("raises for an override that is none", function()
    assert.error_matches(function() d:open("x.csv", { seperator = ";" }) end, "seperator")
  end)

  it("leaves neither file nor record when it is stopped", function()
    world.put("big.csv", "a,b\n" .. ("1234567,abcdefg\n"):rep(2000000))
    local t = task.spawn(function() return d:open "big.csv" end)
    task.sleep(40)
    t:cancel()
    assert.is_nil((t:wait()))
    assert.same({}, files())
    assert.same({}, d:list())
  end)

  it("leaves no file when the record cannot be kept", function()
    world.put("sales.csv", SALES)
    local save = world.store.datasets.save
    world.store.datasets.save = function() return nil, "disk full", "no_space" end
    local got, _, id = d:open "sales.csv"
    world.store.datasets.save = save
    assert.is_nil(got)
    assert.equal("no_space", id)
    assert.same({}, files())
  end)

  it("sweeps what an interrupted process left", function()
    world.put("sales.csv", SALES)
    local made = assert(d:open "sales.csv")
    assert(fs.write(d.folder .. "/ds_00000000000000000000000000.sqlite", "x"))
    assert(fs.write(d.folder .. "/.ds_1.sqlite.part", "x"))
    assert(fs.write(d.folder .. "/.ds_2.sqlite.part", "x"))
    local held <close> = assert(fs.lock(d.folder .. "/.ds_2.sqlite.part"))
    assert.is_truthy(held)
    data.new({ session = session }):sweep()
    assert.same({ ".ds_2.sqlite.part", made.id .. ".sqlite" }, files())
  end)

  it("answers within the limits of the configuration", function()
    world.put("sales.csv", SALES)
    local made = assert(d:open "sales.csv")
    local a = assert(d:query(made.id, "SELECT region FROM data", { maxRows = 1 }))
    assert.is_true(a.truncated)
    assert.equal("Norte", a.rows[1].region)
    local quick = data.new { session = session }
    session.config.get = function(_, key)
      return key == "analysis.data.queryTimeoutMs" and 50
    end
    local _, _, id, fields = quick:query(made.id,
      "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t")
    assert.equal("query_timeout", id)
    assert.equal(50, fields.limit)
  end)

  it("gives pages of a sheet", function()
    world.put("sales.csv", SALES)
    local made = assert(d:open "sales.csv")
    local page = assert(d:rows(made.id, { first = 2, count = 5, columns = { "total", "region" } }))
    assert.same({ "total", "region" }, page.columns)
    assert.equal("007", page.rows[2].total)
    assert.same({ 2, 3 }, page.numbers)
    assert.equal(3, page.total)
    assert.equal(3, #assert(d:rows(made.id, { sheet = "data" })).rows)
    local none, err, id, fields = d:rows(made.id, { sheet = "nope" })
    assert.is_nil(none)
    assert.matches("nope", err)
    assert.equal("not_found", id)
    assert.equal("sheet", fields.reason)
    assert.equal("not_found", select(3, d:rows "ds_none"))
  end)

  it("gives pages of a view", function()
    world.put("sales.csv", SALES)
    local made = assert(d:open "sales.csv")
    local view <close> = assert(d:view(made.id, { sheet = "data", sort = { { column = "total", descending = true } } }))
    assert.equal(3, view.rows)
    local page = assert(d:rows(made.id, { view = view, count = 2 }))
    assert.same({ 3, 2 }, page.numbers)
    assert.equal("007", page.rows[1].total)
    assert.equal("query_rejected", select(3, d:view(made.id, { sort = { { column = "Total" } } })))
    assert.equal("not_found", select(3, d:view(made.id, { sheet = "nope" })))
    assert.equal("not_found", select(3, d:view "ds_none"))
    world.put("other.csv", "a\n1\n")
    local other = assert(d:open "other.csv")
    assert.has_error(function() d:rows(other.id, { view = view }) end, "the view is of another dataset")
  end)

  it("answers group-bys", function()
    world.put("sales.csv", SALES)
    local made = assert(d:open "sales.csv")
    local answer = assert(d:aggregate(made.id, { sheet = "data", groups = { { measures = { { fn = "count" } } } } }))
    assert.same({ 3 }, answer.groups[1].measures[1])
    assert.equal("query_rejected", select(3, d:aggregate(made.id, { groups = { { by = { { column = "nope" } } } } })))
    assert.equal("not_found", select(3, d:aggregate(made.id, { sheet = "nope" })))
    assert.equal("not_found", select(3, d:aggregate("ds_none", {})))
  end)

  it("gives other rows than it keeps", function()
    world.put("sales.csv", SALES)
    local made = assert(d:open "sales.csv")
    assert.equal(1, #assert(d:sample(made.id, 1)).sheets[1].sample)
    assert.equal(0, #assert(d:sample(made.id, 0)).sheets[1].sample)
  end)

  it("tells all of it as one document", function()
    world.put("sales.csv", "a,b\n1\n2,3\n")
    local doc = data.document(assert(d:open "sales.csv"), "es")
    assert.equal("sales", doc.dataset.name)
    assert.is_nil(doc.dataset.sheets)
    assert.equal("data", doc.sheets[1].table)
    assert.matches("^1 fila", doc.notes[1])
    assert.matches('"notes":%[%]', json.encode(data.document(assert(d:open("sales.csv", { skip = 2 })), "en")))
  end)
end)
