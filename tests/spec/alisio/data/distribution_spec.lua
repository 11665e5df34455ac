local data = require "alisio.data"
local distribution = require "alisio.data.distribution"
local helper = require "spec.session_helper"

describe("alisio.data.distribution", function()
  local world, sets

  setup(function()
    world = helper.world()
    sets = data.new { session = world.session() }
  end)
  teardown(function()
    world.close()
  end)

  local function of(name, head, row, rows)
    local lines = { head }
    for i = 1, rows do
      lines[#lines + 1] = row(i)
    end
    world.put(name, table.concat(lines, "\n") .. "\n")
    local described = assert(sets:open(name))
    return assert(distribution.of(sets, described.id, described.sheets[1])), described
  end

  it("counts numbers and dates in equal parts of their range", function()
    local spread = of("a.csv", "n,d,t,e", function(i)
      return ("%s,2024-%02d-01,x%d,%s"):format(i <= 40 and "0.5" or i == 41 and "240.5" or "120.5", i % 12 + 1, i, "7")
    end, 60)
    assert.equal(60, spread.rows)
    local n = spread.heights[1]
    assert.equal(24, #n)
    assert.same({ 40, 19, 1 }, { n[1], n[13], n[24] })
    local sum = 0
    for _, height in ipairs(spread.heights[2]) do
      sum = sum + height
    end
    assert.equal(60, sum)
    assert.is_nil(spread.heights[3])
    assert.is_nil(spread.heights[4])
  end)

  it("gives each part as many whole numbers", function()
    local spread = of("b.csv", "few,many", function(i)
      return ("%d,%d"):format(i % 5, i % 100)
    end, 1000)
    assert.same({ 200.0, 200.0, 200.0, 200.0, 200.0 }, spread.heights[1])
    assert.equal(20, #spread.heights[2])
    for _, height in ipairs(spread.heights[2]) do
      assert.equal(50, height)
    end
    local days = of("days.csv", "day", function(i) return ("2024-02-%02d"):format(i % 29 + 1) end, 290)
    assert.equal(15, #days.heights[1]) -- a leap year's February, two days in each
    for _, height in ipairs(days.heights[1]) do
      assert.equal(20, height)
    end
    local rest = of("rest.csv", "n", function(i) return tostring(i % 51) end, 510) -- 25 parts of two would be one too many
    for _, height in ipairs(rest.heights[1]) do
      assert.equal(30, height)
    end
  end)

  it("looks at evenly spread rows of a large sheet, and at the largest numbers", function()
    local spread = of("c.csv", "n", function(i) return tostring(i) end, 50000)
    assert.is_true(spread.rows <= 20000 and spread.rows > 10000)
    local huge = of("d.csv", "n,m", function(i)
      return i % 2 == 0 and "9007199254740991,1e308" or "-9007199254740991,-1e308"
    end, 10)
    assert.equal(5, huge.heights[1][1])
    assert.is_nil(huge.heights[2]) -- its span is no double
  end)

  it("takes names and dates as they come", function()
    local spread = of("e.csv", [["a""b'c",when]], function(i)
      return i < 1200 and ("%d,2024-01-%02d"):format(i, i % 28 + 1) or i .. ",it's never"
    end, 1300)
    assert.is_table(spread.heights[1])
    assert.is_nil(spread.heights[2])
  end)

  it("tells shares only of columns that repeat themselves", function()
    local function shares(fields)
      fields.distinct = fields.distinct or 2
      return distribution.shares(fields, 100)
    end
    local top = { { value = "x", count = 60 }, { value = "y", count = 10 } }
    assert.same({ 60, 10, ranked = true }, shares { type = "text", top = top })
    assert.is_nil(shares { type = "integer", top = top })
    assert.is_nil(shares { type = "text", top = top, distinct = 100 })
    assert.is_nil(shares { type = "text", top = { { value = "x", count = 1 }, { value = "y", count = 1 } } })
    assert.is_nil(shares { type = "text", top = { { value = "x", count = 100 } } })
  end)
end)
