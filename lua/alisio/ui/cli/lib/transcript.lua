--- A session as Markdown: for `sessions show` on a terminal and `sessions export` into a file.
local words = require "alisio.kernel.words"
local text = require "alisio.ui.cli.lib.text"

local M = {}

local said = {
  status = {
    ok = { en = "done", es = "hecho" },
    error = { en = "failed", es = "falló" },
    denied = { en = "denied", es = "rechazada" },
    cancelled = { en = "stopped", es = "detenida" },
    uncertain = { en = "uncertain: the program ended while it ran", es = "incierta: el programa terminó mientras se ejecutaba" },
    running = { en = "running", es = "en ejecución" },
  },
  run = {
    failed = { en = "The run failed.", es = "La ejecución falló." },
    cancelled = { en = "The run was stopped.", es = "La ejecución se detuvo." },
    limit_reached = { en = "The run reached a limit: {limit}.", es = "La ejecución llegó a un límite: {limit}." },
  },
  published = { en = "published", es = "publicado" },
  untitled = { en = "Session without a title", es = "Sesión sin título" },
}

--- A moment in the time zone of this machine.
---@param ms integer
---@return string
function M.time(ms)
  return os.date("%Y-%m-%d %H:%M", ms // 1000) --[[@as string]]
end

local function quote(body)
  return "> " .. body:gsub("\n", "\n> ")
end

--- A name or path inside a line of Markdown.
local function code(body)
  return "`" .. body:gsub("[`\r\n]", " ") .. "`"
end

local RENDER = {
  run_started = function(event)
    return quote(event.prompt)
  end,
  message_completed = function(event)
    return event.role == "assistant" and event.text ~= "" and event.text or nil
  end,
  tool_completed = function(event, locale)
    local status = said.status[event.status] or event.status
    local took = event.status ~= "uncertain" and ", " .. words.duration(locale, event.durationMs) or ""
    return ("- %s %s%s"):format(code(event.name), text.pick(status, locale), took)
  end,
  artifact_published = function(event, locale)
    local artifact = event.artifact
    local path = artifact.path and " " .. code(artifact.path) or ""
    return ("- %s %s%s"):format(text.pick(said.published, locale), code(artifact.fileName or artifact.title or artifact.id), path)
  end,
  run_completed = function(event, locale)
    local sentence = said.run[event.status]
    local why = event.error and event.error.message
    if not sentence then
      return nil
    end
    return "*" .. text.pick(sentence, locale, { limit = event.limit }) .. "*" .. (why and " " .. why or "")
  end,
}

--- Calls that began and of which nothing more is known: another process may be at them.
local function running(events)
  local open = {}
  for _, event in ipairs(events) do
    if event.type == "tool_started" then
      open[event.callId] = event
    elseif event.type == "tool_completed" then
      open[event.callId] = nil
    end
  end
  return open
end

--- Writes a session down.
---@param session alisio.SessionRow
---@param events table[]
---@param locale string
---@return string markdown
function M.markdown(session, events, locale)
  local title = session.title ~= "" and session.title or text.pick(said.untitled, locale)
  local parts = {
    "# " .. title:gsub("[\r\n]", " "),
    ("%s · %s · %s"):format(code(session.id), M.time(session.created), code(session.cwd)),
  }
  local open = running(events)
  for _, event in ipairs(events) do
    local render = RENDER[event.type]
    local body = render and render(event, locale)
    if open[event.callId] == event then
      body = ("- %s %s"):format(code(event.name), text.pick(said.status.running, locale))
    end
    if body then
      local list = body:sub(1, 2) == "- " and parts[#parts]:sub(1, 2) == "- "
      parts[#parts + 1] = list and parts[#parts] .. "\n" .. body or body
      if list then
        table.remove(parts, #parts - 1)
      end
    end
  end
  return table.concat(parts, "\n\n") .. "\n"
end

return M
