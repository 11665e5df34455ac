---@meta host.term
-- Terminals, as std.term uses them.

---@class host.RawTerminal
local RawTerminal = {}

function RawTerminal:close() end

local M = {}

---@param fd integer
---@return boolean
function M.is_tty(fd) end

---@param fd integer
---@return integer? columns
---@return integer? rows
function M.size(fd) end

---@param fd integer
---@param options { signals: boolean? }?
---@return host.RawTerminal? handle
---@return string? err
---@return string? id
---@return table? fields
function M.raw(fd, options) end

---@async
---@param handle host.RawTerminal
---@param timeoutMs integer?
---@return { key: string, ctrl: boolean?, alt: boolean?, shift: boolean? }? key
---@return string? err
---@return string? id
function M.read_key(handle, timeoutMs) end

---@async
---@param fd integer
---@param text string
---@return true? done
---@return string? err
---@return string? id
---@return table? fields
function M.write(fd, text) end

return M
