--- Output folders that somebody else wrote, digests, and types by leading bytes.
---
--- A scan lists a folder and keeps it open; what is read from it later must still be the very file
--- that was listed. Everything that is not a plain file, and any limit, refuses the whole folder with
--- the id "artifact_rejected" and fields.reason: symlink, hardlink, special_file, hidden, bad_path,
--- bad_name, name_clash, missing, empty, unreadable, depth, maxFiles, maxFileBytes, maxOutputBytes.
local artifact = require "host.artifact"

local M = {}

---@class std.artifact.Source
---@field list fun(self): { path: string, bytes: integer, dir: boolean }[]  sorted; paths are NFC
---@field read fun(self, path: string): string?, string?, string?, table?  waits
---@field copy fun(self, path: string, dest: string): std.artifact.Copied?, string?, string?, table?  dest must be new; synced; waits
---@field zip fun(self, folder: string, dest: string): std.artifact.Copied?, string?, string?, table?  the same bytes for the same files; folder "": all; waits
---@field close fun(self)

---@class std.artifact.Copied
---@field bytes integer
---@field sha256 string
---@field mime string?  what the leading bytes say

--- Lists a folder. The folder itself must not be a link.
---@async
---@param folder string
---@param limits? { maxFiles: integer?, maxFileBytes: integer?, maxOutputBytes: integer? }
---@return std.artifact.Source?
---@return string? err
---@return string? id
---@return table? fields  reason, and object: the path
M.scan = artifact.scan

--- SHA-256 of a file.
---@async
---@param path string|std.fs.File
---@return string? hex
---@return string? err
---@return string? id
M.digest = artifact.digest

--- SHA-256 of a string.
---@param bytes string
---@return string hex
M.digest_bytes = artifact.digest_bytes

--- The composed form (NFC) of a file's name, if it may be kept: UTF-8, one part, not hidden, without
--- control characters, without a space at its end, at most 255 bytes.
---@param name string
---@return string?
---@return string? reason  hidden, bad_name
M.name = artifact.name

--- The type the leading bytes of a file tell; "text/plain" for any text.
---@param bytes string  the first 4096 are looked at
---@return string? mime
M.sniff = artifact.sniff

return M
