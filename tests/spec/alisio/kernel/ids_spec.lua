local ids = require "alisio.kernel.ids"
local clock = require "std.clock"

describe("ids #oom", function()
  it("are a prefix and 26 characters that hold the time", function()
    local before = clock.now()
    local id = ids.new "run"
    assert.matches("^run_[0-9a-hjkmnp-tv-z]+$", id)
    assert.equal(30, #id)
    local time = 0
    for digit in id:sub(5, 14):gmatch "." do
      time = time * 32 + ("0123456789abcdefghjkmnpqrstvwxyz"):find(digit, 1, true) - 1
    end
    assert.is_true(time >= before and time <= clock.now() + 1)
  end)

  it("differ and sort in the order they were made, whatever the clock does", function()
    local last, seen = "", {}
    for _ = 1, 2000 do
      local id = ids.new "x"
      assert.is_true(id > last)
      assert.is_nil(seen[id])
      last, seen[id] = id, true
    end
  end)
end)

describe("ids with a clock of their own", function()
  local real_clock, real_ids = package.loaded["std.clock"], package.loaded["alisio.kernel.ids"]
  after_each(function()
    package.loaded["std.clock"], package.loaded["alisio.kernel.ids"] = real_clock, real_ids
  end)

  local function with(now, bytes)
    local fake = { time = now }
    package.loaded["std.clock"] = {
      now = function() return fake.time end,
      random = function() return bytes end,
    }
    package.loaded["alisio.kernel.ids"] = nil
    return require "alisio.kernel.ids", fake
  end

  it("write 48 bits of milliseconds and 80 random ones", function()
    local fresh = with(0xFFFFFFFFFFFF, ("\xFF"):rep(10))
    assert.equal("t_7zzzzzzzzzzzzzzzzzzzzzzzzz", fresh.new "t")
    fresh = with(1, ("\0"):rep(9) .. "\1")
    assert.equal("t_00000000010000000000000001", fresh.new "t")
  end)

  it("go on upwards within a millisecond, over a carry, and when the clock steps back", function()
    local fresh, fake = with(5, ("\0"):rep(5) .. ("\xFF"):rep(5))
    assert.equal("t_000000000500000000zzzzzzzz", fresh.new "t")
    assert.equal("t_00000000050000000100000000", fresh.new "t")
    fake.time = 2
    assert.equal("t_00000000050000000100000001", fresh.new "t")
  end)
end)

describe("valid", function()
  it("accepts exactly such ids", function()
    assert.is_true(ids.valid(ids.new "ses", "ses"))
    for _, id in ipairs { "", "ses_", "ses_" .. ("0"):rep(25), "ses_" .. ("l"):rep(26), ("0"):rep(30), "../../etc/passwd" } do
      assert.is_false(ids.valid(id, "ses"))
    end
    assert.is_false(ids.valid(ids.new "run", "ses"))
    assert.is_false(ids.valid(nil, "ses"))
  end)
end)
