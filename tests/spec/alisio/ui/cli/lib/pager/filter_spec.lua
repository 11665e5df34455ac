local filter = require "alisio.ui.cli.lib.pager.filter"

describe("alisio.ui.cli.lib.pager.filter", function()
  it("reads filters as what is stored", function()
    assert.is_nil(filter.parse("", true))
    assert.same({ op = "equals", value = 7 }, filter.parse("=7", false))
    assert.same({ op = "equals", value = "007" }, filter.parse("=007", false))
    assert.same({ op = "equals", value = 7 }, filter.parse("=007", true))
    assert.same({ op = "equals", value = "0x7" }, filter.parse("=0x7", true))
    assert.same({ op = "equals", value = "nan" }, filter.parse("=nan", true))
    assert.same({ op = "above", value = -1.5 }, filter.parse("> -1.5", true))
    assert.same({ op = "most", value = "2024-01" }, filter.parse("<=2024-01", false))
    assert.same({ op = "filled" }, filter.parse("!=", false))
    assert.same({ op = "contains", value = "!x" }, filter.parse("!x", false))
  end)

  it("is typed again as it was", function()
    for _, typed in ipairs { "=", "!=", "=7", "=007", "=a b", ">=1.5", "<=z", ">-3", "<0", "part", "=1e300" } do
      assert.equal(typed, filter.typed(filter.parse(typed, false)))
    end
  end)
end)
