--- What this system offers to shut a program in, as the helper that uses it sees it.
local host = require "std.host"
local json = require "std.json"
local process = require "std.process"

local M = {}

---@class alisio.Layers
---@field landlock integer      version of its interface, 0: none
---@field seccomp boolean
---@field namespaces boolean
---@field noNamespaces string?  why not
---@field error string?         the helper could not say

local PROBE_MS = 5000
local known

--- Asked once: no system changes while a program runs, and what is gone after all is an error when a
--- script starts, never less protection.
---@async
---@return alisio.Layers
function M.find()
  if not known then
    local jail, message = host.helper "jail"
    local result = jail and process.run { argv = { jail, "--probe" }, timeoutMs = PROBE_MS }
    local found = result and json.decode(result.stdout)
    if type(found) ~= "table" then
      return {
        landlock = 0, seccomp = false, namespaces = false, error = message or result and result.stderr or "jail",
      }
    end
    if found.noNamespaces == json.null then
      found.noNamespaces = nil
    end
    known = found
  end
  return known
end

return M
