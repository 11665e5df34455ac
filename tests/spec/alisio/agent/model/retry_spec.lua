local retry = require "alisio.agent.model.retry"

describe("retry.after", function()
  local now = 784111777000 -- Sun, 06 Nov 1994 08:49:37 GMT

  it("reads seconds", function()
    assert.equal(0, retry.after "0")
    assert.equal(7000, retry.after " 7 ")
    assert.equal(1500, retry.after "1.5")
  end)

  it("reads dates of all three forms", function()
    for _, date in ipairs {
      "Sun, 06 Nov 1994 08:49:47 GMT", "Sunday, 06-Nov-94 08:49:47 GMT", "Sun Nov  6 08:49:47 1994",
    } do
      assert.equal(10000, retry.after(date, now), date)
    end
    assert.equal(0, retry.after("Sun, 06 Nov 1994 08:49:30 GMT", now))
    assert.equal(1000, retry.after("Sat, 29 Feb 2020 00:00:01 GMT", 1582934400000))
    assert.equal(1000, retry.after("Fri, 01 Mar 2024 00:00:01 GMT", 1709251200000))
  end)

  it("is capped", function()
    assert.equal(60000, retry.after "86400")
    assert.equal(60000, retry.after(("9"):rep(400)))
    assert.equal(60000, retry.after("Sun, 06 Nov 2094 08:49:37 GMT", now))
  end)

  it("survives garbage", function()
    for _, text in ipairs {
      "", "soon", "-5", "1e9", "0x10", "nan", "inf", "5 minutes", "Sun, 06 Xyz 1994 08:49:37 GMT", "\0", "1..2",
      "Sun, 99 Nov 1994", ("a"):rep(10000),
    } do
      assert.is_nil(retry.after(text, now), text)
    end
    assert.is_nil(retry.after(nil))
  end)
end)

describe("retry.run", function()
  local first

  before_each(function()
    first = retry.FIRST_MS
    retry.FIRST_MS = 1
  end)

  after_each(function()
    retry.FIRST_MS = first
  end)

  local function failing(times, fields)
    local n = 0
    return function()
      n = n + 1
      if n <= times then
        return nil, "no " .. n, "provider_failed", fields
      end
      return "yes", n
    end
  end

  it("repeats what may be repeated, and says so before", function()
    local waits = {}
    local answer, n = retry.run(failing(2, { retry = true, detail = "no" }), function(ms, fields)
      waits[#waits + 1] = { ms, fields.detail }
    end)
    assert.equal("yes", answer)
    assert.equal(3, n)
    assert.same({ { 1, "no" }, { 2, "no" } }, waits)
  end)

  it("waits as long as the server asks", function()
    local waits = {}
    retry.run(failing(1, { retry = true, retryAfterMs = 20 }), function(ms) waits[#waits + 1] = ms end)
    assert.same({ 20 }, waits)
  end)

  it("gives up after a number of times", function()
    local ok, err, id, fields = retry.run(failing(100, { retry = true }))
    assert.is_nil(ok)
    assert.equal("no " .. retry.ATTEMPTS, err)
    assert.equal("provider_failed", id)
    assert.is_true(fields.retry)
  end)

  it("repeats nothing else", function()
    for _, fields in ipairs { {}, { retry = false }, "text" } do
      assert.equal("no 1", select(2, retry.run(failing(1, fields))))
    end
    assert.equal("no 1", select(2, retry.run(failing(1))))
  end)
end)
