--- Trust in a project folder. What lies under `.alisio/` is inert until its user has seen it and said
-- yes; the yes binds to the hash of every file there, so that any change asks again. Whoever uses
-- the files afterwards reads them from the snapshot that was hashed, never from the disk once more.
local artifact = require "std.artifact"
local clock = require "std.clock"
local fs = require "std.fs"
local json = require "std.json"
local path = require "std.path"

local M = {}

local MAX_FILES, MAX_FILE_BYTES, MAX_DEPTH = 500, 1024 * 1024, 8

---@class alisio.ProjectSnapshot
---@field dir string                      the project's real path
---@field sha256 string?                  nil where there is no .alisio
---@field files table<string, string>     bytes by path below .alisio
---@field names string[]                  those paths, sorted

local function refuse(object, detail)
  return nil, object .. ": " .. detail, "config_invalid", { object = object, detail = detail }
end

local function collect(root, base, rel, depth, found)
  local entries, err, id, fields = root:list(rel)
  if not entries then
    return nil, err, id, fields
  end
  for _, entry in ipairs(entries) do
    local name = rel and rel .. "/" .. entry.name or entry.name
    local shown = path.join(base, name)
    local ok = true
    if entry.type == "dir" then
      if depth >= MAX_DEPTH then
        return refuse(shown, "lies too deep to be trusted")
      end
      ok, err, id, fields = collect(root, base, name, depth + 1, found)
    elseif entry.type ~= "file" then
      return refuse(shown, "is neither a file nor a folder, so it cannot be trusted")
    elseif #found >= MAX_FILES then
      return refuse(base, ("holds more than %d files"):format(MAX_FILES))
    else
      found[#found + 1] = name
    end
    if not ok then
      return nil, err, id, fields
    end
  end
  return true
end

--- Reads everything under the project's `.alisio` and hashes it.
---@async
---@param project_dir string
---@return alisio.ProjectSnapshot? snapshot
---@return string? err
---@return string? id
---@return table? fields
function M.snapshot(project_dir)
  local dir, err, id, fields = fs.realpath(project_dir)
  if not dir then
    return nil, err, id, fields
  end
  local snapshot = { dir = dir, files = {}, names = {} }
  local base = path.join(dir, ".alisio")
  if not fs.exists(base) then
    return snapshot
  end
  local root
  root, err, id, fields = fs.open_root(base)
  if not root then
    return nil, err, id, fields
  end
  local _ <close> = root
  local ok
  ok, err, id, fields = collect(root, base, nil, 1, snapshot.names)
  if not ok then
    return nil, err, id, fields
  end
  table.sort(snapshot.names)
  local parts = {}
  for i, name in ipairs(snapshot.names) do
    local bytes, more, why, about = root:read(name, { maxBytes = MAX_FILE_BYTES })
    if not bytes then
      return nil, more, why, about
    elseif more then
      return refuse(path.join(base, name), "is larger than 1 MiB, so it cannot be trusted")
    end
    snapshot.files[name] = bytes
    parts[i] = string.pack("<s4s4", name, artifact.digest_bytes(bytes))
  end
  snapshot.sha256 = #parts > 0 and artifact.digest_bytes(table.concat(parts)) or nil
  return snapshot
end

local function file_of(state_dir)
  return path.join(state_dir, "trust.json")
end

local function load(state_dir)
  local file = file_of(state_dir)
  if not fs.exists(file) then
    return {}
  end
  local bytes, err, id, fields = fs.read(file, { maxBytes = 16 * 1024 * 1024 })
  if not bytes then
    return nil, err, id, fields
  end
  local stored = json.decode(bytes)
  if type(stored) ~= "table" or type(stored.folders) ~= "table" then
    return refuse(file, "is damaged; remove it to begin again")
  end
  return stored.folders
end

--- Whether a snapshot is trusted.
---@async
---@param state_dir string
---@param snapshot alisio.ProjectSnapshot
---@return "none"|"trusted"|"untrusted"|"changed"? status  none: there is nothing to trust
---@return string? err
---@return string? id
---@return table? fields
function M.status(state_dir, snapshot)
  if not snapshot.sha256 then
    return "none"
  end
  local folders, err, id, fields = load(state_dir)
  if not folders then
    return nil, err, id, fields
  end
  local known = folders[snapshot.dir]
  if type(known) ~= "table" then
    return "untrusted"
  end
  return known.sha256 == snapshot.sha256 and "trusted" or "changed"
end

local function change(state_dir, edit)
  local ok, err, id, fields = fs.mkdirs(path.join(state_dir, "locks"))
  if not ok then
    return nil, err, id, fields
  end
  local lock
  lock, err, id, fields = fs.lock(path.join(state_dir, "locks", "trust"))
  if not lock then
    return nil, err, id, fields
  end
  local _ <close> = lock
  local folders
  folders, err, id, fields = load(state_dir)
  if not folders then
    return nil, err, id, fields
  end
  edit(folders)
  local text = json.encode({ v = 1, folders = folders }, { pretty = true }) .. "\n"
  return fs.write(file_of(state_dir), text, { mode = 384 })
end

--- Trusts exactly what the snapshot holds.
---@async
---@param state_dir string
---@param snapshot alisio.ProjectSnapshot
---@return boolean? ok
---@return string? err
---@return string? id
---@return table? fields
function M.grant(state_dir, snapshot)
  return change(state_dir, function(folders)
    folders[snapshot.dir] = { sha256 = snapshot.sha256, time = clock.now() }
  end)
end

--- Takes the trust back.
---@async
---@param state_dir string
---@param snapshot alisio.ProjectSnapshot
---@return boolean? ok
---@return string? err
---@return string? id
---@return table? fields
function M.revoke(state_dir, snapshot)
  return change(state_dir, function(folders)
    folders[snapshot.dir] = nil
  end)
end

return M
