--- The program itself: its version, its arguments, its other programs, the system it runs on.
local host = require "host.host"
local M = {}

--- Such as "0.1.0".
---@type string
M.version = host.version

--- The arguments of the program, the program itself at 0.
---@return string[]
function M.argv()
  return host.argv()
end

--- The path of one of Alisio's own programs, installed with it.
---@param name string "engine" or "jail"
---@return string? path
---@return string? err  names the places that were tried
---@return string? id
function M.helper(name)
  return host.helper(name)
end

--- The id of this process.
---@return integer
function M.pid()
  return host.pid()
end

--- The system, as uname says it, and whether folders are opened by openat2 (else by a walk of ours).
---@return { os: string, release: string, machine: string, openat2: boolean }
function M.platform()
  return host.platform()
end

--- Puts a folder in front of those where `require` looks for Lua files. Modules of the program
--- itself (`std.*`, `alisio.*`) come before any folder.
---@param dir string absolute path
function M.add_lua_path(dir)
  host.add_path(dir)
end

return M
