--- `alisio version`.
local M = {
  name = "version",
  help = { en = "Show the version.", es = "Muestra la versión." },
}

--- The version of the program.
M.version = "0.1.0"

--- Shows the version.
---@param ctx table
function M.run(ctx)
  local term = require "std.term"
  if ctx.json then
    term.write(require("std.json").encode { version = M.version } .. "\n")
  else
    term.write("alisio " .. M.version .. "\n")
  end
end

return M
