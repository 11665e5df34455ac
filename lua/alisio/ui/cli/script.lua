--- `alisio script FILE.lua [ARG...]`: runs a file as the main task. Every argument behind the file is
-- the script's own.
local term = require "std.term"
local user = require "alisio.agent.user"
local context = require "alisio.ui.cli.lib.context"
local question = require "alisio.ui.cli.lib.question"

local M = {
  name = "script",
  arguments = { en = "FILE.lua [ARG]…", es = "ARCHIVO.lua [ARG]…" },
  help = {
    en = "Run a Lua file with the standard library and the agent's API.",
    es = "Ejecuta un archivo de Lua con la biblioteca estándar y la API del agente.",
  },
  details = {
    en = "Options stand before FILE.lua; what follows it is handed to the script. An integer that the script "
      .. "returns is the exit status.",
    es = "Las opciones van antes de ARCHIVO.lua; lo que sigue se entrega al script. Si el script devuelve un "
      .. "entero, ese es el estado de salida.",
  },
  options = { "allow-write", "allow-process", "allow-analysis", "read-only", "python", "model", "base-url" },
  leading = true,
}

--- Runs a script.
---@async
---@param ctx table
---@param args string[]  the file and its arguments
---@return integer? status  what the script returned when it is an integer, else 0
---@return string? message
---@return string? id
function M.run(ctx, args)
  if not args[1] then
    return nil, ctx:text { en = "alisio script needs a FILE.lua.", es = "alisio script necesita un ARCHIVO.lua." },
      "usage"
  end
  local chunk, err = loadfile(args[1], "t")
  if not chunk then
    return nil, err, "usage"
  end
  if not ctx.args.clean then
    user.search(ctx.config_dir)
  end
  user.on_demand(function()
    return ctx:runtime()
  end, question.asker(ctx))
  return math.tointeger((chunk(table.unpack(args, 2)))) or 0
end

--- Runs `alisio script FILE …` without the dispatcher: it starts sooner.
---@async
---@param argv string[]  "script", the file and its arguments
---@return integer status
function M.main(argv)
  local ctx <close>, wrong = context.new {}
  local status, message = nil, wrong
  if ctx then
    status, message = M.run(ctx, { table.unpack(argv, 2) })
  end
  if not status then
    term.werr("alisio: " .. message .. "\n")
    return 1
  end
  return status
end

return M
