---@meta host.fs
-- Files, as std.fs uses them.

---@class host.Root
local Root = {}

---@async
---@param rel string
---@param options { maxBytes: integer?, offset: integer? }?
---@return string? bytes
---@return boolean|string truncated  or the error
---@return string? id
---@return table? fields
function Root:read(rel, options) end

---@async
---@param rel string
---@param bytes string
---@param options { mode: integer?, parents: boolean?, exclusive: boolean? }?
---@return true? done
---@return string? err
---@return string? id
---@return table? fields
function Root:write(rel, bytes, options) end

---@param rel string
---@return { type: string, size: integer, mtimeMs: integer, links: integer, mode: integer, ino: integer }? stat
---@return string? err
---@return string? id
---@return table? fields
function Root:stat(rel) end

---@async
---@param rel string?
---@return { name: string, type: string, size: integer, mtimeMs: integer }[]? list
---@return string? err
---@return string? id
---@return table? fields
function Root:list(rel) end

---@param rel string
---@return true? done
---@return string? err
---@return string? id
---@return table? fields
function Root:mkdir(rel) end

---@async
---@param rel string
---@return true? done
---@return string? err
---@return string? id
---@return table? fields
function Root:remove(rel) end

---@param from string
---@param to string
---@return true? done
---@return string? err
---@return string? id
---@return table? fields
function Root:rename(from, to) end

---@async
---@param source host.Root
---@param source_rel string
---@param rel string
---@param options { mode: integer?, parents: boolean?, exclusive: boolean? }?
---@return integer? bytes
---@return string? err
---@return string? id
---@return table? fields
function Root:copy_in(source, source_rel, rel, options) end

---@param rel string
---@param mode "r"|"rw"|"x"|"a"|nil
---@return host.File? file
---@return string? err
---@return string? id
---@return table? fields
function Root:open(rel, mode) end

function Root:close() end

---@class host.File
local File = {}

---@async
---@param offset integer
---@param n integer
---@return string? bytes  shorter at the end of the file
---@return string? err
---@return string? id
---@return table? fields
function File:read(offset, n) end

---@async
---@param bytes string
---@return true? done
---@return string? err
---@return string? id
---@return table? fields
function File:write(bytes) end

---@async
---@return true? done
---@return string? err
---@return string? id
---@return table? fields
function File:sync() end

---@return table? stat
---@return string? err
---@return string? id
---@return table? fields
function File:stat() end

function File:close() end

---@class host.Lock
local Lock = {}

---@param text string what others are told of the holder
---@return true? done
---@return string? err
---@return string? id
---@return table? fields
function Lock:write(text) end

function Lock:close() end

local M = {}

--- The root that is above all files: its names are paths.
---@type host.Root
M.any = nil

---@param path string
---@param options { links: "none"|"inside"|nil }?
---@return host.Root? root
---@return string? err
---@return string? id
---@return table? fields
function M.open_root(path, options) end

---@param path string
---@return host.Lock? lock
---@return string? err
---@return string? id  "session_locked"
---@return table? fields  holder: what it wrote
function M.lock(path) end

---@async
---@param path string
---@return true? done
---@return string? err
---@return string? id
---@return table? fields
function M.sync(path) end

---@param path string
---@return string? path
---@return string? err
---@return string? id
---@return table? fields
function M.realpath(path) end

---@param parent string
---@param prefix string?
---@return string? path
---@return string? err
---@return string? id
---@return table? fields
function M.temp_dir(parent, prefix) end

---@return string? path
---@return string? err
---@return string? id
---@return table? fields
function M.cwd() end

---@return string? path
function M.home() end

---@param name string
---@return string? value
function M.env(name) end

return M
