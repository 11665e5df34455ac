--- Work on artifacts that is not over: each piece of it has a folder of its own below
--- <state>/artifacts, which its process locks, and which lists the folders of artifacts that may be
--- there without a record, or be about to go. Where the work was cut short, whoever comes next
--- removes those that have none.
local fs = require "std.fs"
local json = require "std.json"
local path = require "std.path"

local M = {}

local PREFIX = ".publish-"
local LOCK = ".lock"
local LIST = "folders.json"
local TRIES = 10

--- Cancelled in this process while records were on their way: the lock of each, by its folder.
local unsettled = {}

---@class alisio.Pending
---@field path string        a folder to work in
---@field uncertain boolean?  whether what it lists has come to an end is not known
local Pending = {}
Pending.__index = Pending

local function top_of(store)
  return path.join(store.state_dir, "artifacts")
end

-- A folder, locked: somebody may have taken it for one that was left before it was.
local function make(top)
  local folder, err, id, fields = fs.temp_dir(top, PREFIX)
  if not folder then
    return nil, err, id, fields
  end
  local lock
  lock, err, id, fields = fs.lock(path.join(folder, LOCK))
  if lock and fs.exists(path.join(folder, LOCK)) then
    return folder, lock
  elseif lock then
    lock:close()
  end
  fs.remove(folder)
  return nil, err or "the folder is gone", id or "io_error", fields or { object = folder }
end

--- Begins a piece of work. Closing it removes its folder.
---@async
---@param store alisio.Store
---@return alisio.Pending?
---@return string? err
---@return string? id
---@return table? fields
function M.begin(store)
  local top = top_of(store)
  local ok, err, id, fields = fs.mkdirs(top)
  for _ = 1, ok and TRIES or 0 do
    local folder, lock
    folder, lock, id, fields = make(top)
    if folder then
      return setmetatable({ path = folder, store = store, lock = lock }, Pending)
    end
    err = lock
  end
  return nil, err, id, fields
end

--- Keeps what the work is about, before it begins to show.
---@async
---@param folders string[]  of artifacts, absolute
---@return boolean? ok
---@return string? err
---@return string? id
---@return table? fields
function Pending:expect(folders)
  local list, top = json.array(), top_of(self.store)
  for i, folder in ipairs(folders) do
    list[i] = path.relative(folder, top)
  end
  return fs.write(path.join(self.path, LIST), json.encode { database = self.store.path, folders = list }, { mode = 384 })
end

function Pending:__close()
  if self.uncertain then
    unsettled[self.path] = self.lock
    return
  end
  fs.remove(self.path)
  self.lock:close()
end

-- The folders that a piece of work lists; nil when it is another database's.
local function read_list(store, folder)
  local bytes = fs.read(path.join(folder, LIST), { maxBytes = 1 << 20 })
  local list = bytes and json.decode(bytes)
  if type(list) ~= "table" then
    return {}
  end
  return list.database == store.path and list.folders or nil
end

-- Removes what has no record. False when that cannot be said.
local function settle(store, folder)
  local list = read_list(store, folder)
  for _, rel in ipairs(list or {}) do
    local artifact = rel:match "^[^/.][^/]*/ses_%w+/[^/]*%-%-(art_%w+)$"
    if not artifact then
      return false
    end
    local record, _, id = store.artifacts.get(artifact)
    if not record and (id ~= "not_found" or not fs.remove(path.join(top_of(store), rel))) then
      return false
    end
  end
  return list ~= nil
end

--- Ends what was cut short.
---@async
---@param store alisio.Store
function M.settle(store)
  local top = top_of(store)
  for _, entry in ipairs(fs.list(top) or {}) do
    local folder = path.join(top, entry.name)
    if entry.type == "dir" and entry.name:sub(1, #PREFIX) == PREFIX then
      local lock = unsettled[folder] or fs.lock(path.join(folder, LOCK))
      if lock then
        unsettled[folder] = nil
        if settle(store, folder) then
          fs.remove(folder)
        end
        lock:close()
      end
    end
  end
end

return M
