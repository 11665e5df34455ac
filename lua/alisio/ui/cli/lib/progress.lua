--- The line that says how far the reading of a file is, on a terminal; nothing elsewhere, and nothing
--- of it stays.
local clock = require "std.clock"
local task = require "std.task"
local term = require "std.term"
local text = require "std.text"
local words = require "alisio.kernel.words"
local blocks = require "alisio.ui.cli.lib.blocks"
local cells = require "alisio.ui.cli.lib.cells"
local pick = require("alisio.ui.cli.lib.text").pick

local M = {}

local BAR = 20
local SILENT_MS = 300 -- a file that was read before is looked at whole first, to know it again

local said = {
  reading = { en = "Reading {name}", es = "Leyendo {name}" },
  rows = { en = "{rows} rows", es = "{rows} filas" },
  bytes = { en = "{bytes} of {total}", es = "{bytes} de {total}" },
}

--- The line for one step; what does not fit is left out from the end.
---@param step { bytes: integer, total: integer, rows: integer }?  nil: none came yet
---@param about { name: string, elapsed: number, columns: integer, locale: string, utf8: boolean, color: boolean }
---   elapsed: milliseconds since the beginning
---@return string
function M.line(step, about)
  local locale = about.locale
  local line = text.truncate(pick(said.reading, locale, { name = cells.text(about.name) }), about.columns // 3)
  local parts = {}
  if not step then
    return line .. "…"
  elseif step.total > 0 then
    local share = math.min(1, step.bytes / step.total)
    local bar = blocks.bar(share, 1, BAR, about.utf8)
    local shown = about.color and term.style(bar, "accent") or bar
    parts[1] = shown .. (" "):rep(BAR - text.width(bar)) .. (" %3d%%"):format(math.floor(100 * share))
  end
  parts[#parts + 1] = pick(said.rows, locale, { rows = words.number(locale, step.rows) })
  if about.elapsed > 0 then
    parts[#parts + 1] = words.bytes(locale, math.floor(step.bytes * 1000 / about.elapsed)) .. "/s"
  end
  if step.total > 0 then
    parts[#parts + 1] = pick(said.bytes, locale, { bytes = words.bytes(locale, step.bytes), total = words.bytes(locale, step.total) })
  end
  for _, part in ipairs(parts) do
    if text.width(line) + 2 + text.width(part) >= about.columns then
      break
    end
    line = line .. "  " .. part
  end
  return line
end

--- What draws the line of a file, and what takes it away.
---@param ctx table
---@param name string  of the file
---@return (fun(step: table))?  nil where nobody looks
---@return fun() erase
function M.reading(ctx, name)
  local kind = ctx.env "TERM" or ""
  if ctx.quiet or not term.is_tty(2) or kind == "" or kind == "dumb" then
    return nil, function() end
  end
  local began, drawn = clock.monotonic(), false
  local function draw(step)
    drawn = true
    term.werr("\r\27[K" .. M.line(step, {
      name = name, elapsed = clock.monotonic() - began, columns = (term.size(2)), locale = ctx.locale, utf8 = term.utf8(),
      color = term.color(2),
    }))
  end
  local first = task.spawn(function()
    task.sleep(SILENT_MS)
    if not drawn then
      draw()
    end
  end)
  return draw, function()
    first:cancel()
    if drawn then
      term.werr "\r\27[K"
    end
  end
end

return M
