local pages = require "alisio.ui.cli.lib.pager.pages"
local task = require "std.task"

describe("alisio.ui.cli.lib.pager.pages", function()
  local asked, runner, rings

  local function names(n)
    local list = {}
    for i = 1, n do
      list[i] = "c" .. i
    end
    return list
  end

  local function make(rows, columns, answer)
    asked, rings = {}, 0
    local made = pages.new {
      rows = rows, columns = names(columns),
      changed = function() rings = rings + 1 end,
      fetch = function(want)
        asked[#asked + 1] = want
        task.sleep(0)
        if answer then
          return answer(want)
        end
        local out = { rows = {}, numbers = {} }
        for i = 1, want.count do
          out.numbers[i] = want.first + i - 1
          out.rows[i] = {}
          for c, name in ipairs(want.columns) do
            out.rows[i][c] = name .. ":" .. out.numbers[i]
          end
        end
        return out
      end,
    }
    runner = task.spawn(function() made:run() end)
    return made
  end

  local function settle(done)
    for _ = 1, 1000 do
      if done() then
        return
      end
      task.sleep(0)
    end
    error "never settled"
  end

  after_each(function()
    runner:cancel()
    runner:wait()
  end)

  it("fetch what is in sight, then the neighbours, once", function()
    local p = make(5000000, 3)
    assert.is_false(p:cell(1, 1))
    p:look(2401, 2420, 1, 3)
    settle(function() return #asked == 3 end)
    task.sleep(1)
    assert.same({ 2401, 2601, 2201 }, { asked[1].first, asked[2].first, asked[3].first })
    assert.same({ true, "c2:2410", 2410 }, { p:cell(2410, 2) })
    p:look(2405, 2424, 1, 3)
    task.sleep(1)
    assert.equal(3, #asked)
    p:look(4999990, 5000000, 1, 3)
    settle(function() return (p:cell(5000000, 3)) end)
    assert.same({ true, "c3:5000000", 5000000 }, { p:cell(5000000, 3) })
    assert.equal(200, asked[4].count)
  end)

  it("fetch only the columns in sight", function()
    local p = make(10, 1000)
    p:look(1, 10, 500, 506)
    settle(function() return #asked == 2 end)
    task.sleep(1)
    assert.same({ 24, "c481", 10 }, { #asked[1].columns, asked[1].columns[1], asked[1].count })
    assert.is_false(p:cell(1, 1))
    assert.same({ true, "c1000:3", 3 }, (function()
      p:look(3, 3, 1000, 1000)
      settle(function() return (p:cell(3, 1000)) end)
      return { p:cell(3, 1000) }
    end)())
  end)

  it("keep no more than they need", function()
    local p = make(1000000, 1)
    for i = 0, 200 do
      p:look(i * 200 + 1, i * 200 + 20, 1, 1)
      settle(function() return (p:cell(i * 200 + 1, 1)) end)
    end
    local kept = 0
    for _ in pairs(p.blocks) do
      kept = kept + 1
    end
    assert.is_true(kept <= 65)
    assert.is_false(p:cell(1, 1))
  end)

  it("show a view and release the one before when nothing reads it", function()
    local released = {}
    local function view(name, rows)
      return { rows = rows, release = function() released[#released + 1] = name end }
    end
    local p = make(100, 1)
    p:look(1, 10, 1, 1)
    settle(function() return (p:cell(1, 1)) end)
    assert(p:show(view("a", 7)))
    assert.equal(7, p.rows)
    assert.is_true((p:cell(7, 1))) -- there at once
    p:look(1, 7, 1, 1)
    settle(function() return (p:cell(7, 1)) end)
    assert.equal(7, asked[#asked].count)
    assert.is_table(asked[#asked].view)
    p:look(1, 7, 1, 1)
    assert(p:show(view("b", 0)))
    task.sleep(1)
    assert.same({ "a" }, released)
    assert(p:show(nil))
    task.sleep(1)
    assert.same({ "a", "b" }, released)
    assert.equal(100, p.rows)
  end)

  it("stay as they are when a view cannot be read", function()
    local p = make(10, 1, function(want)
      if want.view then
        return nil, "gone", "engine_failed", {}
      end
      return { rows = { { 1 } }, numbers = { 1 } }
    end)
    p:look(1, 1, 1, 1)
    settle(function() return (p:cell(1, 1)) end)
    local ok, _, id = p:show { rows = 5, release = error }
    assert.same({ nil, "engine_failed" }, { ok, id })
    assert.equal(10, p.rows)
    assert.is_true((p:cell(1, 1)))
  end)

  it("keep why a fetch failed and try again when asked", function()
    local fails = true
    local p = make(10, 1, function()
      if fails then
        return nil, "gone", "engine_failed", {}
      end
      return { rows = { { 1 } }, numbers = { 1 } }
    end)
    p:look(1, 1, 1, 1)
    settle(function() return p.failure end)
    assert.equal("engine_failed", p.failure[2])
    assert.equal(1, #asked)
    fails = false
    p:look(1, 1, 1, 1)
    settle(function() return (p:cell(1, 1)) end)
    assert.is_nil(p.failure)
    assert.equal(2, rings)
  end)
end)
