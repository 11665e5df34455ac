--- The user's own Python with the user's permissions: what it may not do is take more memory, files,
--- processes and time than its limits, and stay when it is over.
local process = require "std.process"
local words = require "alisio.kernel.words"

local M = { name = "managed" }

--- It is always there.
---@return table found
function M.find()
  return {}
end

--- What holds.
---@param locale string
---@return string[]
function M.words(locale)
  return {
    words.t(locale, "python.your_permissions"),
    words.t(locale, process.ends_orphans and "runtime.managed_ends" or "runtime.group_ends"),
  }
end

--- How the script is started.
---@param place table
---@return table options  for std.process, without time and output
function M.start(place)
  local argv = { place.python.executable, table.unpack(place.flags) }
  argv[#argv + 1] = place.dir .. "/script/main.py"
  local get = function(name)
    return place.config:get("analysis.limits." .. name)
  end
  return {
    argv = argv, cwd = place.dir .. "/work", env = place.env,
    jail = {
      mark = "ALISIO_EXECUTION_ID=" .. place.id,
      limits = {
        memoryBytes = get "memoryBytes", openFiles = get "openFiles", processes = get "processes",
        fileBytes = get "writeBytes", cpuMs = 2 * place.timeoutMs,
      },
    },
  }
end

return M
