--- `alisio help`: the help of a command, and the files that are made from the same tables.
local help = require "alisio.ui.cli.lib.help"

local M = {
  name = "help",
  arguments = { en = "[COMMAND]", es = "[COMANDO]" },
  help = {
    en = "Show the help of a command, or print completions or the man page.",
    es = "Muestra la ayuda de un comando, o imprime los completados o la página de manual.",
  },
  options = {
    {
      name = "completion",
      value = "SHELL",
      kind = "string",
      values = { "bash", "zsh", "fish" },
      help = {
        en = "Print the completion script of a shell.",
        es = "Imprime el script de completado de una shell.",
      },
    },
    {
      name = "man",
      help = { en = "Print the man page.", es = "Imprime la página de manual." },
    },
  },
}

--- Shows help, completions or the man page.
---@param ctx table
---@param args table
---@return integer? status
function M.run(ctx, args)
  local cli = require "alisio.ui.cli"
  if args.completion then
    ctx:out(help.completion(args.completion, cli))
  elseif args.man then
    ctx:out(help.man(cli, require("std.host").version))
  elseif args[1] then
    args[#args + 1] = "--help"
    return cli.main(args)
  else
    ctx:out(help.overview(cli, ctx.locale))
  end
end

return M
