local data = require "alisio.data"
local helper = require "spec.session_helper"
local source = require "alisio.ui.cli.lib.pager.source"

describe("alisio.ui.cli.lib.pager.source", function()
  local world, s, sheet

  setup(function()
    world = helper.world()
    local lines = { "n,Name,note" }
    for i = 1, 1500 do
      lines[#lines + 1] = ("%d,%s,%s"):format(i * 7 % 1500, i % 3 == 0 and "" or "name " .. i % 10, i == 700 and "50% of A_b'c" or "x")
    end
    world.put("a.csv", table.concat(lines, "\n") .. "\n")
    local sets = data.new { session = world.session() }
    local described = assert(sets:open "a.csv")
    s, sheet = source.new(sets, described.id), described.sheets[1]
  end)
  teardown(function()
    world.close()
  end)

  local function none() end

  local function first(view, count, columns)
    return assert(s:rows(sheet, { first = 1, count = count, columns = columns or { "n" }, view = view, cellBytes = 100 }))
  end

  it("gives rows by their position, and cells whole", function()
    local got = assert(s:rows(sheet, { first = 1498, count = 10, columns = { "note", "n" }, cellBytes = 100 }))
    assert.same({ 1498, 1499, 1500 }, got.numbers)
    assert.same({ "x", 0 }, { got.rows[3][1], got.rows[3][2] })
    assert.equal("50% of A_b'c", assert(s:whole(sheet, nil, 700, "note")).value)
    assert.is_nil(assert(s:whole(sheet, nil, 3, "name")).value)
    assert.is_nil((s:rows(sheet, { first = 1, count = 1, columns = { "nope" }, cellBytes = 100 })))
  end)

  it("makes views, sorted and filtered", function()
    local down = assert(s:view(sheet, { column = 1, descending = true }, {}, none))
    assert.equal(1500, down.rows)
    local got = first(down, 3)
    assert.same({ 1499, 1498, 1497 }, { got.rows[1][1], got.rows[2][1], got.rows[3][1] })
    assert.equal(214, got.numbers[2]) -- 7 * 214 = 1498
    local function kept(filters)
      local view <close> = assert(s:view(sheet, nil, filters, none))
      return view.rows
    end
    assert.equal(500, kept { [2] = { op = "empty" } })
    assert.equal(1000, kept { [2] = { op = "filled" } })
    assert.equal(100, kept { [2] = { op = "equals", value = "name 7" } })
    assert.equal(1, kept { { op = "equals", value = 77 } })
    assert.equal(0, kept { { op = "equals", value = "77" } })
    assert.equal(10, kept { { op = "least", value = 1490 } })
    assert.equal(9, kept { { op = "above", value = 1490 } })
    assert.equal(11, kept { { op = "most", value = 10 } })
    assert.equal(10, kept { { op = "below", value = 10 } })
    assert.equal(1, kept { [3] = { op = "contains", value = "a_B" } })
    assert.equal(500, kept { { op = "below", value = 750 }, [2] = { op = "filled" } })
    down:release()
  end)

  it("knows how the columns are spread", function()
    assert.is_table(assert(s:spread(sheet)).heights[1])
  end)
end)
