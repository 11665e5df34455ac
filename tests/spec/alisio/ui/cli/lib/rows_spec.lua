local json = require "std.json"
local rows = require "alisio.ui.cli.lib.rows"
local text = require "std.text"

describe("alisio.ui.cli.lib.rows", function()
  local function lines(names, list, width, fields)
    local options = { width = width, locale = "en", color = false }
    for key, value in pairs(fields or {}) do
      options[key] = value
    end
    return rows.lines(names, list, options)
  end

  it("shows values whole where they fit, numbers at the right, what is empty as that", function()
    assert.same({ "name     n", "a␊b    0.1", "empty   20" }, lines({ "name", "n" }, { { "a\nb", 0.1 }, { json.null, 20 } }, 80))
    assert.same({ "a", "x" }, lines({ "a" }, { { "x" } }, 80))
    assert.same({ "a" }, lines({ "a" }, {}, 80))
    assert.equal(("y"):rep(70), lines({ "a" }, { { ("y"):rep(70) } }, 80)[2])
  end)

  it("cuts, then leaves columns out and says how many, and is never wider", function()
    local names, row = {}, {}
    for c = 1, 12 do
      names[c], row[c] = "column number " .. c, ("v"):rep(c * 9)
    end
    for _, width in ipairs { 20, 40, 80, 200, 600 } do
      local drawn = lines(names, { row, {} }, width)
      for _, line in ipairs(drawn) do
        assert.is_true(text.width(line) <= width)
      end
      assert.equal(width < 600, drawn[1]:find("more columns →", 1, true) ~= nil)
    end
    assert.matches("^v+…  x$", lines({ "a", "b" }, { { ("v"):rep(60), "x" } }, 60)[2])
    assert.matches("^a+  1 columna más →$", lines({ ("a"):rep(10), ("b"):rep(25) }, { {} }, 34, { locale = "es" })[1])
  end)
end)
