--- `alisio version`.
local M = {
  name = "version",
  help = { en = "Show the version.", es = "Muestra la versión." },
}

--- Shows the version.
---@param ctx table
function M.run(ctx)
  local term, version = require "std.term", require("std.host").version
  if ctx.json then
    term.write(require("std.json").encode { version = version } .. "\n")
  else
    term.write("alisio " .. version .. "\n")
  end
end

return M
