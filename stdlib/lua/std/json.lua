--- JSON, strictly by RFC 8259. Integers stay integers, null is a value of its own, and an array
--- remembers that it is one, so that `[]` comes back as `[]`.
local json = require "host.json"

local M = {}

--- What JSON's null is in Lua.
M.null = json.null

--- Writes a value, keys sorted. Raises for a function, a cycle, or a table whose keys mix strings and
--- numbers. An unmarked empty table is `{}`; one with the keys 1 to n is an array; NaN and the
--- infinities become strings; bytes that are not UTF-8 become U+FFFD.
---@param value any
---@param options? { pretty: boolean? }
---@return string
M.encode = json.encode

--- Reads one JSON text. Of a repeated key the last value stays.
---@param text string
---@param options? { maxDepth: integer?, maxBytes: integer? }  levels (at most 128) and bytes allowed
---@return any value   nil when the text is not JSON
---@return string? err
---@return string? id
---@return table? fields  line and column of the mistake
M.decode = json.decode

--- Marks a table as an array, also while it is empty.
---@param t? table  a new table when left out
---@return table t
M.array = json.array

--- Whether encode would write it as an array.
---@param v any
---@return boolean
M.is_array = json.is_array

--- Text that is JSON already; encode copies it unchecked.
---@param text string
---@return table
M.raw = json.raw

return M
