--- Which Python runs scripts: the one that is configured, or else the first of PATH, pyenv and
-- Homebrew that is 3.10 or newer. A candidate may be a shell script that starts another program, so
-- each is run once and asked who it is. The answer is kept in the state folder until a file that led
-- to it changes.
local fs = require "std.fs"
local json = require "std.json"
local path = require "std.path"
local process = require "std.process"
local words = require "alisio.kernel.words"
local hints = require "alisio.analysis.hints"

local M = {}

local RECORD_VERSION = 1
local OLDEST, NEWEST = 10, 15 -- minor versions with a name of their own that are looked for
local PROBE_MS = 10000

---@class alisio.Python
---@field executable string  the interpreter itself, absolute
---@field version string     "3.11.2"
---@field prefix string
---@field basePrefix string
---@field path string[]      sys.path, absolute entries
---@field candidate string   the path that was run to find it
---@field extras string?     the set of optional packages it has

-- Python 2 understands it, too.
local PROBE = [[
import json, sys
sys.stdout.write(json.dumps({
    "version": list(sys.version_info[:3]), "executable": sys.executable, "prefix": sys.prefix,
    "basePrefix": getattr(sys, "base_prefix", sys.prefix), "path": sys.path}))
]]

-- What a shim needs to find the program it stands for.
local PASSED = { "PATH", "HOME", "PYENV_ROOT", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "LANG", "LC_ALL" }

local function environment(env)
  local passed = {}
  for _, name in ipairs(PASSED) do
    passed[name] = env(name)
  end
  return passed
end

-- What changes when a program is replaced; nil when there is none.
local function fingerprint(file)
  local stat = fs.stat(file)
  if not stat or stat.type ~= "file" or stat.mode & 73 == 0 then -- 0111
    return nil
  end
  return ("%s %d %d %d"):format(file, stat.size, stat.mtimeMs, stat.ino)
end

-- What a program answered, where it is what the probe would print in a Python, and the interpreter
-- it names is there.
local function read_answer(r)
  local answer = r.code == 0 and json.decode(r.stdout)
  local v = type(answer) == "table" and answer.version
  if type(v) ~= "table" or #v ~= 3 or type(answer.path) ~= "table" then
    return nil
  end
  for i = 1, 3 do
    if math.type(v[i]) ~= "integer" then
      return nil
    end
  end
  for _, key in ipairs { "executable", "prefix", "basePrefix" } do
    if type(answer[key]) ~= "string" then
      return nil
    end
  end
  return path.is_absolute(answer.executable) and fingerprint(answer.executable) and answer or nil
end

