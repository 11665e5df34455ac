---@meta host.http
-- Transfers and server-sent events, as std.http uses them.

---@class host.Transfer
local Transfer = {}

---@async
---@return integer? status
---@return table|string headers  or the error
---@return string? id
---@return table? fields
function Transfer:head() end

---@async
---@return string? bytes  nil alone at the end
---@return string? err
---@return string? id
---@return table? fields
function Transfer:read() end

function Transfer:close() end

---@class host.SseParser
local SseParser = {}

---@param bytes string
---@return { event: string, data: string, id: string?, retry: integer? }[]? events
---@return string? err
---@return string? id
---@return table? fields
function SseParser:feed(bytes) end

---@return { event: string, data: string }? event that stood unfinished
function SseParser:finish() end

local M = {}

---@param ... any what std.http hands over
---@return host.Transfer? transfer
---@return string? err
---@return string? id
---@return table? fields
function M.start(...) end

---@param lineMax integer?
---@param eventMax integer?
---@return host.SseParser
function M.sse_parser(lineMax, eventMax) end

return M
