--- SQLite databases. Statements run on a worker, in the order they were asked for; the task waits.
---
--- Values: NULL is nil, integers have 64 bits, texts and blobs are strings (`sql.blob` binds one as
--- a blob). A row is a table: `row.name` and `row[i]`, with the number of columns in `row.n`, unless
--- a column is called n. What SQLite or the file refuses is `nil, message, id`: `query_failed`,
--- `session_locked` (another process kept the file too long), `no_space`, `not_found`, `io_error`.
local raw = require "host.sql"

local M = {}

---@class std.sql.Database
local Database = {}
Database.__index = Database
Database.__name = "std.sql.Database"

---@class std.sql.Options
---@field readonly? boolean the file must exist and is not changed
---@field wal? boolean      write-ahead log: readers and one writer side by side
---@field private? boolean  a new file gets mode 0600 whatever the umask
---@field busyMs? integer   how long to wait for a lock of another process, 5000 unless given

--- Opens a database, and makes an empty one where there is none. Commits survive a power cut.
---@async
---@param path string              ":memory:" for one without a file
---@param opts? std.sql.Options
---@return std.sql.Database? db    closes with `db:close()` or as a `<close>` variable
---@return string? err
---@return string? id
function M.open(path, opts)
  opts = opts or {}
  local handle, err, id, fields = raw.open(path, opts.readonly, opts.wal, opts.private, opts.busyMs)
  if not handle then
    return nil, err, id, fields
  end
  return setmetatable({ handle = handle, path = path }, Database)
end

--- Marks bytes to be stored as a blob; a plain string is stored as text.
---@param bytes string
---@return table
function M.blob(bytes)
  if type(bytes) ~= "string" then
    error("a blob is made from a string, got " .. type(bytes), 2)
  end
  return { bytes }
end

--- Runs one or more statements; rows they make are dropped.
---@async
---@param statements string
---@return boolean? ok
---@return string? err
---@return string? id
function Database:exec(statements)
  return self.handle:exec(statements)
end

--- Runs one statement to its end.
---@async
---@param statement string
---@param ... any          one value for each `?`
---@return { changes: integer, lastId: integer }? result rows changed, rowid inserted last
---@return string? err
---@return string? id
function Database:run(statement, ...)
  return self.handle:run(statement, ...)
end

--- Runs one statement and reads its rows as they are asked for: `for row in assert(db:query(…)) do`.
--- Raises in the middle when reading fails there. A loop left early ends the statement.
---@async
---@param statement string
---@param ... any
---@return (fun(): table?)? next  an iterator, or nil
---@return string? err
---@return string? id
function Database:query(statement, ...)
  local rows, cursor, id, fields = self.handle:query(statement, ...)
  if not rows then
    return nil, cursor, id, fields
  end
  local i = 0
  local function next_row()
    i = i + 1
    while cursor and not rows[i] do
      local more, last = cursor:next()
      if not more then
        error(last, 0)
      end
      rows, i = more, 1
      if last then
        cursor = nil
      end
    end
    return rows[i]
  end
  local ended = setmetatable({}, {
    __close = function()
      if cursor then
        cursor:close()
        cursor, rows, i = nil, {}, 0
      end
    end,
  })
  return next_row, nil, nil, ended
end

--- All rows of one statement.
---@async
---@param statement string
---@param ... any
---@return table[]? rows
---@return string? err
---@return string? id
function Database:rows(statement, ...)
  local rows, cursor, id, fields = self.handle:query(statement, ...)
  if not rows then
    return nil, cursor, id, fields
  end
  while cursor do
    local more, last, why, about = cursor:next()
    if not more then
      return nil, last, why, about
    end
    table.move(more, 1, #more, #rows + 1, rows)
    if last then
      break
    end
  end
  return rows
end

--- The first row of one statement; nothing at all, not even an error, when it has none.
---@async
---@param statement string
---@param ... any
---@return table? row
---@return string? err
---@return string? id
function Database:row(statement, ...)
  local rows, cursor, id, fields = self.handle:query(statement, ...)
  if not rows then
    return nil, cursor, id, fields
  end
  if cursor then
    cursor:close()
  end
  return rows[1]
end

--- The first cell of the first row; nil alone when there is no row or the cell is NULL.
---@async
---@param statement string
---@param ... any
---@return any value
---@return string? err
---@return string? id
function Database:value(statement, ...)
  local row, err, id, fields = self:row(statement, ...)
  if not row then
    return nil, err, id, fields
  end
  return row[1]
end

--- Calls fn(db) inside a transaction that can write. Until it ends the database is this task's
--- alone: what other tasks ask of it waits (so fn must not wait for a task that uses it). Commits
--- when fn returns; rolls back when fn raises, when the task is cancelled, and when fn returns nil
--- or false with a message.
---@async
---@param fn fun(db: std.sql.Database): ...
---@return any ...  what fn returned (true for nothing), or nil, message, id
function Database:transaction(fn)
  local handle = self.handle
  local owner = handle:owner()
  if self.owner == owner then
    error("a transaction inside a transaction", 2)
  end
  local open <close> = setmetatable({}, {
    __close = function(guard)
      if self.owner == owner then
        self.owner = nil
      end
      if not guard.committed then
        handle:rollback(owner)
      end
    end,
  })
  local ok, err, id, fields = handle:begin()
  if not ok then
    return nil, err, id, fields
  end
  self.owner = owner
  local results = table.pack(fn(self))
  if not results[1] and results[2] ~= nil then
    return table.unpack(results, 1, results.n)
  end
  ok, err, id, fields = handle:commit()
  if not ok then
    return nil, err, id, fields
  end
  open.committed = true
  if results.n == 0 then
    return true
  end
  return table.unpack(results, 1, results.n)
end

--- Closes the database after what was asked before; closing twice is fine.
---@async
---@return boolean? ok
---@return string? err
---@return string? id
function Database:close()
  return self.handle:close()
end

function Database:__close()
  self.handle:close()
end

return M
