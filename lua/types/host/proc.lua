---@meta host.proc
-- Programs, as std.process uses them.

---@class host.Process
local Process = {}

---@async
---@return 1|2|nil stream
---@return string? bytes  nil at the end of both
function Process:read() end

---@async
---@param bytes string
---@return true? done
---@return string? err
---@return string? id
---@return table? fields
function Process:write(bytes) end

---@async
---@return table? outcome { reason, code?, signal?, … }
---@return string? err
---@return string? id
---@return table? fields
function Process:wait() end

function Process:close_stdin() end

--- All of the input: it is written, then ended, without anybody waiting for it.
---@param bytes string
---@return boolean? ok
---@return string? err
---@return string? id
function Process:feed(bytes) end

function Process:stop() end

---@return integer? pid
function Process:pid() end

local M = {}

--- Whether this system ends what a program leaves behind.
---@type boolean
M.orphans = nil

---@param options table { argv, env?, cwd?, stdin?, timeoutMs?, graceMs?, limits?, mark? }
---@return host.Process? process
---@return string? err
---@return string? id
---@return table? fields
function M.spawn(options) end

---@return table<string, string>
function M.environ() end

return M
