local state = require "alisio.ui.cli.lib.pager.state"
local source = require "alisio.ui.cli.lib.pager.source"
local task = require "std.task"
local text = require "std.text"
local description = require "spec.description"

local column = description.column

--- A source of made-up rows that remembers what it was asked; it answers from a list.
local function fake(rows)
  local s = { views = {}, released = 0, holds = source.new().holds }
  function s.rows(_, sheet, want)
    local list = want.view and want.view.list or rows
    local out = { rows = {}, numbers = {} }
    for position = want.first, math.min(#list, want.first + want.count - 1) do
      local row, cells = list[position], {}
      for c, name in ipairs(want.columns) do
        for at, known in ipairs(sheet.columns) do
          if known.name == name then
            cells[c] = row[at]
          end
        end
      end
      out.rows[#out.rows + 1], out.numbers[#out.numbers + 1] = cells, row.number
    end
    return out
  end
  function s.view(_, _, sort, filters, progress)
    s.views[#s.views + 1] = { sort = sort, filters = filters }
    progress(1, 2)
    while s.slow do
      task.sleep(1)
    end
    if s.fails then
      return nil, "it broke", "engine_failed", { detail = "it broke" }
    end
    local list = {}
    for i = #rows, 1, -1 do
      list[#list + 1] = rows[i]
    end
    return { rows = s.none and 0 or #list, list = list, release = function() s.released = s.released + 1 end }
  end
  function s.search(_, _, _, from, to, wanted)
    for position = from, to, from <= to and 1 or -1 do
      for c = 1, 3 do
        if s.holds(rows[position][c], wanted) then
          return position
        end
      end
    end
    return false
  end
  function s.whole(_, _, _, position, name)
    return { value = name == "note" and rows[position][3] or rows[position][1] }
  end
  function s.spread()
    return { heights = { { 1, 2, 4, 8 } }, rows = 100 }
  end
  return s
end

describe("alisio.ui.cli.lib.pager.state", function()
  local p, s, tasks, clock

  local function start(options)
    local rows = options.rows or {}
    if not options.rows then
      for i = 1, 100 do
        rows[i] = { number = i, i * 10, i % 2 == 0 and "Norte" or nil, "x\27[2J" .. i }
      end
    end
    s, tasks, clock = options.source or fake(rows), {}, 0
    local sheets = {}
    for i = 1, options.sheets or 1 do
      sheets[i] = { name = "Hoja " .. i, table = "s_" .. i, rows = #rows, sample = {}, columns = options.columns or {
        column("total", "integer", { min = "10", max = "1000" }), column("region", "text"), column("note", "text", { label = "Note" }),
      } }
    end
    p = state.new {
      source = s, described = { file = "f\27.csv", sheets = sheets }, locale = options.locale or "en", color = options.color or false,
      utf8 = options.utf8 ~= false, ring = function() end, now = function() return clock end,
      spawn = function(fn)
        tasks[#tasks + 1] = task.spawn(fn)
        return tasks[#tasks]
      end,
    }
    p:resize(options.columns_wide or 80, options.rows_high or 24)
    p:start()
    return p
  end

  local function settle()
    local lines
    for _ = 1, 5 do
      lines = p:lines()
      task.sleep(0)
      task.sleep(0)
    end
    return lines
  end

  local function press(...)
    local lines
    for _, key in ipairs { ... } do
      local ctrl = key:match "^C%-(.+)$"
      p:key { key = ctrl or key, ctrl = ctrl ~= nil, alt = false, shift = false }
      lines = settle()
    end
    return lines or settle()
  end

  local function type_text(words)
    for _, code in utf8.codes(words) do
      p:key { key = utf8.char(code) }
    end
  end

  local function at(lines, wanted)
    for i, line in ipairs(lines) do
      if line:find(wanted, 1, true) then
        return line, i
      end
    end
    error(wanted .. " is not in\n" .. table.concat(lines, "\n"), 2)
  end

  after_each(function()
    for _, made in ipairs(tasks) do
      made:cancel()
      made:wait()
    end
  end)

  it("shows rows under their names, numbers at the right, with where they stand", function()
    start {}
    local lines = settle()
    assert.equal(24, #lines)
    assert.matches("^ f␛.csv  100 rows, 3 columns", lines[1])
    assert.equal("  row  total  region  Note", lines[3])
    assert.matches("▁▂▄▇", lines[4])
    assert.equal(("─"):rep(80), lines[5])
    assert.equal("›   1     \27[7m   10\27[0m  empty   x␛[2J1", lines[6]:gsub("^(›   1)  ", "%1     "):sub(1, 80))
    assert.equal("    2     20  Norte   x␛[2J2", lines[7])
    assert.matches("^ total  integer  10 .*row 1 of 100 $", lines[23])
    assert.matches("arrows move.*q quit$", lines[24])
  end)

  it("moves by cells, screens and ends, and stays inside", function()
    start {}
    assert.matches("row 2 of 100", press("Down")[23])
    assert.matches("row 1 of 100", press("k", "Up", "Up")[23])
    assert.matches("row 17 of 100", press("PageDown")[23])
    local lines = press "End"
    assert.matches("row 100 of 100", lines[23])
    assert.matches("^› 100", lines[21])
    at(press("PageDown", "Space"), "row 100 of 100")
    at(press("Home", "PageUp", "b"), "row 1 of 100")
    at(press("Right", "Right", "Right", "l"), " Note  text")
    at(press("Left", "h", "h", "h", "C-Left"), " total  integer")
  end)

  it("scrolls columns sideways and counts those out of sight", function()
    local columns, row = {}, { number = 1 }
    for c = 1, 60 do
      columns[c] = column("c" .. c, "text", { label = "heading " .. c })
      row[c] = ("v"):rep(c)
    end
    start { columns = columns, rows = { row } }
    local lines = settle()
    assert.matches("54 more columns →", lines[2])
    lines = press("C-Right", "C-Right")
    assert.matches(" heading 21  text  v+", lines[23])
    assert.matches("← %d+ more   %d+ more columns →", lines[2])
    for _ = 1, 8 do
      lines = press "C-Right"
    end
    at(lines, " heading 60  text  " .. ("v"):rep(20))
    assert.is_nil(lines[2]:find("→", 1, true))
    for _, line in ipairs(lines) do
      assert.is_true(text.width(line) <= 80)
    end
  end)

  it("fits windows of every size", function()
    start { columns = { column(("a"):rep(200), "text"), column("漢字", "text"), column("n", "real") },
      rows = { { number = 1, ("漢"):rep(300), "b\u{202e}", 1.5 }, { number = 2 } } }
    for _, size in ipairs { { 1, 1 }, { 20, 6 }, { 33, 9 }, { 50, 15 }, { 80, 16 }, { 120, 50 }, { 300, 200 } } do
      p:resize(size[1], size[2])
      for _, keys in ipairs { {}, { "Right" }, { "?" }, { "q" }, { "/" }, { "Escape" } } do
        local lines = press(table.unpack(keys))
        assert.is_true(#lines <= math.max(6, size[2]))
        for _, line in ipairs(lines) do
          assert.is_true(text.width(line) <= math.max(20, size[1]), line)
        end
      end
    end
  end)

  it("sorts by the column: up, down, as in the file", function()
    start {}
    local lines = press "s"
    assert.same({ sort = { column = 1, descending = false }, filters = {} }, s.views[1])
    assert.matches("total ↑$", lines[1])
    assert.matches("^› 100", lines[6])
    lines = press "s"
    assert.same({ sort = { column = 1, descending = true }, filters = {} }, s.views[2])
    assert.matches("total ↓$", lines[1])
    lines = press "s"
    assert.equal(2, #s.views)
    assert.is_nil(lines[1]:find("↓", 1, true))
    assert.matches("^›   1", lines[6])
    assert.equal(2, s.released)
    press("Right", "s", "Left", "s")
    assert.same({ column = 1, descending = false }, s.views[4].sort)
  end)

  it("takes keys that come faster than views are made", function()
    start {}
    for _ = 1, 2 do
      p:key { key = "s" }
    end
    settle()
    assert.matches("total ↓$", settle()[1])
    for _ = 1, 3 do
      p:key { key = "s" }
    end
    assert.matches("total ↓$", settle()[1])
    p:key { key = "s" }
    assert.is_nil(settle()[1]:find("↓", 1, true))
  end)

  it("filters by a value, a comparison, a part of the text, emptiness", function()
    start {}
    at(press("Down", "Right", "f"), " region =Norte")
    local lines = press "Enter"
    assert.same({ [2] = { op = "equals", value = "Norte" } }, s.views[1].filters)
    assert.matches("^ region is Norte +100 rows kept$", lines[2])
    press("f", "C-u")
    type_text "ort"
    assert.matches("region holds ort", press("Enter")[2])
    press("Left", "f", "C-u")
    type_text ">= 20"
    lines = press "Enter"
    assert.same({ { op = "least", value = 20 }, { op = "contains", value = "ort" } }, s.views[3].filters)
    assert.matches("total >= 20   region holds ort", lines[2])
    at(press "f", " total >=20")
    press("C-u", "Enter")
    assert.same({ [2] = { op = "contains", value = "ort" } }, s.views[4].filters)
    press "F"
    assert.equal(4, #s.views)
    press("Home", "Right", "f")
    at(settle(), " region =")
    assert.matches("region is empty", press("Enter")[2])
    assert.same({ [2] = { op = "empty" } }, s.views[5].filters)
    press("f", "Escape")
    assert.equal(5, #s.views)
  end)

  it("says that the filters leave nothing", function()
    start {}
    s.none = true
    press("Right", "f", "C-u", "z", "Enter")
    local lines = settle()
    at(lines, "No rows here. The filters leave nothing.")
    at(lines, "0 rows kept")
    at(press("Down", "End", "Enter", "PageDown"), "No rows here")
  end)

  it("says how far a slow view is, and stops it", function()
    start {}
    s.slow = true
    local lines = press "s"
    assert.is_nil(lines[23]:find "Sorting")
    clock = 400
    lines = settle()
    assert.matches("^ Sorting by total  ██████████ +50%%   esc stops$", lines[23])
    at(press "Down", "›   2") -- the rows before can be walked through meanwhile
    lines = press "Escape"
    assert.matches("Stopped%.", lines[23])
    assert.is_nil(lines[1]:find("↑", 1, true))
    s.slow = false
    assert.is_nil(press("Up")[1]:find("↑", 1, true))
  end)

  it("says why a view cannot be made", function()
    start {}
    s.fails = true
    assert.matches("✗ .*it broke", press("s")[23])
    assert.matches("total  integer", press("Down")[23])
  end)

  it("finds texts in any cell, further and back, around the ends", function()
    start {}
    press "/"
    type_text "NORTE"
    at(press "Enter", "row 2 of 100")
    at(settle(), " region  text")
    at(press "n", "row 4 of 100")
    at(press "N", "row 2 of 100")
    local lines = press "N"
    at(lines, "Found below")
    at(lines, "› 100")
    press "/"
    type_text "nothing of it"
    at(press "Enter", "No cell holds “nothing of it”.")
    press "/"
    type_text "x␛"
    at(press "Escape", "row 100 of 100")
  end)

  it("goes to rows and columns by name", function()
    start {}
    press "g"
    type_text "77"
    at(press "Enter", "row 77 of 100")
    press "g"
    type_text "1,000"
    at(press "Enter", "row 100 of 100")
    press "g"
    type_text "ote"
    at(press "Enter", " Note  text")
    press "g"
    type_text "región"
    at(press "Enter", " region  text")
    press "g"
    type_text "nope"
    at(press "Enter", "No column is called “nope”.")
  end)

  it("shows a cell whole, and nothing of it acts", function()
    local long = ("word "):rep(2000) .. "\27]0;x\7\u{202e}\r\nthe\tend"
    start { rows = { { number = 1, 1, "b", long } } }
    press("Right", "Right")
    local lines = press "Enter"
    assert.matches("^ Note .*row 1   10,0%d%d characters $", lines[1])
    assert.matches("more lines", lines[23])
    lines = press "End"
    at(lines, "\\u001b]0;x\\u0007\\u202e\\u000d")
    at(lines, " the    end")
    assert.is_nil(table.concat(lines):find "[\0-\31\127]")
    at(press "q", "row 1 of 1")
  end)

  it("shows the sheets in turn, each as it was left", function()
    start { sheets = 3 }
    at(settle(), "Hoja 1 (1 of 3)")
    press("Down", "Down", "Tab")
    at(settle(), "Hoja 2 (2 of 3)")
    at(settle(), "row 1 of 100")
    press("Tab", "Tab")
    at(settle(), "row 3 of 100")
    p:key { key = "Tab", shift = true }
    at(settle(), "Hoja 3 (3 of 3)")
    at(settle(), "tab sheet")
  end)

  it("leaves by q, and by Ctrl-C as one who was interrupted", function()
    start {}
    press "q"
    assert.is_true(p.done)
    assert.error_matches(function() press "C-c" end, "^cancelled$")
  end)

  it("marks the cursor without colours, and speaks Spanish and plain characters", function()
    start { utf8 = false, locale = "es" }
    local lines = settle()
    at(lines, ">    1")
    at(lines, "vacía")
    at(lines, ("-"):rep(80))
    assert.is_nil(table.concat(lines):find("▁", 1, true))
    at(press "s", "total ^")
    at(press "?", "Teclas de la vista de tabla")
  end)

  it("takes any keys in any order", function()
    local names = {
      "Up", "Down", "PageUp", "PageDown", "Home", "End", "Left", "Right", "C-Right", "Enter", "Escape", "Tab", "Backspace", "s", "f", "F",
      "g", "/", "n", "N", "?", "x", "1", "=", "<", "C-l", "C-u", "ñ", "Space", "F5",
    }
    for seed = 1, 6 do
      math.randomseed(seed)
      start { sheets = seed % 3 + 1, rows = seed == 6 and {} or nil }
      s.none = seed == 5
      for i = 1, 100 do
        if i % 40 == 0 then
          p:resize(math.random(1, 150), math.random(1, 50))
        end
        s.fails = math.random(30) == 1
        local lines = press(names[math.random(#names)])
        assert.is_true(#lines <= p.rows)
        for _, line in ipairs(lines) do
          if text.width(line) > p.columns then
            error(("%d x %d: %s"):format(p.columns, p.rows, line))
          end
        end
      end
    end
  end)
end)
