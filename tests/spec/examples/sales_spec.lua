local generate = dofile "examples/data/generate.lua"

local function committed()
  local file = assert(io.open("examples/data/sales.csv", "rb"))
  local text = file:read "a"
  file:close()
  return text
end

-- The cells of one line; quoted ones hold no line break here.
local function cells(line)
  local out, at = {}, 1
  line = line:gsub('""', "\1")
  while at <= #line + 1 do
    local quoted, behind = line:match('^"([^"]*)"()', at)
    if quoted then
      out[#out + 1] = quoted:gsub("\1", '"')
    else
      out[#out + 1], behind = line:match("^([^,]*)()", at)
    end
    at = behind + 1
  end
  return out
end

local function cents(text)
  local whole, part = text:match "^(%d+)%.(%d%d)$"
  return whole * 100 + part
end

describe("the sales file", function()
  it("is what its generator writes, byte for byte", function()
    assert.equal(committed(), generate.csv())
    assert.equal(generate.csv(), generate.csv())
  end)

  it("has totals that are exact", function()
    local n = 0
    for line in committed():gmatch "[^\n]+" do
      local row = cells(line)
      assert.equal(11, #row, line)
      if n > 0 then
        assert.equal(cents(row[10]), math.tointeger(row[8]) * cents(row[9]), line)
      end
      n = n + 1
    end
    assert.equal(401, n)
  end)

  it("has what makes real files hard", function()
    local text = committed()
    assert.is_nil(text:find "\r")
    assert.truthy(text:find(",08002,", 1, true)) -- a leading zero
    assert.truthy(text:find("Málaga", 1, true))
    assert.truthy(text:find('"Lamp ""Luna"", brass"', 1, true))
    assert.truthy(text:find ",,")
    assert.truthy(utf8.len(text))
  end)
end)
