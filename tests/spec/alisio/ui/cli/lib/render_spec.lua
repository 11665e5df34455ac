local term = require "std.term"
local text = require "std.text"
local render = require "alisio.ui.cli.lib.render"
local screen = require "alisio.ui.cli.lib.screen"

-- A renderer whose outputs are kept. options: columns (of a terminal for the words), tty (for both),
-- utf8, quiet, locale.
local function make(options)
  local out, err = {}, {}
  local tty = options.tty or false
  local fake = {
    is_tty = function(fd) return tty or fd == 2 and options.columns ~= nil end,
    color = function() return tty and options.color or false end,
    utf8 = function() return options.utf8 ~= false end,
    size = function() return options.columns or 80, 24 end,
    style = term.style,
    werr = function(s) err[#err + 1] = s end,
    write = function(s) out[#out + 1] = s end,
  }
  local made = screen.new { quiet = options.quiet, term = fake, env = function() return "xterm" end }
  local r = render.new(made, { locale = options.locale or "en", quiet = options.quiet })
  return r, function()
    return table.concat(out), table.concat(err)
  end
end

local function call(r, id, name, input, done)
  r:event { type = "tool_started", callId = id, name = name, input = input, effect = "read" }
  done.type, done.callId, done.name = "tool_completed", id, name
  done.output = done.output or {}
  r:event(done)
end

describe("rendering", function()
  it("keeps the columns of the small and the large screen", function()
    for _, columns in ipairs { 80, 140 } do
      local r, written = make { columns = columns }
      call(r, "a", "data_inspect", { path = "sales.csv" },
        { status = "ok", durationMs = 9400, output = { { type = "table", table = { rows = { {}, {} } } } } })
      call(r, "b", "data_query", { sql = "SELECT 1 AS a_long_statement FROM data" },
        { status = "ok", durationMs = 214, output = {} })
      local _, err = written()
      local lines = {}
      for line in err:gmatch "[^\n]+" do
        lines[#lines + 1] = line
      end
      assert.equal(columns - 1, text.width(lines[1]))
      assert.equal(columns - 1, text.width(lines[2]))
      assert.equal("  ✓ data_inspect        sales.csv", lines[1]:sub(1, 35))
      assert.matches("2 rows     9%.4 s$", lines[1])
      assert.matches("    214 ms$", lines[2])
    end
  end)

  it("puts time and result under the name where it is narrow", function()
    local r, written = make { columns = 40 }
    call(r, "a", "data_query", { title = "Margin by market and by channel of sale" },
      { status = "ok", durationMs = 214, output = { { type = "table", table = { rows = { {} } } } } })
    local _, err = written()
    for line in err:gmatch "[^\n]+" do
      assert.is_true(text.width(line) < 40, line)
    end
    assert.matches("\n    1 row  214 ms\n", err)
  end)

  it("tells every state by glyph and word, and without UTF-8 by plain signs", function()
    local r, written = make { utf8 = false }
    for id, status in pairs { a = "denied", b = "cancelled", c = "uncertain" } do
      call(r, id, "go", {}, { status = status, durationMs = 1 })
    end
    call(r, "d", "go", {}, { status = "ok", durationMs = 1 })
    local _, err = written()
    assert.matches("  x go .* denied", err)
    assert.matches("  x go .* stopped", err)
    assert.matches("  ! go .* uncertain", err)
    assert.matches("  %+ go", err)
    assert.is_nil(err:find "[\128-\255]")
  end)

  it("says why a call failed in two lines at most", function()
    local r, written = make {}
    call(r, "a", "data_query", { sql = "x" },
      { status = "error", durationMs = 1, output = { { type = "text", text = ("reason "):rep(100) .. "\27[2J" } } })
    local _, err = written()
    local _, lines = err:gsub("\n", "")
    assert.equal(3, lines)
    assert.matches("…", err)
    assert.is_nil(err:find "\27")
  end)

  it("writes the answer to standard output as it is on a pipe", function()
    local r, written = make {}
    r:event { type = "message_delta", channel = "text", text = "**He" }
    r:event { type = "message_completed", role = "assistant", text = "**Hello**\n" }
    r:event { type = "message_completed", role = "assistant", text = "World" }
    local out, err = written()
    assert.equal("**Hello**\n\nWorld\n", out)
    assert.equal("", err)
  end)

  it("shows Markdown block by block on a terminal, each once", function()
    local r, written = make { tty = true }
    r:event { type = "message_delta", channel = "text", text = "One **two" }
    assert.equal("", (written()))
    r:event { type = "message_delta", channel = "text", text = "** three.\n\n```\ncode\n\nmore\n" }
    assert.equal("\n    One two three.\n", (written()))
    r:event { type = "message_delta", channel = "text", text = "```\n\nEnd" }
    r:event { type = "message_completed", role = "assistant", text = "One **two** three.\n\n```\ncode\n\nmore\n```\n\nEnd" }
    local out = written()
    local _, times = out:gsub("One two three", "")
    assert.equal(1, times)
    assert.matches("code\n\n +more\n\n    End\n$", out)
  end)

  it("shows the whole reply again when a hook changed what was streamed", function()
    local r, written = make { tty = true }
    r:event { type = "message_delta", channel = "text", text = "Secret.\n\nrest" }
    r:event { type = "message_completed", role = "assistant", text = "Changed.\n\nrest" }
    assert.matches("Changed%.", (written()))
  end)

  it("ends with the paths on standard output and the words on standard error", function()
    local r, written = make {}
    r:event { type = "message_completed", role = "assistant", text = "Done." }
    r:event { type = "artifact_published", artifact = { fileName = "report.md", path = "/s/a/report.md" } }
    r:event { type = "artifact_published", artifact = { fileName = "c.svg", path = "/s/b/c.svg" } }
    r:finish({ status = "completed", notOffered = { "shell", "write_file" } }, "ses_1")
    local out, err = written()
    assert.equal("Done.\n\nreport.md  /s/a/report.md\nc.svg      /s/b/c.svg\n", out)
    assert.matches("^Not offered, since nobody could be asked: shell, write_file%.", err)
  end)

  it("says how a run ended when it did not complete", function()
    for _, case in ipairs {
      { { status = "limit_reached", limit = "turns" }, "agent.limits.turns" },
      { { status = "cancelled" }, "Stopped" },
      { { status = "failed", error = { code = "provider_failed", message = "no answer \27[2J" } }, "provider_failed: no answer" },
    } do
      local r, written = make { quiet = true }
      r:finish(case[1], "ses_1")
      local _, err = written()
      assert.truthy(err:find(case[2], 1, true), err)
      assert.truthy(err:find("alisio resume ses_1", 1, true))
      assert.is_nil(err:find "\27")
    end
  end)

  it("keeps still when told to be quiet", function()
    local r, written = make { quiet = true }
    call(r, "a", "go", {}, { status = "ok", durationMs = 1 })
    r:event { type = "log", level = "warn", text = "w" }
    r:finish({ status = "completed", notOffered = { "shell" } }, "ses_1")
    assert.same({ "", "" }, { written() })
  end)

  it("writes spans as the rows show them", function()
    assert.equal("214 ms", render.duration(214, "en"))
    assert.equal("9.4 s", render.duration(9400, "en"))
    assert.equal("9,4 s", render.duration(9400, "es"))
    assert.equal("2:05", render.duration(125000, "en"))
  end)
end)
