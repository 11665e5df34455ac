local inspect = require "alisio.ui.cli.lib.inspect"
local json = require "std.json"
local description = require "spec.description"
local text = require "std.text"

local function column(fields)
  return description.column(fields.name, fields.type or "text", fields)
end

local function described(columns, fields)
  local all = { delimiter = "\t" }
  for key, value in pairs(fields or {}) do
    all[key] = value
  end
  return description.dataset(columns, all, { rows = 1000 })
end

local function lines(d, fields)
  local options = { locale = "en", width = 80, color = false, utf8 = true, draws = true, spreads = {} }
  for key, value in pairs(fields or {}) do
    options[key] = value
  end
  return inspect.lines(d, options)
end

local function joined(...)
  return table.concat(lines(...), "\n")
end

local numbers = column {
  name = "total", type = "real", distinct = 990, min = "-3.5", max = "1234.25", mean = 214.5, nulls = 12,
}
local region = column {
  name = "region", distinct = 3, min = "East", max = "West",
  top = { { value = "East", count = 500 }, { value = "West", count = 250 }, { value = "North", count = 125 } },
}

describe("alisio.ui.cli.lib.inspect", function()
  it("says of each column what it holds, with a histogram", function()
    local page = joined(described { numbers, region }, { spreads = { { heights = { { 0, 1, 4, 8 } }, rows = 1000 } } })
    assert.matches("f.csv  csv  utf%-8  delimiter TAB  1 KiB", page)
    assert.matches("total +real +12 +990   ▁▄▇ +%-3.5 – 1234.25 +214.5", page)
    assert.matches("region +text +0 +3  ▇▄▂ +East – West", page)
    assert.matches("region  East      █[^ ]* +500 +50.0%%", page)
    assert.matches("\n +North +█[^ ]* +125 +12.5%%", page)
    assert.matches("All figures are exact", page)
    assert.is_nil(page:find("The histograms are of", 1, true))
  end)

  it("is as wide as the window and no wider, whatever the names and values", function()
    local columns = { numbers, region }
    for i = 1, 40 do
      columns[#columns + 1] = column {
        name = ("long_name_"):rep(4) .. i, type = i % 2 == 0 and "integer" or "text",
        distinct = i % 2 == 0 and 123456789 or 77,
        min = ("漢字"):rep(30), max = "z" .. ("x"):rep(200), nulls = 4812044,
        top = { { value = ("y"):rep(90), count = 900 }, { value = "\27[31m", count = 100 } },
      }
    end
    local d = described(columns, { file = ("f"):rep(200) .. ".csv" })
    d.sheets[1].sample = { { 1.5, ("w"):rep(300) }, { json.null, "b" } }
    for _, width in ipairs { 40, 60, 80, 100, 140, 200 } do
      for _, line in ipairs(lines(d, { width = width, color = width == 100 })) do
        assert.is_true(text.width(line) <= width, width .. ": " .. line)
        assert.is_nil(line:gsub("\27%[%d*m", ""):find("\27", 1, true))
      end
    end
    assert.matches("column +type +empty +distinct +spread +from – to", joined(d))
    assert.matches("long_[%w_]*…[%w_]*_17 ", joined(d, { width = 140 }))
    assert.matches("%d+ more columns →", joined(d))
    assert.matches("and 5 more columns that repeat their values", joined(d))
  end)

  it("says which columns are estimates, and which stayed exact", function()
    local loose = column { name = "note", distinct = 5000, distinctExact = false }
    local page = joined(described({ numbers, region, loose }, { notes = { { id = "distinct_estimated", columns = { "note" } } } }))
    assert.matches("~5,000", page)
    assert.matches("Exact are the distinct and most frequent values\n +of total, region%.", page)
    assert.is_nil(page:find("Estimates", 1, true))
    assert.matches("no column's", joined(described { loose }))
  end)

  it("tells the notes, and of what rows the histograms are", function()
    local d = described({ numbers, column { name = "zip", textFallbacks = 1 } }, {
      notes = { { id = "short_rows", count = 12, lines = { 7, 9 } } },
    })
    local page = joined(d, { spreads = { { heights = { { 1 } }, rows = 500 } } })
    assert.matches("! 12 rows had too few fields %(lines 7, 9, …%)", page)
    assert.matches("! zip: 1 cell kept as text", page)
    assert.matches("of 500 rows, evenly spread", page)
  end)

  it("draws nothing where it shall not, and speaks Spanish", function()
    local page = joined(described { numbers, region }, { utf8 = false, draws = false, locale = "es" })
    assert.is_nil(page:find("█", 1, true))
    assert.matches("500   50,0 %%", page)
    assert.matches("distintos", page)
    assert.matches("%-%-%-%-%-", page)
    assert.matches("##", joined(described { region }, { utf8 = false }))
  end)

  it("believes no text, not even those of the engine", function()
    local evil = "\27[2J\u{202e}"
    local d = described({ column { name = evil, type = evil, min = evil, max = evil, top = { { value = evil, count = 9 }, { value = "", count = 9 } } } },
      { file = evil, format = evil, encoding = evil, delimiter = evil, notes = { { id = "empty_sheets", sheets = { evil } } } })
    d.sheets[1].name, d.sheets[1].table, d.sheets[1].sample = evil, evil .. "t", { { evil } }
    for _, width in ipairs { 40, 80, 140 } do
      local page = joined(d, { width = width })
      assert.is_nil(page:find("[\0-\9\11-\31\127]"))
      assert.is_nil(page:find("\u{202e}", 1, true))
    end
  end)

  it("names each sheet and its rows", function()
    local d = described { region }
    d.sheets[2] = { name = "Año 2\27", table = "s_ano_2", rows = 1, columns = { region }, sample = {} }
    local page = joined(d)
    assert.matches("data  1,000 rows, 1 column\n", page)
    assert.matches("s_ano_2  Año 2␛  1 row, 1 column\n", page)
  end)
end)
