---@meta host.engine
-- A process of the engine, as std.dataset uses it.

---@class host.Engine
local Engine = {}

---@param json string the request
---@param files host.File[]
---@param timeoutMs integer?
---@return true? sent
---@return string? err
---@return string? id
---@return table? fields
function Engine:send(json, files, timeoutMs) end

---@async
---@param raw boolean? rows as text
---@return "progress"|"result"|"rows"|nil kind
---@return any body  JSON; of rows a list, or their text
---@return any count  of rows; or the error's id
---@return any width  columns of a row; or the error's fields
function Engine:next(raw) end

---@return boolean
function Engine:alive() end

---@return boolean
function Engine:busy() end

---@return integer?
function Engine:pid() end

function Engine:close() end

---@class host.Output: host.File
local Output = {}

---@async
---@return true? done  the handle is closed in any case
---@return string? err
---@return string? id
---@return table? fields
function Output:commit() end

local M = {}

---@param tmp string folder of the engine's nameless files
---@param program string? the one that came with this program
---@return host.Engine? engine
---@return string? err
---@return string? id
---@return table? fields
function M.start(tmp, program) end

---@async
---@param path string where the file appears when it is committed
---@return host.Output? file
---@return string? err
---@return string? id
---@return table? fields
function M.output(path) end

return M