--- Asks a candidate who it is. It runs in the root folder, where no project tells a shim what to
--- choose.
---@async
---@param candidate string
---@param env fun(name: string): string?
---@return alisio.Python? python
---@return "missing"|"old"|"broken"|nil why
---@return string? version  with old
function M.identify(candidate, env)
  local r = process.run {
    argv = { candidate, "-E", "-s", "-B", "-c", PROBE }, cwd = "/", env = environment(env),
    timeoutMs = PROBE_MS, maxOutputBytes = 1024 * 1024,
  }
  if not r then
    return nil, fs.exists(candidate) and "broken" or "missing"
  end
  local answer = read_answer(r)
  if not answer then
    return nil, "broken"
  end
  local v = answer.version
  local version = table.concat(v, ".")
  if v[1] < 3 or v[1] == 3 and v[2] < OLDEST then
    return nil, "old", version
  end
  local found = {
    executable = answer.executable, version = version, prefix = answer.prefix,
    basePrefix = answer.basePrefix, path = json.array {}, candidate = candidate,
  }
  for _, dir in ipairs(answer.path) do
    if type(dir) == "string" and path.is_absolute(dir) then
      found.path[#found.path + 1] = dir
    end
  end
  return found
end

-- Newest first; the names of folders are versions.
local function by_version(a, b)
  local function key(name)
    return (name:gsub("%d+", function(digits)
      return ("%06d"):format(tonumber(digits))
    end))
  end
  return key(a) > key(b)
end

--- Every file that could be it, in the order they are asked.
local function candidates(env)
  local list, seen = {}, {}
  local function add(file)
    local mark = not seen[file] and fingerprint(file)
    seen[file] = true
    if mark then
      list[#list + 1] = { file = file, mark = mark }
    end
  end
  local names = { "python3" }
  for minor = NEWEST, OLDEST, -1 do
    names[#names + 1] = "python3." .. minor
  end
  names[#names + 1] = "python"
  for _, name in ipairs(names) do
    for dir in (env "PATH" or ""):gmatch "[^:]+" do
      if path.is_absolute(dir) then -- never the working folder
        add(path.join(dir, name))
      end
    end
  end
  local home = env "HOME"
  local pyenv = env "PYENV_ROOT" or home and path.join(home, ".pyenv")
  local versions = {}
  for _, entry in ipairs(pyenv and fs.list(path.join(pyenv, "versions")) or {}) do
    versions[#versions + 1] = entry.name
  end
  table.sort(versions, by_version)
  for _, version in ipairs(versions) do
    add(path.join(pyenv, "versions", version, "bin/python3"))
  end
  for _, brew in ipairs { "/opt/homebrew", "/usr/local", "/home/linuxbrew/.linuxbrew" } do
    add(brew .. "/bin/python3")
  end
  -- A shim of pyenv stays the same when another version is chosen; this file says which.
  local chosen = pyenv and fs.read(path.join(pyenv, "version"), { maxBytes = 4096 })
  return list, chosen or ""
end

-- What an answer depends on: the candidates up to the one that gave it, and the interpreter.
local function basis(list, found, chosen)
  local marks = json.array {}
  for _, candidate in ipairs(list) do
    marks[#marks + 1] = candidate.mark
    if candidate.file == found.candidate then
      break
    end
  end
  marks[#marks + 1] = fingerprint(found.executable) or "gone"
  marks[#marks + 1] = chosen
  return marks
end

local function same(a, b)
  if type(a) ~= "table" or #a ~= #b then
    return false
  end
  for i = 1, #a do
    if a[i] ~= b[i] then
      return false
    end
  end
  return true
end

local function recorded(file, list, chosen)
  local text = file and fs.read(file, { maxBytes = 1024 * 1024 })
  local record = text and json.decode(text)
  if type(record) ~= "table" or record.v ~= RECORD_VERSION or type(record.python) ~= "table"
    or type(record.python.executable) ~= "string" then
    return nil
  end
  return same(record.basis, basis(list, record.python, chosen)) and record.python or nil
end

local function record(file, list, found, chosen)
  if file and fs.mkdirs(path.dirname(file)) then
    -- Not being able to keep it only means that it is asked again.
    fs.write(file, json.encode({ v = RECORD_VERSION, python = found, basis = basis(list, found, chosen) },
      { pretty = true }), { mode = 384 })
  end
end

local function missing(locale, refused, configured)
  local first = refused[1]
  local hint = hints.install()
  local detail = hints.text(locale, hint)
  if configured then
    detail = words.t(locale, "python.configured_" .. first.why, { object = first.file, version = first.version })
  elseif first and first.why == "old" then
    detail = words.t(locale, "python.old", { object = first.file, version = first.version }) .. " " .. detail
  end
  local fields = { detail = detail, system = hint.system, command = hint.command, refused = refused }
  return nil, words.error(locale, "python_missing", fields), "python_missing", fields
end

--- Finds the interpreter.
---@async
---@param options { configured: string?, state_dir: string?, locale: string?, env: (fun(name: string): string?)? }
---  configured: the only one to try; state_dir: where the answer is kept
---@return alisio.Python? python
---@return string? message
---@return string? id       python_missing
---@return table? fields    detail says how to install one; refused: { file, why, version? }[]
function M.find(options)
  local env = options.env or fs.env
  local locale = options.locale or words.locale(nil, env)
  local list, chosen
  if options.configured then
    local file = path.absolute(options.configured, fs.cwd())
    list, chosen = { { file = file, mark = fingerprint(file) or "gone" } }, ""
  else
    list, chosen = candidates(env)
  end
  local file = options.state_dir and path.join(options.state_dir, "runtimes/python/discovery.json")
  local found = recorded(file, list, chosen)
  if found then
    return found
  end
  local refused = {}
  for _, candidate in ipairs(list) do
    local why, version
    found, why, version = M.identify(candidate.file, env)
    if found then
      record(file, list, found, chosen)
      return found
    end
    refused[#refused + 1] = { file = candidate.file, why = why, version = version }
  end
  return missing(locale, refused, options.configured)
end

return M
