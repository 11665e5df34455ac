--- The files inside the program, by their path in the repository. A folder in ALISIO_ASSET_PATH
--- stands in front of them, file by file.
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
  local names, seen = {}, {}
  for _, name in ipairs(host.list(prefix)) do
    if not seen[name] then
      seen[name] = true
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return names
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
