local clock = require "std.clock"

describe("std.clock", function()
  it("tells and measures time", function()
    assert.equal("integer", math.type(clock.now()))
    local start = clock.monotonic()
    assert.is_true(clock.monotonic() >= start)
  end)

  it("writes moments as ISO 8601", function()
    assert.equal("1970-01-01T00:00:00.000Z", clock.iso(0))
    assert.equal("2026-01-31T09:30:00.250Z", clock.iso(1769851800250))
  end)

  it("gives bytes nobody guessed", function()
    assert.equal(16, #clock.random(16))
    assert.equal("", clock.random(0))
    assert.error(function() clock.random(-1) end)
  end)
end)
