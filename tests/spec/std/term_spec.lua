local term = require "std.term"

describe("std.term", function()
  it("styles by role", function()
    assert.equal("\27[1mx\27[0m", term.style("x", "strong"))
    assert.equal("x", term.style("x", "text"))
    assert.equal("", term.style("", "failed"))
    assert.error_matches(function() term.style("x", "pink") end, "pink")
  end)

  it("always has a size", function()
    local columns, rows = term.size(1)
    assert.is_true(columns > 0 and rows > 0)
  end)

  it("refuses raw mode where there is no terminal", function()
    if term.is_tty(0) then
      return
    end
    local handle, err = term.raw(0)
    assert.is_nil(handle)
    assert.is_truthy(err)
  end)
end)
