--- pip, which installs pinned wheels into an environment: found, started with what it needs to reach
-- the package index and no more, and its failures told apart.
local clock = require "std.clock"
local fs = require "std.fs"
local path = require "std.path"
local process = require "std.process"
local hints = require "alisio.analysis.hints"

local M = {}

local STEP_MS = 5 * 60 * 1000
local REACH_LEAST_MS = 4000
local INSTALL_MS = 15 * 60 * 1000
local OLDEST = { 22, 3 } -- that installs into another environment (--python)

-- What it says (with -v) when it begins to ask the index.
local ASKING = "Fetching project page"

local GENERAL = { "--disable-pip-version-check", "--no-input", "--no-color" }
local ONCE = { "--retries", "0", "--timeout", "3" } -- seconds
local HASHED = { "--no-deps", "--require-hashes", "--only-binary=:all:", "--progress-bar", "off" }

-- Where the index is and how it is reached; what else pip could be told is not for here.
local PASSED = {
  "PATH", "HOME", "LANG", "LC_ALL", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_CACHE_HOME",
  "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
  "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
  "PIP_CONFIG_FILE", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX", "PIP_FIND_LINKS", "PIP_PROXY", "PIP_CERT",
  "PIP_CLIENT_CERT", "PIP_TRUSTED_HOST", "PIP_CACHE_DIR", "PIP_NO_CACHE_DIR", "PIP_KEYRING_PROVIDER",
}

---@class alisio.Requirement
---@field name string     as PEP 503 writes it: lower case, runs of -, _ and . one -
---@field version string
---@field marker string?  where it is wanted; nil: everywhere
---@field hashes integer  how many files may be it
---@field text string     as it stands in the file

---@class alisio.PipFailure
---@field reason string   offline, busy (before it could ask), slow, hash, wheel, space, no_pip or pip
---@field object string?  the package it is about
---@field detail string?

---@class alisio.Pip
---@field folder string  the environment
---@field env table<string, string>
---@field argv string[]
---@field progress (fun(line: string))?
---@field reached boolean?  the index has answered
local Pip = {}
Pip.__index = Pip

--- The name a package goes by, however it is written.
---@param name string
---@return string
function M.plain(name)
  return (name:lower():gsub("[-_.]+", "-"))
end

