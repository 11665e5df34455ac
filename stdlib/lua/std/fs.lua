--- Files. A root is a folder held open: its methods take paths beneath it and cannot be led outside,
--- whatever links others put there. The functions of this module take any path and are for the files
--- of the program itself.
---
--- Everything the system refuses returns `nil, message, id, fields`. Reading, writing, copying and
--- removing wait (they run on the thread pool); the rest answers at once.
local fs = require "host.fs"

local M = {}

---@class std.fs.Stat
---@field type "file"|"dir"|"link"|"other"
---@field size integer     bytes
---@field mtimeMs integer
---@field links integer    names the file has
---@field mode integer     permission bits
---@field ino integer

---@class std.fs.Entry
---@field name string      bytes as the folder has them, UTF-8 or not
---@field type "file"|"dir"|"link"|"other"
---@field size integer
---@field mtimeMs integer

---@class std.fs.WriteOptions
---@field mode integer?       permission bits; left out: those of the file that is replaced, else
---                           0600, in a root with links = "inside" what the umask leaves
---@field exclusive boolean?  fail when the name is taken
---@field parents boolean?    make missing folders

---@class std.fs.Root
---@field read fun(self, rel: string, options?: { maxBytes: integer?, offset: integer? }): string?, boolean|string, string?  bytes and whether the file goes on; without maxBytes a file above 1 GiB is an error
---@field write fun(self, rel: string, bytes: string, options?: std.fs.WriteOptions): boolean?, string?, string?  whole or not at all: beside, synced, renamed
---@field stat fun(self, rel: string): std.fs.Stat?, string?, string?  of the link itself with links = "none", of its target otherwise
---@field list fun(self, rel?: string): std.fs.Entry[]?, string?, string?  sorted by name; links are not followed
---@field mkdir fun(self, rel: string): boolean?, string?, string?  with its parents; an existing folder is fine
---@field remove fun(self, rel: string): boolean?, string?, string?  with all below it; missing is fine
---@field rename fun(self, from: string, to: string): boolean?, string?, string?  both folders are synced
---@field copy_in fun(self, source: std.fs.Root, source_rel: string, rel: string, options?: std.fs.WriteOptions): integer?, string?, string?  bytes copied; blocks are shared where the file system can, never a link
---@field open fun(self, rel: string, mode?: "r"|"rw"|"x"|"a"): std.fs.File?, string?, string?  x: must be new
---@field close fun(self)

---@class std.fs.File
---@field read fun(self, offset: integer, n: integer): string?, string?, string?  fewer bytes at the end
---@field write fun(self, bytes: string): boolean?, string?, string?  behind the last write; mode a: at the end
---@field sync fun(self): boolean?, string?, string?
---@field stat fun(self): std.fs.Stat?, string?, string?
---@field close fun(self)

--- Opens a folder.
---@param path string
---@param options? { links: "none"|"inside" }  none (the default): no link is followed at all; inside:
---                                            links that stay beneath the folder are
---@return std.fs.Root?
---@return string? err
---@return string? id
M.open_root = fs.open_root

--- Reads a file.
---@async
---@param path string
---@param options? { maxBytes: integer?, offset: integer? }
---@return string? bytes
---@return boolean|string truncated_or_err
---@return string? id
function M.read(path, options)
  return fs.any:read(path, options)
end

--- Writes a file whole or not at all.
---@async
---@param path string
---@param bytes string
---@param options? std.fs.WriteOptions
---@return boolean? ok
---@return string? err
---@return string? id
function M.write(path, bytes, options)
  return fs.any:write(path, bytes, options)
end

--- Opens a file: r reads, rw reads and writes, x makes a new one, a appends.
---@param path string
---@param mode? "r"|"rw"|"x"|"a"
---@return std.fs.File?
---@return string? err
---@return string? id
function M.open(path, mode)
  return fs.any:open(path, mode)
end

---@param path string
---@return std.fs.Stat?
---@return string? err
---@return string? id
function M.stat(path)
  return fs.any:stat(path)
end

---@param path string
---@return boolean
function M.exists(path)
  return fs.any:stat(path) ~= nil
end

--- The entries of a folder, sorted by name.
---@param path string
---@return std.fs.Entry[]?
---@return string? err
---@return string? id
function M.list(path)
  return fs.any:list(path)
end

--- Makes a folder (0700) and its parents.
---@param path string
---@return boolean? ok
---@return string? err
---@return string? id
function M.mkdirs(path)
  return fs.any:mkdir(path)
end

--- Removes a file, a link, or a folder with all below it. Missing is fine.
---@async
---@param path string
---@return boolean? ok
---@return string? err
---@return string? id
function M.remove(path)
  return fs.any:remove(path)
end

---@async
---@param from string
---@param to string
---@return boolean? ok
---@return string? err
---@return string? id
function M.rename(from, to)
  return fs.any:rename(from, to)
end

--- Brings a file, or the names in a folder, safely to the disk.
---@async
---@param path string
---@return boolean? ok
---@return string? err
---@return string? id
M.sync = fs.sync

--- The absolute path without links.
---@param path string
---@return string?
---@return string? err
---@return string? id
M.realpath = fs.realpath

--- Makes a folder of a new name (0700) below parent.
---@param parent string
---@param prefix? string
---@return string? path
---@return string? err
---@return string? id
M.temp_dir = fs.temp_dir

--- Takes a lock file. It is held until the handle is closed or the process ends, however it ends.
---@param path string  made when missing
---@return table? lock     lock:write(text) says who holds it; lock:close()
---@return string? err
---@return string? id      "session_locked" when another holds it
---@return table? fields   holder: the text the holder wrote
M.lock = fs.lock

---@return string?
---@return string? err
---@return string? id
M.cwd = fs.cwd

---@return string?
---@return string? err
---@return string? id
M.home = fs.home

--- A variable of the environment.
---@param name string
---@return string?
M.env = fs.env

--- Walks everything below a folder, parents first, in the order of names.
---@param root std.fs.Root
---@param rel? string  where to begin, "." when left out
---@param enter? fun(rel: string, entry: std.fs.Entry): boolean  whether to look into a folder
---@return fun(): string?, std.fs.Entry?  path beneath the root, and its entry
function M.walk(root, rel, enter)
  local stack = {}
  local function push(dir, prefix)
    local entries = root:list(dir) or {}
    for i = #entries, 1, -1 do
      stack[#stack + 1] = { prefix .. entries[i].name, entries[i] }
    end
  end
  local start = rel or "."
  push(start, start == "." and "" or start .. "/")
  return function()
    local top = table.remove(stack)
    if not top then
      return nil
    end
    local path, entry = top[1], top[2]
    if entry.type == "dir" and (not enter or enter(path, entry)) then
      push(path, path .. "/")
    end
    return path, entry
  end
end

return M
