--- `alisio resume [ID] [PROMPT]`: goes on with a session.
local prompt = require "alisio.ui.cli.lib.prompt"

local M = {
  name = "resume",
  arguments = { en = "[ID] [PROMPT]", es = "[ID] [PETICIÓN]" },
  help = {
    en = "Go on with a session: the one named, or the last of this folder.",
    es = "Continúa una sesión: la indicada, o la última de esta carpeta.",
  },
  details = {
    en = "Without a PROMPT a run that was broken off goes on where it stopped. A step that was running then is "
      .. "shown as uncertain and is not run again.",
    es = "Sin PETICIÓN, una ejecución interrumpida continúa donde se detuvo. Un paso que estaba en marcha se "
      .. "muestra como incierto y no se repite.",
  },
  options = { "allow-write", "allow-process", "allow-analysis", "read-only", "python", "model", "base-url" },
}

--- The session to go on with.
local function find(ctx, args)
  local store, message, err, fields = ctx:store()
  if not store then
    return nil, message, err, fields
  end
  if args[1] and args[1]:find "^ses_%w+$" then
    local record
    record, message, err, fields = store:session(args[1])
    if not record then
      return nil, message, err, fields
    end
    return record.id, 2
  end
  local sessions
  sessions, message, err, fields = store:sessions { kind = "run", cwd = ctx.cwd, limit = 1 }
  if not sessions then
    return nil, message, err, fields
  elseif not sessions[1] then
    return nil, ctx:text({
      en = "There is no session in {cwd} to go on with. alisio sessions list shows all.",
      es = "No hay ninguna sesión en {cwd} que continuar. alisio sessions list muestra todas.",
    }, { cwd = ctx.cwd }), "not_found"
  end
  return sessions[1].id, 1
end

--- How the last run of a session ended; nil when it has none.
local function last_end(store, id)
  local events, message, err, fields = store:events(id, { types = { "run_started", "run_completed" } })
  if not events then
    return nil, message, err, fields
  end
  local last = events[#events]
  if not last then
    return "none"
  end
  return last.type == "run_completed" and last.status or "open"
end

--- Goes on, or shows where the session stands.
---@async
---@param ctx table
---@param args table
---@return integer? status
---@return string? message
---@return string? id
---@return table? fields
function M.run(ctx, args)
  local id, next_arg, err, fields = find(ctx, args)
  if not id then
    return nil, next_arg, err, fields
  end
  local said, message
  said, message, err = prompt.text(ctx, args, next_arg)
  if not said then
    return nil, message, err
  end
  if said == "" then
    local status
    status, message, err, fields = last_end(ctx:store(), id)
    if not status then
      return nil, message, err, fields
    elseif status == "completed" or status == "none" then
      return prompt.show(ctx, id)
    end
  end
  return prompt.run(ctx, { id = id, kind = "run" }, said)
end

return M
