local cells = require "alisio.ui.cli.lib.cells"
local json = require "std.json"
local text = require "std.text"

describe("alisio.ui.cli.lib.cells", function()
  it("shows what is stored, digit by digit", function()
    assert.equal("", cells.show(nil))
    assert.equal("", cells.show(json.null))
    assert.equal("9007199254740993", cells.show(9007199254740993))
    assert.equal("0.30000000000000004", cells.show(0.1 + 0.2))
    assert.equal("2.0", cells.show(2.0))
    assert.equal("1e300", cells.show(1e300))
    assert.equal("inf", cells.show(math.huge))
    assert.equal("007", cells.show "007")
  end)

  it("lets nothing act", function()
    for code = 0, 0x1ff do
      if code < 32 or code >= 127 and code < 160 then
        assert.is_nil(cells.text("a" .. utf8.char(code)):find "[\0-\31\127]")
        assert.is_nil(cells.text("a" .. utf8.char(code)):find("\u{9b}", 1, true))
      end
    end
    assert.equal("␛[2J␊␉␡", cells.text "\27[2J\n\t\127")
    assert.equal("\\u202eab\\u2066", cells.text "\u{202e}ab\u{2066}")
    assert.equal("\\xff", cells.text "\xff")
    assert.equal("漢字 ñ", cells.text "漢字 ñ")
  end)

  it("looks at no more of a long text than anyone can see", function()
    local shown = cells.text(("ñ"):rep(1 << 20))
    assert.is_true(#shown < 5000)
    assert.equal("…", shown:sub(-#"…"))
  end)

  it("keeps both ends of a name", function()
    assert.equal("short", cells.middle("short", 20))
    local cut = cells.middle("a very long heading number 7", 16)
    assert.equal(16, text.width(cut))
    assert.matches("^a very.*….*ber 7$", cut)
    assert.equal("a ve…", cells.middle("a very long", 5))
    assert.is_true(text.width(cells.middle(("漢"):rep(40), 15)) <= 15)
  end)
end)
