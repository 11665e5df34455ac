--- `alisio run PROMPT`.
local prompt = require "alisio.ui.cli.lib.prompt"

local M = {
  name = "run",
  arguments = { en = "PROMPT", es = "PETICIÓN" },
  help = {
    en = "Answer a request about the files of the folder.",
    es = "Responde una petición sobre los archivos de la carpeta.",
  },
  details = {
    en = "The answer goes to standard output with the paths of the files it made; the steps go to standard error. "
      .. "With --json each event is one line. PROMPT - is read from standard input. On a terminal you are asked "
      .. "before anything writes or runs; elsewhere what would need to ask is not offered to the model.",
    es = "La respuesta va a la salida estándar con las rutas de los archivos creados; los pasos van a la de errores. "
      .. "Con --json cada evento es una línea. La PETICIÓN - se lee de la entrada estándar. En una terminal se le "
      .. "pregunta antes de escribir o ejecutar; sin ella no se ofrece al modelo lo que habría que preguntar.",
  },
  options = {
    "allow-write", "allow-process", "allow-analysis", "read-only", "session", "python", "model", "base-url",
  },
}

--- Runs the prompt.
---@async
---@param ctx table
---@param args table
---@return integer? status
---@return string? message
---@return string? id
---@return table? fields
function M.run(ctx, args)
  local words, message, id = prompt.text(ctx, args, 1)
  if not words then
    return nil, message, id
  elseif words == "" then
    return nil, ctx:text {
      en = "alisio run needs a PROMPT, in quotes: alisio run \"Describe sales.csv\"",
      es = "alisio run necesita una PETICIÓN, entre comillas: alisio run \"Describe ventas.csv\"",
    }, "usage"
  end
  return prompt.run(ctx, { id = args.session, kind = "run" }, words)
end

return M
