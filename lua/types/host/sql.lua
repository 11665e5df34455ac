---@meta host.sql
-- SQLite connections, as std.sql uses them.

---@class host.Sql
local Sql = {}

---@async
---@param sql string
---@return true? done
---@return string? err
---@return string? id
---@return table? fields
function Sql:exec(sql) end

---@async
---@param sql string
---@param ... any parameters
---@return { changes: integer, lastId: integer }? done
---@return string? err
---@return string? id
---@return table? fields
function Sql:run(sql, ...) end

---@async
---@param sql string
---@param ... any parameters
---@return table[]? rows
---@return host.SqlCursor|string|nil cursor  when more follow; or the error
---@return string? id
---@return table? fields
function Sql:query(sql, ...) end

---@async
---@return true? done
---@return string? err
---@return string? id
---@return table? fields
function Sql:begin() end

---@async
---@return true? done
---@return string? err
---@return string? id
---@return table? fields
function Sql:commit() end

---@param owner userdata
function Sql:rollback(owner) end

---@return userdata? owner of the running task
function Sql:owner() end

---@async
---@return true? done
---@return string? err
---@return string? id
---@return table? fields
function Sql:close() end

---@class host.SqlCursor
local SqlCursor = {}

---@async
---@return table[]? rows
---@return boolean|string finished  or the error
---@return string? id
---@return table? fields
function SqlCursor:next() end

function SqlCursor:close() end

local M = {}

---@async
---@param path string
---@param readonly boolean?
---@param wal boolean?
---@param private boolean?
---@param busyMs integer?
---@return host.Sql? db
---@return string? err
---@return string? id
---@return table? fields
function M.open(path, readonly, wal, private, busyMs) end

return M
