local data = require "alisio.data"
local helper = require "spec.session_helper"
local search = require "alisio.ui.cli.lib.pager.search"
local source = require "alisio.ui.cli.lib.pager.source"

describe("alisio.ui.cli.lib.pager.search", function()
  local world, sets

  setup(function()
    world = helper.world()
    sets = data.new { session = world.session() }
  end)
  teardown(function()
    world.close()
  end)

  local function none() end

  local function of(name, head, count, row)
    local lines = { head }
    for i = 1, count do
      lines[i + 1] = row(i)
    end
    world.put(name, table.concat(lines, "\n") .. "\n")
    local described = assert(sets:open(name))
    return source.new(sets, described.id), described.sheets[1]
  end

  it("knows what holds a text", function()
    assert.is_true(search.holds("Straße 7", "straß"))
    assert.is_true(search.holds(0.1 + 0.2, "00004"))
    assert.is_true(search.holds("a%b", "%"))
    assert.is_false(search.holds(nil, "a"))
  end)

  it("orders keys as SQLite does", function()
    local keys = { { nil, 9 }, { -1, 3 }, { 1.5, 2 }, { 2, 1 }, { 2, 4 }, { "10", 5 }, { "9", 6 }, { "a", 7 }, { "é", 8 } }
    for i, a in ipairs(keys) do
      for k, b in ipairs(keys) do
        local x, y = { key = a[1], number = a[2] }, { key = b[1], number = b[2] }
        assert.equal(i < k, search.before(x, y, false))
        if a[1] ~= b[1] then
          assert.equal(i > k, search.before(x, y, true))
        else
          assert.equal(i < k, search.before(x, y, true))
        end
      end
    end
  end)

  it("goes through a sheet, both ways", function()
    local s, sheet = of("small.csv", "n,Name,note", 1500, function(i)
      return ("%d,%s,%s"):format(i * 7 % 1500, i % 3 == 0 and "" or "name " .. i % 10, i == 700 and "50% of A_b'c" or "x")
    end)
    local function find(from, to, wanted)
      return s:search(sheet, {}, from, to, wanted, none)
    end
    assert.equal(700, find(1, 1500, "a_b'c"))
    assert.equal(700, find(1500, 1, "50%"))
    assert.is_false(find(701, 1500, "a_b"))
    assert.is_false(find(1, 1500, "axb"))
    assert.equal(7, find(1, 1500, "name 7"))
    assert.equal(1, find(1, 1500, "7"))
    local sort = { column = 1, descending = false }
    local view <close> = assert(s:view(sheet, sort, {}, none))
    local calls = {}
    local function seek(from, to, wanted)
      return s:search(sheet, { view = view, sort = sort }, from, to, wanted, function(done, total)
        calls[#calls + 1] = done .. "/" .. total
      end)
    end
    local place = seek(1, 1500, "a_b")
    local got = assert(s:rows(sheet, { first = place, count = 1, columns = { "n" }, view = view, cellBytes = 100 }))
    assert.equal(700, got.numbers[1])
    assert.equal(place, seek(1500, 1, "a_b"))
    assert.is_false(seek(place + 1, 1500, "a_b"))
    calls = {}
    assert.is_false(seek(1, 1500, "no such"))
    assert.same({ "500/1500", "1000/1500", "1500/1500" }, calls)
  end)

  it("finds what looking through every row would find, in large views of every kind", function()
    local s, sheet = of("large.csv", "key,part,text", 25000, function(i)
      local key = i % 11 == 0 and "" or i % 5 == 0 and "k" .. i % 997 or i * 7919 % 5003 -- empty, texts, numbers
      return ("%s,%d,%s"):format(key, i % 25, i % 6000 == 17 and "needle" or "hay" .. i)
    end)
    local kinds = {
      { nil, { [2] = { op = "below", value = 24 } } }, { { column = 1, descending = false }, {} },
      { { column = 1, descending = true }, {} }, { { column = 1, descending = true }, { [2] = { op = "above", value = 0 } } },
    }
    for _, kind in ipairs(kinds) do
      local view <close> = assert(s:view(sheet, kind[1], kind[2], none))
      assert.is_true(view.rows > 20000)
      local places = {}
      for first = 1, view.rows, 1000 do
        local got = assert(s:rows(sheet, { first = first, count = 1000, columns = { "text" }, view = view, cellBytes = 100 }))
        for i, row in ipairs(got.rows) do
          if row[1] == "needle" then
            places[#places + 1] = first + i - 1
          end
        end
      end
      local function seek(from, to)
        return s:search(sheet, { view = view, sort = kind[1] }, from, to, "needle", none)
      end
      local at, met = 0, {}
      while true do
        at = at < view.rows and seek(at + 1, view.rows)
        if not at then
          break
        end
        met[#met + 1] = at
      end
      assert.same(places, met)
      at, met = view.rows + 1, {}
      while true do
        at = at > 1 and seek(at - 1, 1)
        if not at then
          break
        end
        table.insert(met, 1, at)
      end
      assert.same(places, met)
      assert.is_false(s:search(sheet, { view = view, sort = kind[1] }, 1, view.rows, "nothing", none))
    end
  end)
end)
