local json = require "std.json"
local schema = require "std.schema"

local function message(source, value)
  local ok, err, id = schema.check(source, value)
  assert.is_nil(ok)
  assert.equal("schema_mismatch", id)
  return err
end

local function passes(source, value)
  assert.is_true(schema.check(source, value))
end

describe("schema shorthand #oom", function()
  it("knows every type and what may be missing", function()
    local tool = schema.compile {
      sku = "string", count = "integer?", ratio = "number?", on = "boolean?", any = "any?",
      list = "string[]?", pairs = "integer[][]?", order = '"asc"|"desc"?', id = "string|integer?",
    }
    passes(tool, { sku = "a" })
    passes(tool, {
      sku = "", count = 1, ratio = 0.5, on = false, any = json.null, list = { "a" }, pairs = { { 1 }, {} },
      order = "asc", id = 7,
    })
    assert.equal('$: missing key "sku" (a string)', message(tool, {}))
    assert.equal("$.count: expected an integer, got 1.5", message(tool, { sku = "a", count = 1.5 }))
    assert.equal("$.list[1]: expected a string, got 2", message(tool, { sku = "a", list = { "x", 2 } }))
    assert.equal("$.pairs[0][1]: expected an integer, got \"x\"", message(tool, { sku = "a", pairs = { { 1, "x" } } }))
    assert.equal('$.order: expected one of "asc", "desc", got "des", did you mean "desc"?',
      message(tool, { sku = "a", order = "des" }))
    assert.equal("$.id: expected a string or an integer, got true", message(tool, { sku = "a", id = true }))
  end)

  it("refuses unknown keys and names the nearest", function()
    local tool = { path = "string", recursive = "boolean?" }
    assert.equal('$: unknown key "pth", did you mean "path"?', message(tool, { pth = "x" }))
    assert.equal('$: unknown key "zebra", known are path, recursive', message(tool, { path = "x", zebra = 1 }))
    assert.equal('$: unknown key "x", none is known', message({}, { x = 1 }))
  end)

  it("takes descriptions and further keywords beside a type", function()
    local tool = schema.compile { n = { "integer?", "how many", minimum = 1, maximum = 10 } }
    assert.same({ type = "integer", description = "how many", minimum = 1, maximum = 10 }, tool.json.properties.n)
    assert.equal("$.n: expected an integer from 1 to 10, got 11", message(tool, { n = 11 }))
  end)

  it("nests", function()
    local tool = { out = { path = "string", deep = { n = "integer" } } }
    passes(tool, { out = { path = "x", deep = { n = 1 } } })
    assert.equal("$.out.deep.n: expected an integer, got an array", message(tool, { out = { path = "x", deep = { n = { 1 } } } }))
  end)

  it("becomes a JSON Schema for the model", function()
    local tool = schema.compile { b = "string", a = "string[]", c = "integer?" }
    assert.same({
      type = "object", additionalProperties = false, required = { "a", "b" },
      properties = {
        a = { type = "array", items = { type = "string" } }, b = { type = "string" }, c = { type = "integer" },
      },
    }, tool.json)
    assert.equal('{"additionalProperties":false,"properties":{},"type":"object"}', json.encode(schema.compile({}).json))
  end)

  it("raises where the schema itself is wrong", function()
    assert.error_matches(function() schema.compile { a = "strin?" } end, 'field a: unknown type "strin".*mean string')
    assert.error_matches(function() schema.compile { a = 1 } end, "field \"a\": expected a shorthand text")
    assert.error_matches(function() schema.compile { type = "string", minLenght = 1 } end, "minLenght.*mean minLength")
    assert.error_matches(function() schema.compile { type = "object", properties = { a = { typ = "string" } } } end,
      "schema.properties.a: unknown schema keyword \"typ\"")
    assert.error_matches(function() schema.compile { anyOf = { { ["$ref"] = "#/$defs/none" } } } end, "nothing stands at")
    assert.error_matches(function() schema.compile { anyOf = { { ["$ref"] = "https://x/y" } } } end, "inside the document")
    assert.error_matches(function() schema.compile(3) end, "got number")
  end)
end)

