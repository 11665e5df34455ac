local line = require "alisio.ui.cli.lib.line"

describe("alisio.ui.cli.lib.line", function()
  local function typed(said, key, ctrl)
    return line.typed(said, { key = key, ctrl = ctrl or false, alt = false })
  end

  it("grows and shrinks by whole characters", function()
    assert.equal("añ", typed("a", "ñ"))
    assert.equal("a ", typed("a", "Space"))
    assert.equal("a", typed("añ", "Backspace"))
    assert.equal("", typed("", "Backspace"))
  end)

  it("clears all, or the last word", function()
    assert.equal("", typed("one two", "u", true))
    assert.equal("one ", typed("one two  ", "w", true))
  end)

  it("takes no key for a character", function()
    for _, key in ipairs { "Up", "F1", "Enter", "Tab" } do
      assert.equal("x", typed("x", key))
    end
    assert.equal("x", typed("x", "a", true))
    assert.equal("x", line.typed("x", { key = "a", ctrl = false, alt = true }))
  end)
end)
