--- A list of records as a command shows it: as JSON, as a table, or the words that there is none.
local json = require "std.json"
local table_lines = require "alisio.ui.cli.lib.table"

local M = {}

--- Shows records.
---@param ctx table
---@param name string     of the list in JSON
---@param list table[]
---@param shape { none: table, heads: table<string, string[]>, row: (fun(record: table): string[]), right: table?, whole: table? }
---   none: words where the list is empty; heads: by language; right, whole: see lib.table
function M.show(ctx, name, list, shape)
  if ctx.json then
    ctx:print { [name] = json.array(list) }
  elseif #list == 0 then
    ctx:say(shape.none)
  else
    local rows = { shape.heads[ctx.locale] }
    for i, record in ipairs(list) do
      rows[i + 1] = shape.row(record)
    end
    ctx:out(table_lines.draw(rows, shape.right or {}, shape.whole))
  end
end

return M
