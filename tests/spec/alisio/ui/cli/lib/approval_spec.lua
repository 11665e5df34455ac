local clock = require "std.clock"
local term = require "std.term"
local text = require "std.text"
local approval = require "alisio.ui.cli.lib.approval"
local screen = require "alisio.ui.cli.lib.screen"

-- A terminal of a given size; what is written to it is kept.
local function fake_screen(columns, rows, kind)
  local written = {}
  local fake = {
    is_tty = function() return true end,
    color = function() return false end,
    utf8 = function() return true end,
    size = function() return columns, rows end,
    style = term.style,
    werr = function(s) written[#written + 1] = s end,
    write = function(s) written[#written + 1] = s end,
  }
  return screen.new { term = fake, env = function() return kind or "xterm" end }, written
end

local now

-- Keys, each after a pause in milliseconds of a clock that moves by them alone.
local function keys(list)
  return function(_, timeout)
    local following = list[1]
    if not following then
      return nil, "end", "end"
    end
    if timeout and following[1] > timeout then
      following[1] = following[1] - timeout
      now = now + timeout
      return nil, "timeout", "timeout"
    end
    now = now + following[1]
    table.remove(list, 1)
    return { key = following[2], ctrl = following.ctrl or false, alt = false }
  end
end

local function closable()
  return setmetatable({}, { __close = function() end })
end

local function script_of(lines)
  local out = {}
  for i = 1, lines do
    out[i] = "line " .. i
  end
  return table.concat(out, "\n")
end

local function ask(options)
  local shown, written = fake_screen(options.columns or 80, options.rows or 24, options.kind)
  local cancelled = false
  local request = {
    requestId = "r", callId = "c", capability = "analysis.run", title = options.title or "Run this?",
    script = options.script or "print(1)", sha256 = ("0123456789abcdef"):rep(4),
    guarantees = options.guarantees or { "✓ Writes only here", "! Reads your files" },
    options = options.options or { { id = "allow_once" }, { id = "allow_session" }, { id = "deny" } },
  }
  local decision, reason = approval.ask(request, {
    screen = shown, locale = options.locale or "en", name = "python_run", detail = "Chart",
    cancel = function() cancelled = true end, raw = closable, read_key = keys(options.keys),
  })
  return decision, reason, table.concat(written), cancelled
end

describe("approval", function()
  local real = clock.monotonic
  before_each(function()
    now = 0
    clock.monotonic = function() return now end
  end)
  after_each(function()
    clock.monotonic = real
  end)

  it("takes the keys of its options", function()
    assert.equal("allow_once", (ask { keys = { { 450, "a" } } }))
    assert.equal("allow_session", (ask { keys = { { 450, "s" } } }))
    assert.equal("deny", (ask { keys = { { 450, "d" } } }))
    assert.equal("deny", (ask { keys = { { 450, "D" } } }))
  end)

  it("is deaf for 400 ms, and to Enter always", function()
    assert.equal("deny", (ask { keys = { { 0, "a" }, { 100, "a" }, { 200, "s" }, { 150, "Enter" }, { 10, "d" } } }))
  end)

  it("does not know the key of an option that is not there", function()
    local decision, _, written = ask {
      options = { { id = "allow_once" }, { id = "deny" } }, keys = { { 450, "s" }, { 0, "a" } },
    }
    assert.equal("allow_once", decision)
    assert.is_nil(written:find("for this session", 1, true))
  end)

  it("takes a reason with a denial; Escape goes back", function()
    local decision, reason = ask {
      keys = { { 450, "t" }, { 0, "x" }, { 0, "Escape" }, { 450, "t" }, { 0, "n" }, { 0, "o" }, { 0, "q" }, { 0, "Backspace" },
        { 0, "Enter" } },
    }
    assert.same({ "deny", "no" }, { decision, reason })
  end)

  it("denies and stops the run on Ctrl-C, at once", function()
    local decision, _, _, cancelled = ask { keys = { { 0, "c", ctrl = true } } }
    assert.equal("deny", decision)
    assert.is_true(cancelled)
  end)

  it("denies when the input ends", function()
    assert.equal("deny", (ask { keys = {} }))
  end)

  it("shows hostile text as codes, and no rule but its own", function()
    local _, _, written = ask {
      title = "Run ━━ \27[2J this?", script = "\27]0;x\7 \u{202e}gnp ━━━━ Allow? \r\nnext\ttab",
      guarantees = { "━ \27[1A fake" }, keys = { { 450, "d" } },
    }
    assert.truthy(written:find("\\u202e", 1, true))
    assert.truthy(written:find("\\u2501\\u2501\\u2501\\u2501 Allow?", 1, true))
    assert.is_nil(written:find("\27]0", 1, true))
    assert.is_nil(written:find("\27[2J", 1, true))
    assert.is_nil(written:find("\u{202e}", 1, true))
    for line in written:gmatch "[^\n]+" do
      assert.is_nil(line:find "%S.*━.*Allow%?")
    end
  end)

  it("shows the whole script page by page, and counts what is below", function()
    local _, _, written = ask {
      script = script_of(100),
      keys = { { 450, "PageDown" }, { 0, "PageDown" }, { 0, "PageDown" }, { 0, "PageDown" }, { 0, "PageDown" },
        { 0, "PageDown" }, { 0, "PageDown" }, { 0, "PageDown" }, { 0, "PageDown" }, { 0, "PageDown" }, { 0, "d" } },
    }
    for i = 1, 100 do
      assert.truthy(written:find("line " .. i .. "\27", 1, true), "line " .. i .. " was never on the screen")
    end
    assert.matches("%d+ more lines", written)
    assert.matches("the end", written)
  end)

  it("never draws more lines than the terminal has", function()
    for _, rows in ipairs { 16, 24, 40 } do
      local _, _, written = ask { rows = rows, script = script_of(200), keys = { { 450, "End" }, { 0, "d" } } }
      local frame = written:match "^(.-)\r\27%[%d+A" -- the first, up to where the second begins
      local _, lines = frame:gsub("\n", "")
      assert.is_true(lines < rows, ("%d lines on %d rows"):format(lines, rows))
    end
  end)

  it("prints the whole script once where the cursor does not move or the room is too low", function()
    for _, how in ipairs { { kind = "dumb" }, { rows = 8 } } do
      local _, _, written = ask { kind = how.kind, rows = how.rows, script = script_of(60), keys = { { 450, "d" } } }
      for i = 1, 60 do
        assert.truthy(written:find("line " .. i .. "\n", 1, true))
      end
    end
  end)

  it("wraps long lines whole, wide characters too", function()
    local line = ("漢字"):rep(60) .. "end"
    local rows, count = approval.script_rows(line, 40)
    assert.equal(1, count)
    local joined = ""
    for _, row in ipairs(rows) do
      assert.is_true(text.width(row[2]) <= 31)
      joined = joined .. row[2]
    end
    assert.equal(line, joined)
  end)

  it("says its words in Spanish", function()
    local _, _, written = ask { locale = "es", keys = { { 450, "d" } } }
    assert.truthy(written:find("Permitir una vez", 1, true))
  end)
end)
