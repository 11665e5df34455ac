--- Deletes what a command names, one after another; on a terminal each is asked about.
local json = require "std.json"
local text = require "std.text"
local question = require "alisio.ui.cli.lib.question"

---@async
---@param ctx table
---@param args table   ids; yes: nothing is asked
---@param said table   ask, kept and deleted, with places for id and title
---@param find fun(id: string): string?, string?, string?, table?     its title
---@param delete fun(id: string): boolean?, string?, string?, table?
---@return nil, string? message, string? id, table? fields
return function(ctx, args, said, find, delete)
  local deleted = json.array {}
  for _, wanted in ipairs(args) do
    local title, message, id, fields = find(wanted)
    if not title then
      return nil, message, id, fields
    elseif not (args.yes or question.confirm(ctx:text(said.ask, { id = wanted, title = text.visible(title) }), true)) then
      return nil, ctx:text(said.kept, { id = wanted }), "permission_denied"
    end
    local ok
    ok, message, id, fields = delete(wanted)
    if not ok then
      return nil, message, id, fields
    end
    deleted[#deleted + 1] = wanted
    if not ctx.json then
      ctx:say(said.deleted, { id = wanted })
    end
  end
  if ctx.json then
    ctx:print { deleted = deleted }
  end
end
