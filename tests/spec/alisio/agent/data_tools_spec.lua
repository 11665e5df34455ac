--- data_* and artifact_* as the agent calls them: through the door of a real session.
local fs = require "std.fs"
local json = require "std.json"
local schema = require "std.schema"
local helper = require "spec.session_helper"
local artifacts = require "alisio.artifacts"
local data = require "alisio.data"

local function tool(name)
  local def = require("alisio.agent.tools." .. name)
  return def, schema.compile(def.input)
end

describe("tools", function()
  local world, session, call, said

  before_each(function()
    world = helper.world()
    session = world.session()
    session.data, session.artifacts = data.new { session = session }, artifacts.new { session = session }
    said = {}
    call = {
      id = "call_1", session = session, cwd = session.cwd, workspace = session.workspace, config = session.config,
      bus = session.bus, progress = function(_, text) said[#said + 1] = text end,
    }
    world.put("sales.csv", "Región,Total\nNorte,1.5\nSur,2\nSur,007\n")
  end)
  after_each(function()
    world.close()
  end)

  local function run(name, args)
    local def, input = tool(name)
    assert.is_true(schema.check(input, args))
    return def.run(args, call)
  end

  it("inspect a file of the folder, and tell the face once", function()
    local result = assert(run("data_inspect", { path = "sales.csv" }))
    local id = result.text:match "ds_%w+"
    assert.matches("region: text", result.text)
    assert.equal("region", result.table.rows[1][2])
    assert.equal("dataset_ready", session.events[1].type)
    assert.equal(id, session.events[1].fields.dataset.id)
    result = assert(run("data_inspect", { path = world.work .. "/sales.csv" }))
    assert.matches("read before", result.text)
    assert.equal(1, #session.events)
    assert.matches(id, assert(run("data_inspect", { path = id })).text)
  end)

  it("inspect tables of every format, by what they are called or as they are told", function()
    world.put("a.json", '[{"n":1},{"n":2}]')
    world.put("lines.txt", '{"n":1}\n{"n":2}\n')
    assert.matches("(json)", assert(run("data_inspect", { path = "a.json" })).text, 1, true)
    assert.matches("(jsonl)", assert(run("data_inspect", { path = "lines.txt", format = "jsonl" })).text, 1, true)
    local _, input = tool "data_inspect"
    for _, format in ipairs { "csv", "tsv", "json", "jsonl", "xlsx", "ods" } do
      assert.is_true(schema.check(input, { path = "x", format = format }))
    end
    assert.is_not_true((schema.check(input, { path = "x", format = "parquet" })))
  end)

  it("inspect nothing outside the folder", function()
    assert(fs.write(world.dir .. "/secret.csv", "a\n1\n"))
    assert(os.execute(("ln -s ../secret.csv %s/link.csv"):format(world.work)))
    for path, id in pairs {
      ["../secret.csv"] = "permission_denied", [world.dir .. "/secret.csv"] = "permission_denied",
      ["none.csv"] = "not_found",
    } do
      local result, message, got = run("data_inspect", { path = path })
      assert.is_nil(result)
      assert.is_truthy(message)
      assert.equal(id, got)
    end
    assert.is_nil((run("data_inspect", { path = "link.csv" })))
  end)

  it("ask a dataset and give the rows to model and face", function()
    local id = assert(run("data_inspect", { path = "sales.csv" })).text:match "ds_%w+"
    local result = assert(run("data_query", { datasetId = id, sql = "SELECT region, NULL, 9007199254740993, x'ff' FROM data" }))
    assert.matches("| Norte |", result.text, 1, true)
    assert.same({ "Norte", json.null, "9007199254740993", "x'ff'" }, table.move(result.table.rows[1], 1, 4, 1, {}))
    assert.matches('"rows":%[%["Norte",null', json.encode(result.table))
    local none, message, err = run("data_query", { datasetId = id, sql = "SELECT nope FROM data" })
    assert.is_nil(none)
    assert.matches("no such column: nope", message, 1, true)
    assert.equal("query_failed", err)
    local refused = select(2, run("data_query", { datasetId = id, sql = "DELETE FROM data" }))
    assert.matches("SELECT", refused)
    assert.is_false(schema.check(select(2, tool "data_query"), { datasetId = id, sql = "SELECT 1", maxRows = 1001 }) == true)
  end)

  it("say when an answer is longer than the model reads", function()
    world.put("long.csv", "a\n" .. (("x"):rep(1000) .. "\n"):rep(300))
    local id = assert(run("data_inspect", { path = "long.csv" })).text:match "ds_%w+"
    local result = assert(run("data_query", { datasetId = id, sql = "SELECT a FROM data", maxRows = 300 }))
    assert.is_true(#result.text < 50000)
    assert.matches("there are more", result.text)
    assert.equal(300, #result.table.rows)
  end)

  it("publish, list, read and export a text", function()
    local made = assert(run("artifact_create", { fileName = "r.md", title = "Report", text = "# R\n" }))
    local id = made.artifacts[1]
    assert.matches(id, made.text, 1, true)
    assert.matches("document  r.md", assert(run("artifact_list", {})))
    assert.equal("# R\n", run("artifact_read", { artifactId = id }))
    assert.matches("Wrote out/r.md", assert(run("artifact_export", { artifactId = id, path = "out/r.md" })))
    assert.equal("# R\n", (session.workspace:read "out/r.md"))
    local none, message = run("artifact_export", { artifactId = id, path = "out/r.md" })
    assert.is_nil(none)
    assert.matches("overwrite", message)
    assert(run("artifact_export", { artifactId = id, path = "out/r.md", overwrite = true }))
    assert.equal("permission_denied", select(3, run("artifact_export", { artifactId = id, path = "../r.md" })))
    assert.equal("not_found", select(3, run("artifact_read", { artifactId = "art_0" })))
  end)

  it("warn of a page drawn by hand", function()
    local made = assert(run("artifact_create", {
      fileName = "p.html", text = '<!doctype html><script src="https://cdn/x.js"></script>' }))
    assert.matches("warning: p.html", made.text, 1, true)
  end)

  it("cut a long text and say so", function()
    local made = assert(run("artifact_create", { fileName = "r.txt", text = ("x"):rep(100000) }))
    local shown = assert(run("artifact_read", { artifactId = made.artifacts[1] }))
    assert.matches("truncated", shown)
    assert.is_true(#shown < 65700)
  end)

  it("show what an export would do before it is allowed", function()
    local id = assert(run("artifact_create", { fileName = "r.md", title = "Report", text = "x" })).artifacts[1]
    local export = tool "artifact_export"
    local one = assert(export.approval({ artifactId = id }, call))
    assert.matches("Report", one.title)
    assert.matches("r.md", one.script, 1, true)
    world.put("r.md", "mine")
    local two = assert(export.approval({ artifactId = id, overwrite = true }, call))
    assert.not_equal(one.sha256, two.sha256)
    assert.matches("Replace r.md", two.title)
    assert.is_nil((export.approval({ artifactId = id }, call)))
  end)

  it("replace nothing by an export but what was shown", function()
    local id = assert(run("artifact_create", { fileName = "r.md", text = "new" })).artifacts[1]
    local export = tool "artifact_export"
    local input = { artifactId = id, overwrite = true }
    local function answered()
      return setmetatable({ granted = { sha256 = assert(export.approval(input, call)).sha256 } }, { __index = call })
    end
    local before = answered() -- nothing was there
    world.put("r.md", "mine")
    assert.same({ nil, "r.md changed since the question was answered", "permission_denied" }, { export.run(input, before) })
    local one = answered()
    world.put("r.md", "mine too")
    assert.equal("permission_denied", select(3, export.run(input, one)))
    assert.equal("mine too", (session.workspace:read "r.md"))
    assert.matches("Wrote r.md", export.run(input, answered()))
    assert.equal("new", (session.workspace:read "r.md"))
  end)
end)
