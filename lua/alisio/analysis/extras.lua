--- The optional packages of scripts. stdlib/python/extras/NAME.txt pins the wheels of each set with
-- their hashes, for every platform; they are installed into an environment of their own below
-- <state>/runtimes/python/extras/. It is built aside and takes its place by a rename, so it is there
-- whole or not at all. Its name says what it was made of: another lock file or another Python has
-- another one.
local artifact = require "std.artifact"
local asset = require "std.asset"
local clock = require "std.clock"
local fs = require "std.fs"
local json = require "std.json"
local path = require "std.path"
local process = require "std.process"
local task = require "std.task"
local words = require "alisio.kernel.words"
local discovery = require "alisio.analysis.discovery"
local pips = require "alisio.analysis.pip"

local M = {}

local RECORD, RECORD_VERSION = "alisio.json", 1
local PART = ".part-"
local REACH_MS = 9000 -- until it is said that the index does not answer
local STEP_MS = 5 * 60 * 1000
local LOCK_POLL_MS = 100

-- The sets that hold all of one, the smallest first.
local HOLDERS = { analysis = { "analysis", "science" }, science = { "science" } }

-- What is there, once it is safely on the disk.
local HOLDS = [[
import importlib.metadata, json, os, sys
sys.stdout.write(json.dumps({d.metadata["Name"]: d.version for d in importlib.metadata.distributions()}))
os.sync()
]]

---@class alisio.ExtraSet
---@field name "analysis"|"science"
---@field packages string[]      what is asked for; what those need comes with them
---@field downloadBytes integer  about
---@field sha256 string          of the lock file
---@field text string            the lock file

