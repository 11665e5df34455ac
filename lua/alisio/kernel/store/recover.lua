--- What a process that ended in the middle left open in a session, and how it is closed.
local clock = require "std.clock"
local json = require "std.json"
local words = require "alisio.kernel.words"

local M = {}

--- What the events of a session leave open, in the order it began.
local OPENS = { run_started = "run", tool_started = "callId", permission_requested = "requestId" }
local CLOSES = { run_completed = "run", tool_completed = "callId", permission_resolved = "requestId" }

local function unfinished(events)
  local open, order = {}, {}
  for _, event in ipairs(events) do
    local field = OPENS[event.type] or CLOSES[event.type]
    local key = field .. " " .. tostring(event[field])
    if OPENS[event.type] then
      order[#order + 1] = key
      open[key] = event
    else
      open[key] = nil
    end
  end
  return open, order
end

local function closing(event, locale, waits)
  if event.type == "tool_started" and waits then -- for an answer: it had not begun
    return {
      type = "tool_completed", callId = event.callId, name = event.name, status = "cancelled",
      output = json.array {}, durationMs = 0,
    }
  elseif event.type == "tool_started" then
    local text = words.t(locale, "recover.tool", { name = event.name })
    return {
      type = "tool_completed", callId = event.callId, name = event.name, status = "uncertain",
      output = json.array { { type = "text", text = text } }, durationMs = 0,
    }
  elseif event.type == "permission_requested" then
    return {
      type = "permission_resolved", requestId = event.requestId, decision = "deny", source = "headless",
      reason = words.t(locale, "recover.run"),
    }
  end
  return {
    type = "run_completed", status = "cancelled", durationMs = 0,
    usage = { inputTokens = 0, outputTokens = 0 },
    error = { code = "cancelled", message = words.t(locale, "recover.run") },
  }
end

--- Closes what a process left open when it ended in the middle: tools become "uncertain" (nothing is
--- run again), questions are denied, runs are over. For the one who holds the session.
---@async
---@param self alisio.Store
---@param session string
---@param locale string?   language of the words in these events
---@return table[]? added  the events stored, none when nothing was open
---@return string? err
---@return string? id
---@return table? fields
function M.recover(self, session, locale)
  local types = {}
  for _, list in ipairs { OPENS, CLOSES } do
    for name in pairs(list) do
      types[#types + 1] = name
    end
  end
  local events, err, id, fields = self:events(session, { types = types })
  if not events then
    return nil, err, id, fields
  end
  local open, order = unfinished(events)
  local runs, added, waiting = {}, {}, {}
  for _, event in pairs(open) do
    if event.type == "permission_requested" then
      waiting[event.callId] = true
    end
  end
  for _, key in ipairs(order) do
    local event = open[key]
    open[key] = nil
    local closed = event and closing(event, locale or "en", waiting[event.callId])
    if closed then
      closed.v, closed.session, closed.run, closed.time = 1, session, event.run, clock.now()
      table.insert(event.type == "run_started" and runs or added, closed)
    end
  end
  table.move(runs, 1, #runs, #added + 1, added)
  if #added == 0 then
    return added
  end
  local seqs
  seqs, err, id, fields = self:append_all(session, added)
  if not seqs then
    return nil, err, id, fields
  end
  for i, event in ipairs(added) do
    event.seq = seqs[i]
  end
  return added
end

return M
