---@meta host.artifact
-- Output folders and digests, as std.artifact uses them.

---@class host.Source
local Source = {}

---@return { path: string, bytes: integer, dir: boolean }[] list sorted by path
function Source:list() end

---@async
---@param path string
---@return string? bytes
---@return string? err
---@return string? id
---@return table? fields
function Source:read(path) end

---@async
---@param path string
---@param dest string must not exist
---@return { bytes: integer, sha256: string, mime: string }? copied
---@return string? err
---@return string? id
---@return table? fields
function Source:copy(path, dest) end

---@async
---@param folder string "" for everything
---@param dest string must not exist
---@return { bytes: integer, sha256: string, mime: string }? zipped
---@return string? err
---@return string? id
---@return table? fields
function Source:zip(folder, dest) end

function Source:close() end

local M = {}

---@async
---@param file string|host.File
---@return string? hex
---@return string? err
---@return string? id
---@return table? fields
function M.digest(file) end

---@param bytes string
---@return string hex
function M.digest_bytes(bytes) end

---@async
---@param folder string
---@param limits { maxFiles: integer?, maxFileBytes: integer?, maxOutputBytes: integer? }?
---@return host.Source? source
---@return string? err
---@return string? id
---@return table? fields
function M.scan(folder, limits) end

---@param name string
---@return string? composed
---@return string? reason
function M.name(name) end

---@param bytes string the first of a file
---@return string? mime
function M.sniff(bytes) end

return M
