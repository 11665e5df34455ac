--- Shows the events of a run on a terminal or a pipe: rows for tool calls and notes on the error
-- output, the answer on standard output.
local clock = require "std.clock"
local task = require "std.task"
local text = require "std.text"
local words = require "alisio.kernel.words"

local M = {}

local Render = {}
Render.__index = Render

local TICK_MS = 100

--- Makes the renderer of a run.
---@param screen table        lib/screen
---@param options { locale: string, quiet: boolean? }
---@return table
function M.new(screen, options)
  return setmetatable({
    screen = screen,
    locale = options.locale,
    quiet = options.quiet,
    running = {},
    artifacts = {},
    streamed = "",
    frame = 0,
    turn = 1,
    started = clock.monotonic(),
  }, Render)
end

local function t(self, key, fields)
  return words.t(self.locale, key, fields)
end

--- A span as the rows show it: 214 ms, 9.4 s, 2:05.
---@param ms number
---@param locale string
---@return string
function M.duration(ms, locale)
  if ms < 1000 then
    return ("%d ms"):format(math.floor(ms + 0.5))
  elseif ms < 60000 then
    local seconds = ("%.1f s"):format(ms / 1000)
    return locale == "es" and (seconds:gsub("%.", ",")) or seconds
  end
  return ("%d:%02d"):format(ms // 60000, ms % 60000 // 1000)
end

local function one_line(said)
  return (tostring(said):gsub("%s+", " "):gsub("^ ", ""):gsub(" $", ""))
end

--- What a call is about, in a few words, from its input.
---@param input table
---@return string
function M.detail(input)
  for _, key in ipairs { "title", "path", "fileName", "command", "sql", "text", "name", "artifactId", "datasetId" } do
    if type(input[key]) == "string" and input[key] ~= "" then
      return one_line(input[key])
    end
  end
  if type(input.argv) == "table" then
    return one_line(table.concat(input.argv, " "))
  end
  return ""
end

--- Rows of a result. A description of tables is one row a column; what counts is the tables' rows.
local function count_rows(described)
  local of_table, of_rows
  for i, name in ipairs(described.columns or {}) do
    of_table = name == "table" and i or of_table
    of_rows = name == "rows" and i or of_rows
  end
  if not (of_table and of_rows) then
    return #described.rows
  end
  local seen, sum = {}, 0
  for _, row in ipairs(described.rows) do
    if not seen[row[of_table]] and math.type(row[of_rows]) == "integer" then
      seen[row[of_table]], sum = true, sum + row[of_rows]
    end
  end
  return sum
end

--- What came of a call, in a few words, from its blocks.
---@param event table   tool_completed
---@param locale string
---@return string
function M.result(event, locale)
  if event.status ~= "ok" then
    return words.t(locale, "status." .. event.status)
  end
  local files = 0
  for _, block in ipairs(event.output) do
    if block.type == "table" and type(block.table.rows) == "table" then
      local key = block.table.truncated and "run.rows_more" or "run.rows"
      local count = event.name == "data_inspect" and count_rows(block.table) or #block.table.rows
      return words.t(locale, key, { count = count })
    elseif block.type == "artifact" then
      files = files + 1
    end
  end
  return files > 0 and words.t(locale, "run.files", { count = files }) or ""
end

-- Live lines --------------------------------------------------------------------------------------

local function live_lines(self)
  local screen, lines = self.screen, {}
  local spin = screen.glyph.spin[self.frame % #screen.glyph.spin + 1]
  local now = clock.monotonic()
  for _, call in ipairs(self.running) do
    local time = M.duration(now - call.since, self.locale)
    for _, line in ipairs(screen:row(spin, "accent", call.name, call.detail, call.progress or "", time)) do
      lines[#lines + 1] = line
    end
  end
  if #lines == 0 then
    local elapsed = now - self.started
    local status = ("%s   %d:%02d   %s"):format(t(self, "run.turn", { count = self.turn }), elapsed // 60000,
      elapsed % 60000 // 1000, t(self, "run.stop_key"))
    lines[1] = "  " .. screen:paint(spin, "accent") .. " " .. screen:paint(status, "quiet")
  end
  return lines
end

--- Redraws the live lines until the run is over.
---@async
local function animate(self)
  while not self.over do
    task.sleep(TICK_MS)
    self.frame = self.frame + 1
    if not self.paused and not self.over then
      self.screen:draw(live_lines(self))
    end
  end
end

--- Starts the live lines, where there is a terminal for them.
function Render:start()
  if self.screen.live then
    self.animation = task.spawn(animate, self)
  end
end

--- Ends them.
function Render:stop()
  self.over = true
  if self.animation then
    self.animation:cancel()
  end
  self.screen:clear()
end

--- Takes the live lines away while a question is on the screen, or brings them back.
---@param paused boolean
function Render:pause(paused)
  self.paused = paused
  self.screen:clear()
end

-- The answer --------------------------------------------------------------------------------------

--- Where the last whole Markdown block ends: at a blank line outside a code fence.
local function whole_blocks(said)
  local last, fenced, from = 0, false, 1
  while true do
    local stop = said:find("\n", from, true)
    if not stop then
      return last
    end
    local line = said:sub(from, stop - 1)
    if line:find "^%s*```" then
      fenced = not fenced
    elseif not fenced and line:find "^%s*$" then
      last = stop
    end
    from = stop + 1
  end
end

local function write_blocks(self, blocks)
  local screen = self.screen
  local width = math.min(screen:width(), 104) - 5
  local shown = text.markdown(blocks, { width = width, color = screen.out_color })
  shown = shown:gsub("[ \t]+\n", "\n"):gsub("%s+$", "")
  if shown == "" then
    return
  end
  screen:out("\n" .. (shown:gsub("[^\n]+", "    %0")) .. "\n")
  self.after_text = true
end

--- Writes a line that belongs to the steps; one blank line parts it from an answer above.
local function say(self, line)
  if self.after_text and self.screen.out_tty and self.screen.err_tty then
    self.screen:say ""
  end
  self.after_text = false
  self.screen:say(line)
end

local function show_delta(self, piece)
  if not self.screen.out_tty then
    return
  end
  self.streamed = self.streamed .. piece
  local said = self.streamed:sub((self.shown or 0) + 1)
  local stop = whole_blocks(said)
  if stop > 0 then
    self.shown = (self.shown or 0) + stop
    write_blocks(self, said:sub(1, stop))
  end
end

local function show_message(self, said)
  if self.screen.out_tty then
    local shown = self.shown or 0
    if said:sub(1, shown) ~= self.streamed:sub(1, shown) then
      shown = 0 -- a hook changed the reply: what stands is not what was said
    end
    write_blocks(self, said:sub(shown + 1))
  elseif said ~= "" then
    self.screen:out((self.answered and "\n" or "") .. said:gsub("\n+$", "") .. "\n")
  end
  self.answered = true
  self.streamed, self.shown = "", 0
end

-- Events ------------------------------------------------------------------------------------------

local function find(self, id)
  for i, call in ipairs(self.running) do
    if call.id == id then
      return call, i
    end
  end
end

local marks = {
  ok = { "done", "done" }, error = { "failed", "failed" }, denied = { "failed", "failed" },
  cancelled = { "failed", "quiet" }, uncertain = { "warning", "waiting" },
}

local on = {}

--- Why a call failed, below its row, in two lines at most.
local function explain(self, event)
  local first, screen = event.output[1], self.screen
  local columns = screen:width() - 5
  local lines = text.wrap(text.visible(one_line(first and first.text or "")), columns)
  for i = 1, math.min(#lines, 2) do
    local line = i == 2 and #lines > 2 and text.truncate(lines[2] .. " " .. lines[3], columns) or lines[i]
    say(self, "    " .. screen:paint(line, "quiet"))
  end
end

function on.message_delta(self, event)
  if event.channel == "text" then
    show_delta(self, event.text)
  end
end

function on.message_completed(self, event)
  if event.role == "assistant" then
    show_message(self, event.text)
  end
end

function on.tool_started(self, event)
  table.insert(self.running, {
    id = event.callId, name = event.name, detail = M.detail(event.input), since = clock.monotonic(),
  })
end

function on.tool_progress(self, event)
  local call = find(self, event.callId)
  if call then
    call.progress = one_line(event.text)
  end
end

function on.tool_completed(self, event)
  local call, at = find(self, event.callId)
  if call then
    table.remove(self.running, at)
  end
  if self.quiet then
    return
  end
  local screen, mark = self.screen, marks[event.status]
  local failed = event.status ~= "ok"
  local rows = screen:row(screen.glyph[mark[1]], mark[2], event.name, call and call.detail or "",
    M.result(event, self.locale), M.duration(event.durationMs, self.locale), failed and mark[2] or nil)
  for _, line in ipairs(rows) do
    say(self, line)
  end
  if event.status == "error" then
    explain(self, event)
  end
end

function on.artifact_published(self, event)
  table.insert(self.artifacts, event.artifact)
end

function on.turn_completed(self)
  self.turn = self.turn + 1
end

function on.log(self, event)
  if not self.quiet and (event.level == "warn" or event.level == "error") then
    local screen = self.screen
    say(self, "  " .. screen:paint(screen.glyph.warning, "waiting") .. " " .. text.visible(event.text))
  end
end

--- Shows an event.
---@param event table
function Render:event(event)
  local show = on[event.type]
  if show then
    show(self, event)
  end
end

--- The last lines: where the artifacts are, how the run ended if not well, what was not offered.
---@param result table  of session:prompt
---@param session string
function Render:finish(result, session)
  self:stop()
  local screen, widest = self.screen, 0
  for _, artifact in ipairs(self.artifacts) do
    widest = math.max(widest, text.width(text.visible(artifact.fileName)))
  end
  for i, artifact in ipairs(self.artifacts) do
    local name = text.visible(artifact.fileName)
    local path = text.visible(artifact.path)
    path = screen.out_color and screen.term.style(path, "accent") or path
    screen:out(("%s%s%s  %s\n"):format(i == 1 and self.answered and "\n" or "", name,
      (" "):rep(widest - text.width(name)), path))
  end
  if result.status == "limit_reached" then
    say(self, "alisio: " .. t(self, "run.limit." .. result.limit))
  elseif result.status == "failed" then
    local err = result.error or {}
    say(self, ("alisio: %s: %s"):format(err.code or "internal", text.visible(err.message or "", true)))
  elseif result.status == "cancelled" then
    say(self, "alisio: " .. t(self, "run.cancelled"))
  end
  if result.status ~= "completed" then
    say(self, t(self, "run.go_on", { session = session }))
  end
  if result.notOffered and not self.quiet then
    say(self, t(self, "run.not_offered", { tools = table.concat(result.notOffered, ", ") }))
  end
end

return M
