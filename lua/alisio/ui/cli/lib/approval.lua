--- The question before something acts, on the terminal: what would run, whole, and what holds. The
-- frame alone draws `━`; keys count only once the panel has stood for a moment; Enter does nothing.
local clock = require "std.clock"
local term = require "std.term"
local text = require "std.text"
local words = require "alisio.kernel.words"
local editing = require "alisio.ui.cli.lib.line"
local render = require "alisio.ui.cli.lib.render"

local M = {}

--- Keys before this are not answers: they were typed for something else.
local DEAF_MS = 400

local LEAST_WINDOW = 3

--- What the eye must see of a text: control, format and bidi characters as codes, and no rule.
---@param said string
---@return string
function M.plain(said)
  return (text.visible(said):gsub("━", "\\u2501"))
end

--- Cuts a line into pieces of at most `columns`; nothing is left out.
---@param line string
---@param columns integer
---@return string[]
function M.pieces(line, columns)
  if text.width(line) <= columns then
    return { line }
  end
  local pieces, from, used = {}, 1, 0
  for at, code in utf8.codes(line) do
    local wide = text.width(utf8.char(code))
    if used + wide > columns then
      pieces[#pieces + 1] = line:sub(from, at - 1)
      from, used = at, 0
    end
    used = used + wide
  end
  pieces[#pieces + 1] = line:sub(from)
  return pieces
end

--- The script as numbered rows.
---@param script string
---@param columns integer
---@return table[] rows  { number or "", text }
---@return integer lines
function M.script_rows(script, columns)
  local rows, count = {}, 0
  for line in (script:gsub("\n$", "") .. "\n"):gmatch "(.-)\n" do
    count = count + 1
    local shown = M.plain((line:gsub("\r$", ""):gsub("\t", "    ")))
    for i, piece in ipairs(M.pieces(shown, math.max(10, columns - 9))) do
      rows[#rows + 1] = { i == 1 and tostring(count) or "", piece }
    end
  end
  return rows, count
end

local function t(panel, key, fields)
  return words.t(panel.locale, key, fields)
end

local function grouped(sha256)
  return sha256:sub(1, 4) .. " " .. sha256:sub(5, 8) .. " " .. sha256:sub(9, 12)
end

--- The lines above the script.
local function head(panel)
  local screen, request = panel.screen, panel.request
  local columns = screen:width() - 1
  local heavy = screen.glyph.heavy
  local lines = screen:row(screen.glyph.waiting, "waiting", panel.name, panel.detail, t(panel, "run.waits"),
    render.duration(clock.monotonic() - panel.since, panel.locale))
  lines[#lines + 1] = ""
  for i, title in ipairs(M.pieces(M.plain(request.title), math.max(10, columns - 8))) do
    if i == 1 then
      lines[#lines + 1] = screen:paint(heavy:rep(2), "waiting") .. " " .. screen:paint(title, "strong") .. " "
        .. screen:paint(heavy:rep(math.max(2, columns - 4 - text.width(title))), "waiting")
    else -- it names what is written to, or where something runs: all of it is shown
      lines[#lines + 1] = "   " .. screen:paint(title, "strong")
    end
  end
  local about = t(panel, "approval.about", { count = panel.lines, sha256 = grouped(request.sha256) })
  lines[#lines + 1] = "  " .. screen:paint(text.truncate(about, columns - 2), "quiet")
  lines[#lines + 1] = ""
  return lines
end

--- The lines below the script.
local function foot(panel)
  local screen, lines = panel.screen, { "" }
  local columns = screen:width() - 1
  for _, guarantee in ipairs(panel.request.guarantees) do
    local said = M.plain(guarantee)
    local mark, rest = said:match "^([✓!]) (.*)$"
    if said:sub(1, #"✓ ") == "✓ " then
      mark, rest = screen.glyph.done, said:sub(#"✓ " + 1)
    end
    local glyph = screen:paint(mark or screen.glyph.warning, mark == screen.glyph.done and "done" or "waiting")
    for i, piece in ipairs(text.wrap(rest or said, columns - 4)) do
      lines[#lines + 1] = (i == 1 and "  " .. glyph .. " " or "    ") .. piece
    end
  end
  if #panel.request.guarantees > 0 then
    lines[#lines + 1] = ""
  end
  local keys = {}
  for _, key in ipairs(panel.keys) do
    keys[#keys + 1] = { "[" .. key.key .. "] ", t(panel, key.label) }
  end
  local line, used = "", 0
  for _, key in ipairs(keys) do
    local wide = text.width(key[1]) + text.width(key[2])
    if used > 0 and used + 3 + wide > columns then
      lines[#lines + 1] = line
      line, used = "", 0
    end
    local gap = used == 0 and 2 or 3
    line = line .. (" "):rep(gap) .. screen:paint(key[1]:sub(1, -2), "waiting") .. " " .. key[2]
    used = used + gap + wide
  end
  lines[#lines + 1] = line
  lines[#lines + 1] = screen:paint(screen.glyph.heavy:rep(columns), "waiting")
  return lines
end

--- Rows the panel may take; the last is the cursor's.
local function rows_for(panel)
  return panel.screen:height() - 1
end

local function numbered(panel, row)
  return panel.screen:paint(("%6s"):format(row[1]), "quiet") .. "  " .. row[2]
end

--- Draws the panel with the part of the script that fits, and says how much there is besides.
local function draw(panel)
  local top, bottom = head(panel), foot(panel)
  local room = rows_for(panel) - #top - #bottom
  local lines = top
  panel.window = math.max(LEAST_WINDOW, room)
  if #panel.rows > panel.window then
    panel.window = math.max(LEAST_WINDOW, room - 1)
    panel.first = math.max(1, math.min(panel.first, #panel.rows - panel.window + 1))
    for i = panel.first, panel.first + panel.window - 1 do
      lines[#lines + 1] = numbered(panel, panel.rows[i])
    end
    local below = #panel.rows - panel.first - panel.window + 1
    local key = below > 0 and "approval.more" or "approval.end"
    lines[#lines + 1] = (" "):rep(8) .. panel.screen:paint(t(panel, key, { count = below, above = panel.first - 1 }), "quiet")
  else
    for _, row in ipairs(panel.rows) do
      lines[#lines + 1] = numbered(panel, row)
    end
  end
  table.move(bottom, 1, #bottom, #lines + 1, lines)
  panel.screen:draw(lines)
end

--- Prints the panel once, the whole script with it: for a terminal whose cursor does not move, or
-- that is too low for a window.
local function print_all(panel)
  for _, line in ipairs(head(panel)) do
    panel.screen:say(line)
  end
  for _, row in ipairs(panel.rows) do
    panel.screen:say(numbered(panel, row))
  end
  for _, line in ipairs(foot(panel)) do
    panel.screen:say(line)
  end
end

local moves = {
  Up = function() return -1 end,
  Down = function() return 1 end,
  k = function() return -1 end,
  j = function() return 1 end,
  PageUp = function(panel) return -panel.window end,
  PageDown = function(panel) return panel.window end,
  [" "] = function(panel) return panel.window end,
  Space = function(panel) return panel.window end,
  Home = function() return -math.huge end,
  End = function() return math.huge end,
}

--- Reads one line of words.
---@return string? line  nil when Escape took it back
local function read_line(panel, handle, read_key)
  local said = ""
  panel.screen:clear()
  local function show()
    panel.screen.term.werr("\r\27[K  " .. t(panel, "approval.reason") .. " " .. said)
  end
  show()
  while true do
    local key = read_key(handle)
    if not key or key.key == "Escape" or key.ctrl and key.key:lower() == "c" then
      said = nil
      break
    elseif key.key == "Enter" then
      break
    end
    said = editing.typed(said, key)
    show()
  end
  panel.screen.term.werr "\r\27[K"
  return said
end

--- Asks on the terminal.
---@async
---@param request table     fields of permission_requested
---@param options table     { screen, locale, name = tool's name, detail, cancel = function(), read_key?, raw? }
---@return string decision  "allow_once", "allow_session" or "deny"
---@return string? reason
function M.ask(request, options)
  local screen = options.screen
  local panel = {
    request = request, screen = screen, locale = options.locale, name = options.name or request.capability,
    detail = options.detail or "", since = clock.monotonic(), first = 1, window = LEAST_WINDOW, keys = {},
  }
  local labels = {
    allow_once = { key = "a", label = "approval.allow_once", decision = "allow_once" },
    allow_session = { key = "s", label = "approval.allow_session", decision = "allow_session" },
    deny = { key = "d", label = "approval.deny", decision = "deny" },
  }
  local by_key = {}
  for _, option in ipairs(request.options) do
    local entry = labels[option.id]
    if entry then
      panel.keys[#panel.keys + 1] = entry
      by_key[entry.key] = entry
    end
  end
  panel.keys[#panel.keys + 1] = { key = "t", label = "approval.deny_reason" }
  panel.rows, panel.lines = M.script_rows(request.script or "", screen:width())
  local raw, read_key = options.raw or term.raw, options.read_key or term.read_key
  local handle, message = raw(0, { signals = false })
  if not handle then
    return "deny", message
  end
  local _ <close> = handle
  local _ <close> = setmetatable({}, { __close = function()
    screen:clear()
  end })
  local fixed = #head(panel) + #foot(panel)
  local paged = screen.live and rows_for(panel) - fixed >= LEAST_WINDOW + 1
  local redraw = paged and draw or function() end
  if not paged then
    print_all(panel)
  end
  redraw(panel)
  local shown = clock.monotonic()
  while true do
    local key, why, id = read_key(handle, 1000)
    if not key then
      if id ~= "timeout" then
        return "deny", why
      end
      redraw(panel)
    elseif key.ctrl and key.key:lower() == "c" then
      options.cancel()
      return "deny", t(panel, "run.cancelled")
    elseif clock.monotonic() - shown >= DEAF_MS and not key.ctrl and not key.alt then
      local answer, move = by_key[key.key:lower()], moves[key.key]
      if answer then
        return answer.decision
      elseif key.key:lower() == "t" then
        local reason = read_line(panel, handle, read_key)
        if reason then
          return "deny", reason ~= "" and reason or nil
        end
        if not paged then
          print_all(panel)
        end
        redraw(panel)
        shown = clock.monotonic()
      elseif move then
        local last = math.max(1, #panel.rows - panel.window + 1)
        panel.first = math.tointeger(math.max(1, math.min(panel.first + move(panel), last)))
        redraw(panel)
      end
    end
  end
end

return M
