--- The user's own Python, shut in by the kernel: it reaches its folder, the interpreter with its
--- libraries, and nothing else. No container, no root.
---
--- Landlock keeps files apart, a filter of system calls keeps out sockets and what gets more rights.
--- Namespaces come on top where the system lets a user make them: the script then does not even see
--- that there is anything else. Without them Landlock has to keep signals apart, too, which it does
--- from version 6 on.
local fs = require "std.fs"
local path = require "std.path"
local words = require "alisio.kernel.words"
local layers = require "alisio.analysis.layers"
local managed = require "alisio.analysis.runtimes.managed"

local M = { name = "sandbox" }

local COVERS_TRUNCATION, COVERS_SIGNALS = 3, 6 -- versions of Landlock

-- What programs of any kind read: the loader, libraries, time zones, chance.
local SYSTEM = {
  "/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/etc/ld.so.cache", "/etc/localtime",
  "/usr/share/zoneinfo", "/dev/zero", "/dev/random", "/dev/urandom",
}

--- Which of its layers are there.
---@async
---@param _ any
---@param locale string
---@return table? found  { namespaces, noNamespaces? }
---@return string? why   which layer is missing, in words
function M.find(_, locale)
  local seen = layers.find()
  if seen.error then
    return nil, seen.error
  elseif not seen.seccomp then
    return nil, words.t(locale, "runtime.no_seccomp")
  elseif seen.landlock == 0 then
    return nil, words.t(locale, "runtime.no_landlock")
  elseif seen.landlock < COVERS_TRUNCATION then
    return nil, words.t(locale, "runtime.old_landlock", { abi = seen.landlock, needed = COVERS_TRUNCATION })
  elseif seen.landlock < COVERS_SIGNALS and not seen.namespaces then
    return nil, words.t(locale, "runtime.old_landlock", { abi = seen.landlock, needed = COVERS_SIGNALS })
  end
  return { namespaces = seen.namespaces, noNamespaces = seen.noNamespaces }
end

--- What holds.
---@param locale string
---@param found table
---@return string[]
function M.words(locale, found)
  local list = {
    words.t(locale, "runtime.sandbox_files"),
    words.t(locale, "runtime.sandbox_network"),
    words.t(locale, "runtime.sandbox_processes"),
    words.t(locale, "runtime.sandbox_ends"),
  }
  if not found.namespaces then
    list[#list + 1] = words.t(locale, "runtime.sandbox_names", { detail = found.noNamespaces })
  end
  list[#list + 1] = words.t(locale, "runtime.sandbox_kernel")
  return list
end

local function is_above(folder, file)
  return folder == "/" or file == folder or file:sub(1, #folder + 1) == folder .. "/"
end

-- Folders whose content is the user's; what holds one of them is not handed out whole.
local function private_folders(place)
  local list = { place.dir, place.workspace, place.config.dir, fs.env "HOME" }
  local found = {}
  for _, name in pairs(list) do
    found[#found + 1] = name
    found[#found + 1] = fs.realpath(name)
  end
  return found
end

-- Where a prefix holds more than a Python, what is Python's in it.
local function narrow(prefix, version)
  local name = "python" .. version:match "^%d+%.%d+"
  return { path.join(prefix, "bin", name), path.join(prefix, "lib", name), path.join(prefix, "lib64", name) }
end

--- Every path once, without those below another, each as it is named and as it is without links.
local function tidy(wanted, private, version)
  local all, seen = {}, {}
  local function add(name)
    if not seen[name] and fs.exists(name) then
      seen[name] = true
      all[#all + 1] = name
    end
  end
  for _, name in ipairs(wanted) do
    local real = fs.realpath(name)
    local parts = { name, real }
    for _, mine in ipairs(private) do
      if is_above(name, mine) or real and is_above(real, mine) then
        parts = narrow(name, version)
        break
      end
    end
    for _, part in ipairs(parts) do
      add(part)
    end
  end
  table.sort(all)
  local kept = {}
  for _, name in ipairs(all) do
    if not (kept[#kept] and is_above(kept[#kept], name)) then
      kept[#kept + 1] = name
    end
  end
  return kept
end

-- Of the last place and interpreter: looking at twenty folders takes as long as starting a process.
local last = {}

--- The interpreter with its prefixes and sys.path as discovery found them, and the libraries they need.
local function interpreter(place)
  local python = place.python
  local key = table.concat({
    path.dirname(place.dir), place.workspace, python.executable, python.version, python.prefix, python.basePrefix,
    table.unpack(python.path),
  }, "\0")
  if last.key == key then
    return last.list
  end
  local wanted = {
    python.executable, python.prefix, python.basePrefix, "/etc/python" .. python.version:match "^%d+%.%d+",
  }
  table.move(python.path, 1, #python.path, #wanted + 1, wanted)
  table.move(SYSTEM, 1, #SYSTEM, #wanted + 1, wanted)
  last = { key = key, list = tidy(wanted, private_folders(place), python.version) }
  return last.list
end

--- How the script is started.
---@async
---@param place table
---@param found table
---@return table options  for std.process, without time and output
function M.start(place, found)
  local options = managed.start(place)
  local read = table.move(interpreter(place), 1, #interpreter(place), 1, {})
  read[#read + 1] = path.join(place.dir, "script")
  read[#read + 1] = path.join(place.dir, "input")
  options.jail.sandbox = {
    read = read, namespaces = found.namespaces,
    write = { path.join(place.dir, "work"), path.join(place.dir, "staging"), "/dev/null" },
    memory = found.namespaces and { "/dev/shm" } or nil,
  }
  return options
end

return M
