local json = require "std.json"
local columns = require "alisio.agent.model.offline.columns"
local language = require "alisio.agent.model.offline.language"
local offline = require "alisio.agent.model.offline"
local say = require "alisio.agent.model.offline.say"

local heads = { "table", "name", "label", "type", "rows", "nulls", "distinct", "min", "max", "mean", "textFallbacks", "top" }

local function column(name, label, kind, distinct, more)
  local out = { table = "data", name = name, label = label, type = kind, rows = 300, nulls = 0, distinct = distinct, textFallbacks = 0 }
  for key, value in pairs(more or {}) do
    out[key] = value
  end
  return out
end

local shipments = {
  column("shipment_no", "Shipment No", "integer", 300),
  column("shipped_on", "Shipped on", "date", 90, { min = "2025-01-02", max = "2025-03-31" }),
  column("carrier", "Carrier", "text", 4),
  column("origin_city", "Origin city", "text", 25),
  column("weight_kg", "Weight kg", "real", 280),
  column("cost_usd", "Cost USD", "real", 290),
}

local function inspected(list)
  local rows = {}
  for i, c in ipairs(list) do
    rows[i] = {}
    for k, head in ipairs(heads) do
      rows[i][k] = c[head] == nil and json.null or c[head]
    end
  end
  return { status = "ok", text = "dataset ds_0abc", table = { columns = heads, rows = rows } }
end