--- What a lock file pins.
---@param text string
---@return alisio.Requirement[]
function M.requirements(text)
  local list = {}
  for line in text:gmatch "[^\n]+" do
    local name, version, marker = line:match "^([%w._-]+)==([^ ;\\]+)%s*;?%s*(.-)%s*\\?$"
    local last = list[#list]
    if name then
      list[#list + 1] = {
        name = M.plain(name), version = version, marker = marker ~= "" and marker or nil, hashes = 0, text = line .. "\n",
      }
    elseif last and line:find "^%s" then
      last.text = last.text .. line .. "\n"
      last.hashes = last.hashes + 1
    end
  end
  return list
end

local function environment(folder, env)
  local passed = { TMPDIR = folder }
  for _, name in ipairs(PASSED) do
    passed[name] = env(name)
  end
  return passed
end

local function run(pip, argv, timeout)
  local full = table.move(argv, 1, #argv, #pip.argv + 1, { table.unpack(pip.argv) })
  return process.run {
    argv = full, cwd = pip.folder, env = pip.env, timeoutMs = timeout,
    on_output = pip.progress and function(_, chunk)
      for line in chunk:gmatch "[^\r\n]+" do
        pip.progress(line)
      end
    end,
  }
end

-- The last line that says what went wrong.
local function complaint(said)
  local last
  for line in said:gmatch "[^\r\n]+" do
    last = line:match "^ERROR: (.+)" or last
  end
  return last and last:sub(1, 300) or said:match "([^\r\n]+)[\r\n]*$"
end

-- Why pip failed. `reached`: the index has answered before, so what it lacks now is a wheel for this
-- machine.
---@return alisio.PipFailure
local function why(r, reached)
  local said = r.stdout .. "\n" .. r.stderr
  local mismatch = said:match "DO NOT MATCH THE HASHES[^\n]*\n%s+([%w._-]+)"
  local lacking = said:match "No matching distribution found for ([%w._-]+)"
  if mismatch then
    return { reason = "hash", object = mismatch }
  elseif said:find("No space left on device", 1, true) then
    return { reason = "space" }
  elseif r.timedOut then
    return { reason = reached and "slow" or said:find(ASKING, 1, true) and "offline" or "busy" }
  elseif lacking and reached then
    return { reason = "wheel", object = lacking }
  elseif lacking or said:find "[Cc]onnection" or said:find "Max retries" or said:find "[Tt]imed out" then
    return { reason = "offline" }
  end
  return { reason = "pip", detail = complaint(said) }
end

--- Finds a pip for an environment: that of the Python it is made with, or the one Python brings along.
---@async
---@param options { python: alisio.Python, folder: string, env: (fun(name: string): string?), locale: string, progress: (fun(line: string))? }
---@return alisio.Pip? pip
---@return alisio.PipFailure? failure
function M.find(options)
  local inside = path.join(options.folder, "bin/python")
  local pip = setmetatable({
    folder = options.folder, env = environment(options.folder, options.env), progress = options.progress,
    argv = { options.python.executable, "-I", "-c" },
  }, Pip)
  local r = run(pip, { "import pip; print(pip.__version__)" }, STEP_MS)
  local major, minor = (r and r.code == 0 and r.stdout or ""):match "^(%d+)%.(%d+)"
  major, minor = tonumber(major), tonumber(minor)
  if major and (major > OLDEST[1] or major == OLDEST[1] and minor >= OLDEST[2]) then
    pip.argv = { options.python.executable, "-I", "-m", "pip", "--python", inside }
    return pip
  end
  pip.argv = { inside, "-I", "-m" }
  r = run(pip, { "ensurepip" }, STEP_MS)
  if not r or r.code ~= 0 then
    return nil, { reason = "no_pip", detail = hints.pip(options.locale) }
  end
  pip.argv = { inside, "-I", "-m", "pip" }
  return pip
end

-- One command on a lock file, which is written beside the environment's own files for it.
function Pip:call(command, lock, more, timeout)
  local file = path.join(self.folder, "lock.txt")
  local ok, message, id = fs.write(file, lock)
  if not ok then
    return nil, { reason = id == "no_space" and "space" or "pip", detail = message }
  end
  local argv = { table.unpack(GENERAL) }
  argv[#argv + 1] = command
  table.move(HASHED, 1, #HASHED, #argv + 1, argv)
  table.move(more, 1, #more, #argv + 1, argv)
  argv[#argv + 1] = "--requirement"
  argv[#argv + 1] = file
  local r
  r, message = run(self, argv, timeout)
  fs.remove(file)
  if not r then
    return nil, { reason = "pip", detail = message }
  elseif r.code ~= 0 then
    return nil, why(r, self.reached)
  end
  return true
end

--- Sees whether the index answers: gets the file that is likely the smallest. A machine that is too
--- busy to ask in time says nothing about the index.
---@async
---@param requirements alisio.Requirement[]
---@param deadline number  on the monotonic clock, in milliseconds
---@return boolean? ok
---@return alisio.PipFailure? failure
function Pip:reach(requirements, deadline)
  local best
  for _, requirement in ipairs(requirements) do
    if not requirement.marker and (not best or requirement.hashes < best.hashes) then
      best = requirement
    end
  end
  if not best then
    self.reached = true
    return true
  end
  local timeout = math.max(REACH_LEAST_MS, math.ceil(deadline - clock.monotonic()))
  local dest = path.join(self.folder, "reach")
  local _ <close> = setmetatable({}, { __close = function() fs.remove(dest) end })
  local ok, failure = self:call("download", best.text, { "--verbose", "--dest", dest, table.unpack(ONCE) }, timeout)
  self.reached = ok
  return ok or failure.reason == "busy", failure
end

--- Installs what a lock file pins. An index that was not reached before is not asked again and again.
---@async
---@param lock string  its text
---@return boolean? ok
---@return alisio.PipFailure? failure
function Pip:install(lock)
  local more = { "--no-user", "--no-compile", "--no-warn-script-location" }
  if not self.reached then
    table.move(ONCE, 1, #ONCE, #more + 1, more)
  end
  return self:call("install", lock, more, INSTALL_MS)
end

return M
