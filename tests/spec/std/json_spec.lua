local json = require "std.json"

describe("std.json", function()
  local function round(text)
    return json.encode(assert(json.decode(text)))
  end

  it("gives back what it read", function()
    for _, text in ipairs {
      "[]", "{}", "[[],{}]", "null", "true", '"a\\nb"', '{"a":[1,null,"x"],"b":{"c":[]}}',
      "9223372036854775807", "-9223372036854775808", "1.5", "1e300", '"ñ \u{1F600}"',
    } do
      assert.equal(text, round(text))
    end
  end)

  it("keeps integers and reals apart", function()
    local v = json.decode "[1, 1.0, 9007199254740993, 18446744073709551615]"
    assert.equal("integer", math.type(v[1]))
    assert.equal("float", math.type(v[2]))
    assert.equal(9007199254740993, v[3])
    assert.equal("float", math.type(v[4]))
    assert.equal("[1,1.0]", json.encode { 1, 1.0 })
  end)

  it("writes keys sorted by their bytes", function()
    assert.equal('{"B":1,"a":2,"aa":3,"ñ":4}', json.encode { aa = 3, a = 2, ["ñ"] = 4, B = 1 })
  end)

  it("knows arrays by their mark or their keys", function()
    assert.equal("{}", json.encode {})
    assert.equal("[]", json.encode(json.array()))
    assert.equal("[1,2]", json.encode { 1, 2 })
    assert.is_true(json.is_array(json.array {}))
    assert.is_true(json.is_array { 1 })
    assert.is_false(json.is_array {})
    assert.is_false(json.is_array { a = 1 })
    assert.is_false(json.is_array "text")
  end)

  it("copies raw text and indents on request", function()
    assert.equal('{"a":[1, 2]}', json.encode { a = json.raw "[1, 2]" })
    assert.equal('{\n  "a": [\n    1,\n    {}\n  ],\n  "b": []\n}',
      json.encode({ a = { 1, {} }, b = json.array() }, { pretty = true }))
  end)

  it("never writes what is not JSON", function()
    assert.equal('["NaN","Infinity","-Infinity"]', json.encode { 0 / 0, 1 / 0, -1 / 0 })
    assert.equal('"\u{FFFD}"', json.encode "\xff")
  end)

  it("raises for what JSON cannot say", function()
    local cycle = {}
    cycle.cycle = cycle
    assert.error_matches(function() json.encode(cycle) end, "deeper than 128")
    assert.error_matches(function() json.encode { 1, a = 2 } end, "keys")
    assert.error_matches(function() json.encode { [1] = 1, [3] = 3 } end, "keys")
    assert.error_matches(function() json.encode { [true] = 1 } end, "keys")
    assert.error_matches(function() json.encode(print) end, "function")
  end)

  it("says where a text stops being JSON", function()
    local v, err, _, fields = json.decode '{"a": 1,\n "b": nul}'
    assert.is_nil(v)
    assert.matches("line 2", err)
    assert.equal(2, fields.line)
    for _, bad in ipairs { "", "[1,]", "01", "[1] 2", "'a'", '"\\ud800"', "\u{FEFF}1", '"\xff"' } do
      assert.is_nil((json.decode(bad)))
    end
  end)

  it("stops at the depth and the size it is told", function()
    assert.is_truthy(json.decode("[[1]]", { maxDepth = 2 }))
    assert.is_nil((json.decode("[[1]]", { maxDepth = 1 })))
    assert.is_nil((json.decode("[1,2]", { maxBytes = 4 })))
    assert.is_nil((json.decode(("["):rep(100000))))
  end)

  it("survives memory running out #oom", function()
    local text = json.encode({ a = { 1, "two", json.null }, b = { c = true } }, { pretty = true })
    assert(json.decode(text))
  end)
end)