-- Plays the loop: answers every call by `tools[name]` until the model ends; returns its text and the calls.
local function converse(prompt, tools, offered)
  local request = { messages = { { role = "user", text = prompt } }, tools = {}, locale = "en" }
  for name in pairs(tools) do
    if not offered or offered[name] then
      table.insert(request.tools, { name = name })
    end
  end
  local calls, n = {}, 0
  for _ = 1, 10 do
    local text, turn = "", {}
    local reply = assert(offline.stream(request, function(piece)
      if piece.type == "text" then
        text = text .. piece.text
      else
        turn[#turn + 1] = piece
      end
    end))
    if reply.stop == "end" then
      return text, calls
    end
    local answer = { role = "assistant", text = text, toolCalls = {} }
    table.insert(request.messages, answer)
    for _, call in ipairs(turn) do
      n = n + 1
      calls[n] = call
      answer.toolCalls[#answer.toolCalls + 1] = { id = "c" .. n, name = call.name, input = call.input }
      local result = tools[call.name](call.input)
      result.role, result.callId, result.name = "tool", "c" .. n, call.name
      table.insert(request.messages, result)
    end
  end
  error "the model does not come to an end"
end

local function folder(list, query)
  return {
    list_files = function()
      return { status = "ok", text = list }
    end,
    data_inspect = function()
      return inspected(shipments)
    end,
    data_query = query or function(input)
      if input.sql:find "GROUP BY" then
        return { status = "ok", text = "", table = { columns = { "key", "value", "n" }, rows = { { "Ona", 10.5, 2 }, { json.null, 4.0, 1 } } } }
      end
      return { status = "ok", text = "", table = { columns = { "value" }, rows = { { 3, 14.5, 4.8, 1, 2, 3, 4 } } } }
    end,
  }
end

describe("after a crash", function()
  local function after(status, name, input)
    local calls = {}
    local reply = assert(offline.stream({
      tools = { { name = "list_files" }, { name = "data_inspect" }, { name = "data_query" } }, locale = "en",
      messages = {
        { role = "user", text = "describe it" },
        { role = "assistant", text = "", toolCalls = { { id = "a", name = name, input = input } } },
        { role = "tool", callId = "a", name = name, status = status, text = "whether it ran is not known" },
      },
    }, function(piece)
      calls[#calls + 1] = piece
    end))
    return reply.stop, calls
  end

  it("looks again where only a look was lost", function()
    for _, status in ipairs { "uncertain", "cancelled" } do
      local stop, calls = after(status, "list_files", { recursive = false })
      assert.equal("tools", stop)
      assert.equal("list_files", calls[1].name)
    end
  end)
end)

describe("the language of a request", function()
  it("is told by its words, and by the fallback when they do not tell", function()
    assert.equal("en", language.locale "Summarize sales.csv into report.md")
    assert.equal("es", language.locale "Resume ventas.csv en informe.md")
    assert.equal("es", language.locale("ventas.csv", "es"))
    assert.equal("en", language.locale("ventas.csv", nil))
  end)

  it("keeps files, reports and quoted names apart", function()
    local wish = language.read 'Summarize "my sales.csv" into out.md, please'
    assert.equal("out.md", wish.report)
    assert.equal("my sales.csv", wish.files[1])
  end)

  it("folds plurals of both languages", function()
    assert.is_true(language.same("cities", "city"))
    assert.is_true(language.same("regiones", "region"))
    assert.is_true(language.same("clientes", "cliente"))
    assert.is_false(language.same("price", "product"))
  end)
end)

describe("the plan of a request", function()
  local function plan(prompt)
    local found = columns.plan(language.read(prompt), shipments)
    return { found.aggregation, found.measure and found.measure.name or "", found.dimension and found.dimension.name or "" }, found
  end

  it("finds columns by label, by part of it and by a synonym in the other language", function()
    assert.same({ "sum", "cost_usd", "carrier" }, (plan "total of cost usd by carrier"))
    assert.same({ "sum", "cost_usd", "carrier" }, (plan "total of cost by carriers"))
    assert.same({ "avg", "cost_usd", "origin_city" }, (plan "promedio del costo por ciudad"))
  end)

  it("counts rows unless told what to count", function()
    assert.same({ "count", "", "carrier" }, (plan "count by carrier"))
    local names, found = plan "how many different carriers by city"
    assert.same({ "count", "carrier", "origin_city" }, names)
    assert.is_true(found.distinct)
  end)

  it("ranks groups by what stands behind by", function()
    local names, found = plan "top 3 carriers by weight"
    assert.same({ "sum", "weight_kg", "carrier" }, names)
    assert.equal(3, found.limit)
  end)

  it("groups time by the bucket named", function()
    local names, found = plan "total cost by month"
    assert.same({ "sum", "cost_usd", "shipped_on" }, names)
    assert.equal("month", found.bucket)
  end)

  describe("of a file whose name is made of words", function()
    local grades = {
      column("alumno", "Alumno", "text", 40),
      column("asignatura", "Asignatura", "text", 4),
      column("calificacion", "Calificación", "integer", 11),
      column("horas_de_estudio", "Horas de estudio", "integer", 40),
      column("units_in_stock", "Units in stock", "integer", 90),
    }
    local function plan_of(prompt)
      local found = columns.plan(language.read(prompt, "es", "notas de alumnos.csv"), grades)
      return { found.aggregation or "", found.measure and found.measure.name or "",
        found.dimension and found.dimension.name or "" }, found
    end

    it("takes no word of the name, and no joining word, for a column", function()
      assert.same({ "avg", "calificacion", "asignatura" },
        (plan_of "promedio de calificación por asignatura en notas de alumnos.csv"))
      assert.same({ "avg", "calificacion", "asignatura" },
        (plan_of "media de las calificaciones por asignaturas de las notas de alumnos"))
      assert.same({ "", "", "" }, (plan_of "what is in notas de alumnos.csv?"))
    end)

    it("still finds those words where they are meant", function()
      local names, found = plan_of "¿cuántos alumnos distintos hay en notas de alumnos.csv?"
      assert.same({ "count", "alumno", "" }, names)
      assert.is_true(found.distinct)
      assert.same({ "sum", "horas_de_estudio", "alumno" }, (plan_of "los 3 alumnos con más horas de estudio"))
      assert.same({ "sum", "units_in_stock", "asignatura" }, (plan_of "total units in stock by asignatura"))
    end)

    it("keeps a name of one word, which may be a column as well", function()
      local found = columns.plan(language.read("total de horas por alumno", "es", "horas.csv"), grades)
      assert.equal("horas_de_estudio", found.measure.name)
    end)
  end)

  it("never adds up what tells rows apart", function()
    for _, measure in ipairs(columns.measures(shipments)) do
      assert.not_equal("shipment_no", measure.name)
    end
  end)
end)

describe("the offline model", function()
  it("takes the only table of the folder", function()
    local text, calls = converse("average weight", folder "notes.txt  5 bytes\nshipments.csv  1234 bytes")
    assert.equal("shipments.csv", calls[2].input.path)
    assert.matches("Average Weight kg: %*%*", text)
  end)

  it("knows packed tables and workbooks by their names", function()
    for name, known in pairs {
      ["s.xlsx"] = true, ["s.ods"] = true, ["S.JSONL"] = true, ["s.csv.gz"] = true, ["s.tsv.zst"] = true, ["s.json.zip"] = true,
      ["s.zip"] = false, ["s.gz"] = false, ["s.tar.gz"] = false, ["csv"] = false,
    } do
      local _, calls = converse("average weight", folder(name .. "  5 bytes"))
      assert.equal(known and name or nil, calls[2] and calls[2].input.path)
    end
  end)

  it("asks which when there are several", function()
    local text, calls = converse("average weight", folder "a.csv  5 bytes\nb.csv  1234 bytes")
    assert.equal(1, #calls)
    assert.matches("a.csv, b.csv", text, 1, true)
  end)

  it("takes the one that is named, with spaces and without its ending", function()
    local _, calls = converse("average weight in north shipments", folder "a.csv  5 bytes\nnorth shipments.csv  1234 bytes")
    assert.equal("north shipments.csv", calls[2].input.path)
  end)

  it("gives up with the tool's own words", function()
    local tools = folder "a.csv  5 bytes"
    tools.data_inspect = function()
      return { status = "error", text = "a.csv is binary" }
    end
    local text = converse("count by carrier", tools)
    assert.matches("data_inspect failed: a.csv is binary", text, 1, true)
  end)

  it("keeps NULL groups and escapes what a cell could do to the page", function()
    local text = converse("total cost by carrier", folder("a.csv  5 bytes", function()
      return { status = "ok", text = "", table = { columns = { "key", "value", "n" }, rows = { { "a|<b>", 3, 1 }, { json.null, 1, 1 } } } }
    end))
    assert.matches("a\\|\\<b\\>", text, 1, true)
    assert.matches("(empty)", text, 1, true)
  end)

  it("draws no chart where Python is not offered, and says so", function()
    local text = converse("bar chart of cost by carrier", folder "a.csv  5 bytes")
    assert.matches("--allow-analysis", text, 1, true)
    assert.matches("Ona", text, 1, true)
  end)

  it("publishes a report of queried figures and hands the chart to Python", function()
    local tools = folder "a.csv  5 bytes"
    local report, script
    tools.artifact_create = function(input)
      report = input
      return { status = "ok", text = "", artifacts = { "art_1" } }
    end
    tools.python_run = function(input)
      script = input
      return { status = "ok", text = "" }
    end
    converse("Summarize a.csv into out.md and a bar chart", tools)
    assert.equal("out.md", report.fileName)
    assert.matches("| Ona | 10.50 |", report.text, 1, true)
    assert.matches("svg.bar", script.code, 1, true)
    assert.equal("ds_0abc", script.inputs[1].datasetId)
  end)

  it("gives the report itself when it cannot be published, and says why there is no chart", function()
    local tools = folder "a.csv  5 bytes"
    tools.artifact_create = function()
      return { status = "error", text = "no_space: the disk is full" }
    end
    tools.python_run = function()
      return { status = "error", text = "python_missing: install Python" }
    end
    local text = converse("Summarize a.csv into out.md and a bar chart", tools)
    assert.matches("the disk is full", text, 1, true)
    assert.matches("| Ona | 10.50 |", text, 1, true)
    assert.matches("No chart was drawn. install Python", text, 1, true)
  end)

  it("says what it can do to anything else", function()
    local text, calls = converse("tell me a joke", folder "a.csv  5 bytes")
    assert.equal(0, #calls)
    assert.matches("bar chart", text)
  end)
end)

describe("cells", function()
  it("keep names readable and marks inert", function()
    assert.equal("unit_price", say.cell "unit_price")
    assert.equal("\\_a\\_ b\\*", say.cell "_a_ b*")
    assert.equal("one two", say.cell "one\ntwo")
  end)
end)

describe("numbers in words", function()
  it("follow the language's marks", function()
    assert.equal("1,234,567.50", say.number(1234567.5, "en"))
    assert.equal("1.234.567,50", say.number(1234567.5, "es"))
    assert.equal("−12", say.number(-12, "en"))
    assert.equal("999", say.number(999, "en"))
    assert.equal("10.6%", say.percent(0.1057, "en"))
  end)
end)