describe("JSON Schema", function()
  -- { schema, values that pass, values that do not }
  local cases = {
    { { type = "integer" }, { 1, 1.0, -3 }, { 1.5, "1", math.huge } },
    { { type = "number" }, { 1, 1.5 }, { "1", true } },
    { { type = { "string", "null" } }, { "a", json.null }, { 1 } },
    { { type = "object" }, { {}, { a = 1 } }, { { 1 }, json.array {}, "x" } },
    { { type = "array" }, { {}, { 1 }, json.array {} }, { { a = 1 } } },
    { { enum = { 1, "a", json.null } }, { 1, 1.0, "a", json.null }, { 2, "b" } },
    { { type = "object", properties = { k = { const = { a = { 1 } } } } }, { { k = { a = { 1 } } } }, { { k = { a = { 2 } } } } },
    { { type = "string", minLength = 2, maxLength = 3 }, { "ab", "äöü" }, { "a", "abcd" } },
    { { type = "number", exclusiveMinimum = 0, exclusiveMaximum = 1 }, { 0.5 }, { 0, 1 } },
    { { type = "integer", multipleOf = 5 }, { 0, 10 }, { 7 } },
    { { type = "array", minItems = 1, maxItems = 2, uniqueItems = true }, { { 1 }, { 1, 2 } }, { {}, { 1, 1 }, { 1, 2, 3 } } },
    { { type = "array", prefixItems = { { type = "string" } }, items = { type = "integer" } },
      { { "a" }, { "a", 1, 2 } }, { { 1 }, { "a", "b" } } },
    { { type = "object", minProperties = 1, maxProperties = 1 }, { { a = 1 } }, { {}, { a = 1, b = 2 } } },
    { { type = "object", additionalProperties = { type = "integer" } }, { { a = 1 } }, { { a = "x" } } },
    { { type = "object", dependentRequired = { a = { "b" } } }, { { b = 1 }, { a = 1, b = 1 } }, { { a = 1 } } },
    { { allOf = { { type = "integer" }, { minimum = 3 } } }, { 3 }, { 2, "x" } },
    { { oneOf = { { type = "integer" }, { type = "number", minimum = 5 } } }, { 1, 5.5 }, { 6, 1.5 } },
    { { type = "integer", ["not"] = { const = 3 } }, { 1 }, { 3 } },
    { { type = "object", properties = { n = { ["$ref"] = "#" } }, additionalProperties = false },
      { { n = { n = {} } } }, { { n = { m = 1 } } } },
    { { type = "object", properties = { a = true, b = false } }, { { a = 1 } }, { { b = 1 } } },
  }
  for i, case in ipairs(cases) do
    it("decides case " .. i, function()
      local compiled = schema.compile(case[1])
      for _, value in ipairs(case[2]) do
        passes(compiled, value)
      end
      for _, value in ipairs(case[3]) do
        message(compiled, value)
      end
    end)
  end

  it("names the deepest mistake of alternatives", function()
    local either = { anyOf = {
      { type = "object", properties = { path = { type = "string" } }, required = { "path" } },
      { type = "string" },
    } }
    assert.equal("$.path: expected a string, got 3", message(either, { path = 3 }))
    assert.equal("$: expected an object or a string, got 3", message(either, 3))
  end)

  it("shows odd keys in the path and shortens what it got", function()
    local map = { type = "object", additionalProperties = { type = "integer" } }
    assert.matches('^%$%["odd key"%]: expected an integer, got "x+…"$', message(map, { ["odd key"] = ("x"):rep(100) }))
  end)

  it("ends on references that lead nowhere and on very deep values", function()
    local loop = { anyOf = { { ["$ref"] = "#" }, { ["$ref"] = "#" }, { ["not"] = { ["$ref"] = "#" } } } }
    assert.matches("less nesting", message(loop, 1))
    local deep = {}
    for _ = 1, 300 do
      deep = { n = deep }
    end
    assert.matches("less nesting", message({ type = "object", properties = { n = { ["$ref"] = "#" } } }, deep))
  end)
end)

describe("nearest", function()
  it("finds what a person meant", function()
    local names = { "timeoutMs", "maxFiles", "maxFileBytes" }
    assert.equal("timeoutMs", schema.nearest("timeoutms", names))
    assert.equal("timeoutMs", schema.nearest("tiemoutMs", names))
    assert.equal("maxFiles", schema.nearest("maxFile", names))
    assert.is_nil(schema.nearest("colour", names))
    assert.is_nil(schema.nearest("x", {}))
    assert.equal("ask", schema.nearest("aks", { "auto", "ask" }))
  end)
end)