--- A set of packages.
---@param name "analysis"|"science"
---@return alisio.ExtraSet
function M.set(name)
  local text = assert(asset.read(("stdlib/python/extras/%s.txt"):format(name)))
  local set = {
    name = name, packages = {}, text = text, sha256 = artifact.digest_bytes(text),
    downloadBytes = math.tointeger(tonumber(text:match "\n# download%-bytes: (%d+)\n")),
  }
  for package in text:match("\n# packages: ([^\n]+)"):gmatch "%S+" do
    set.packages[#set.packages + 1] = package
  end
  return set
end

--- The one set that holds all that a list of them does.
---@param names string[]?
---@return string? name  nil for none
function M.wanted(names)
  local wanted
  for _, name in ipairs(names or {}) do
    wanted = wanted == "science" and wanted or name
  end
  return wanted
end

--- The command that installs a set.
---@param name string
---@return string
function M.command(name)
  return "alisio analysis setup --extras " .. name
end

local function home(state_dir)
  return path.join(state_dir, "runtimes/python/extras")
end

--- Where the environment of a set is.
---@param state_dir string
---@param python alisio.Python
---@param set alisio.ExtraSet
---@return string folder
function M.place(state_dir, python, set)
  local made_of = artifact.digest_bytes(table.concat({ set.sha256, python.executable, python.basePrefix }, "\n"))
  local version = python.version:match "^%d+%.%d+"
  return path.join(home(state_dir), ("%s-%s-%s"):format(set.name, version, made_of:sub(1, 12)))
end

local function read_record(folder)
  local text = fs.read(path.join(folder, RECORD), { maxBytes = 1024 * 1024 })
  local record = text and json.decode(text)
  if type(record) == "table" and record.v == RECORD_VERSION and type(record.python) == "table"
    and record.python.executable == path.join(folder, "bin/python") then
    return record
  end
end

--- The interpreter of an environment that holds a set.
---@async
---@param state_dir string
---@param python alisio.Python  the one it is made with
---@param name string           the set
---@return alisio.Python? python  `extras` is the set that is installed
function M.find(state_dir, python, name)
  for _, holder in ipairs(HOLDERS[name]) do
    local set = M.set(holder)
    local folder = M.place(state_dir, python, set)
    local record = read_record(folder)
    -- Its interpreter is a link to the one it was made with, which may be gone.
    if record and record.lock == set.sha256 and fs.realpath(record.python.executable) then
      return record.python
    end
  end
end

--- The sets that scripts can have without a question.
---@async
---@param state_dir string
---@param python alisio.Python
---@return string[] names
function M.installed(state_dir, python)
  local names = {}
  for _, name in ipairs { "analysis", "science" } do
    names[#names + 1] = M.find(state_dir, python, name) and name
  end
  return names
end

local function fail(locale, set, failure)
  local fields = { reason = failure.reason, object = failure.object, detail = failure.detail, extras = set.name }
  return nil, words.error(locale, "extras_failed", fields), "extras_failed", fields
end

-- The environment without its packages, and without what only a person at a shell would use.
local function make_environment(python, folder)
  local r, message = process.run {
    argv = { python.executable, "-I", "-m", "venv", "--without-pip", folder }, cwd = "/", env = { PATH = fs.env "PATH" },
    timeoutMs = STEP_MS,
  }
  if not r or r.code ~= 0 then
    return nil, { reason = "environment", detail = message or (r.stderr .. r.stdout):match "([^\n]+)\n*$" }
  end
  return true
end

-- Programs of packages name the folder they were installed in, which is not where they end up.
local function remove_programs(folder)
  local bin = path.join(folder, "bin")
  for _, entry in ipairs(fs.list(bin) or {}) do
    if not entry.name:find "^python" then
      fs.remove(path.join(bin, entry.name))
    end
  end
end

-- Jobs write no bytecode, so it is made once; pip would do it on one processor, for tests, too. Where
-- this fails, scripts only start more slowly.
local function compile(folder)
  process.run {
    argv = { path.join(folder, "bin/python"), "-I", "-m", "compileall", "-q", "-j", "0", "-x", "/tests?/", path.join(folder, "lib") },
    cwd = "/", env = {}, timeoutMs = STEP_MS,
  }
end

-- Asks the environment what it holds. Exactly what is pinned for this machine has to be there.
local function check(folder, set)
  local r = process.run {
    argv = { path.join(folder, "bin/python"), "-I", "-B", "-c", HOLDS }, cwd = "/", env = {}, timeoutMs = STEP_MS,
    maxOutputBytes = 1024 * 1024,
  }
  local there = r and r.code == 0 and json.decode(r.stdout)
  if type(there) ~= "table" then
    return nil, { reason = "environment", detail = r and r.stderr:match "([^\n]+)\n*$" }
  end
  local versions = {}
  for name, version in pairs(there) do
    versions[pips.plain(name)] = version
  end
  local pinned = {}
  for _, requirement in ipairs(pips.requirements(set.text)) do
    pinned[requirement.name .. "=" .. requirement.version] = true
  end
  for _, package in ipairs(set.packages) do
    local name = pips.plain(package)
    if not (versions[name] and pinned[name .. "=" .. versions[name]]) then
      return nil, { reason = "absent", object = package }
    end
  end
  return true
end

-- The same interpreter once its folder has another name.
local function moved(python, from, to, name)
  local function move(file)
    return file:sub(1, #from + 1) == from .. "/" and to .. file:sub(#from + 1) or file == from and to or file
  end
  local list = json.array {}
  for i, dir in ipairs(python.path) do
    list[i] = move(dir)
  end
  return {
    executable = path.join(to, "bin/python"), version = python.version, prefix = to, basePrefix = python.basePrefix,
    path = list, candidate = path.join(to, "bin/python"), extras = name,
  }
end

local function build(options, set, folder, final)
  local began = clock.monotonic()
  local ok, failure = make_environment(options.python, folder)
  if not ok then
    return nil, failure
  end
  local pip
  pip, failure = pips.find {
    python = options.python, folder = folder, env = options.env or fs.env, locale = options.locale, progress = options.progress,
  }
  if not pip then
    return nil, failure
  end
  ok, failure = pip:reach(pips.requirements(set.text), began + REACH_MS)
  if not ok then
    return nil, failure
  end
  ok, failure = pip:install(set.text)
  if not ok then
    return nil, failure
  end
  remove_programs(folder)
  compile(folder)
  ok, failure = check(folder, set)
  if not ok then
    return nil, failure
  end
  local python = discovery.identify(path.join(folder, "bin/python"), options.env or fs.env)
  if not python then
    return nil, { reason = "environment" }
  end
  python = moved(python, folder, final, set.name)
  local message, id
  ok, message, id = fs.write(path.join(folder, RECORD), json.encode({
    v = RECORD_VERSION, extras = set.name, lock = set.sha256, python = python,
  }, { pretty = true }), { mode = 384 })
  if not ok then
    return nil, { reason = id == "no_space" and "space" or "environment", detail = message }
  end
  return python
end

-- Removes what other installations left.
local function sweep(state_dir, stale)
  for _, entry in ipairs(fs.list(home(state_dir)) or {}) do
    local folder = path.join(home(state_dir), entry.name)
    if stale(entry.name, folder) then
      fs.remove(folder)
    end
  end
end

local function unfinished(name)
  return name:sub(1, #PART) == PART
end

-- Made from an older lock file, or with a Python that is gone.
local function outdated(name, folder)
  local set = name:match "^(%l+)%-"
  local record = HOLDERS[set] and read_record(folder)
  return record and (record.lock ~= M.set(set).sha256 or not fs.realpath(record.python.executable))
end

-- Another installation may be going on: it is waited for, and may be the one that was wanted.
local function wait_for_lock(state_dir)
  local ok, message, id, fields = fs.mkdirs(home(state_dir))
  if not ok then
    return nil, message, id, fields
  end
  while true do
    local lock
    lock, message, id, fields = fs.lock(path.join(home(state_dir), ".lock"))
    if lock or id ~= "session_locked" then
      return lock, message, id, fields
    end
    task.sleep(LOCK_POLL_MS)
  end
end

--- Installs a set. Where it fails or is cancelled, what was there before is what is there.
---@async
---@param options { state_dir: string, python: alisio.Python, name: string, locale: string, env: (fun(name: string): string?)?, progress: (fun(line: string))? }
---  progress hears pip's lines
---@return alisio.Python? python  of the environment
---@return string? message
---@return string? id       extras_failed, io_error, no_space
---@return table? fields    extras_failed: reason (offline, slow, hash, wheel, space, no_pip, environment, absent, pip)
function M.install(options)
  local state_dir, set = options.state_dir, M.set(options.name)
  local lock, message, id, fields = wait_for_lock(state_dir)
  if not lock then
    return nil, message, id, fields
  end
  local _ <close> = setmetatable({}, { __close = function() lock:close() end })
  local there = M.find(state_dir, options.python, set.name)
  if there then
    return there
  end
  sweep(state_dir, unfinished)
  local folder
  folder, message, id, fields = fs.temp_dir(home(state_dir), PART)
  if not folder then
    return nil, message, id, fields
  end
  local _ <close> = setmetatable({}, { __close = function() fs.remove(folder) end })
  local final = M.place(state_dir, options.python, set)
  local python, failure = build(options, set, folder, final)
  if not python then
    return fail(options.locale, set, failure)
  end
  local ok
  ok, message, id, fields = fs.remove(final) -- one that is damaged, else it would have been found
  if ok then
    ok, message, id, fields = fs.rename(folder, final)
  end
  if not ok then
    return nil, message, id, fields
  end
  sweep(state_dir, outdated)
  return python
end

return M
