--- The files inside the program, by their path in the repository.
local host = require "host.asset"
local M = {}

--- The bytes of a file.
---@param name string such as "stdlib/python/alisio_runtime/svg.py"
---@return string? bytes
---@return string? err
---@return string? id
function M.read(name)
  return host.read(name)
end

--- The names that begin with prefix, sorted.
---@param prefix string
---@return string[]
function M.list(prefix)
  return host.list(prefix)
end

--- The SHA-256 of a file, of what `read` would return.
---@param name string
---@return string? hex  64 lower-case digits
---@return string? err
---@return string? id
function M.sha256(name)
  return host.sha256(name)
end

return M
