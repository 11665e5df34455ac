--- `alisio script FILE.lua [ARG...]`: runs a file as the main task. The program comes here without
--- the rest of the command line, so that every argument behind the file is the script's own.
local M = {
  name = "script",
  arguments = { en = "FILE.lua [ARG...]", es = "ARCHIVO.lua [ARG...]" },
  help = {
    en = "Run a Lua file with the standard library and the agent's API.",
    es = "Ejecuta un archivo de Lua con la biblioteca estándar y la API del agente.",
  },
}

--- Runs a script. What it returns, when it is an integer, is the exit status.
---@async
---@param path string
---@param ... string its arguments
---@return integer? status
---@return string? err
---@return string? id
function M.file(path, ...)
  local chunk, err = loadfile(path, "t")
  if not chunk then
    return nil, err, "usage"
  end
  return math.tointeger((chunk(...))) or 0
end

function M.run(_, args)
  return M.file(table.unpack(args))
end

--- Runs `alisio script` by itself.
---@async
---@param argv string[] the program at 0, "script", the file and its arguments
---@return integer status
function M.main(argv)
  local status, err = M.file(table.unpack(argv, 2))
  if not status then
    io.stderr:write("alisio: ", err, "\n")
    return 1
  end
  return status
end

return M
