--- What a command returns when it fails: the sentence of the error in the language of the run.
local words = require "alisio.kernel.words"

--- Words for what the layers below returned. Their own message stays where they say nothing more.
---@param ctx table
---@param message string
---@param id string?
---@param fields table?
---@return nil, string message, string? id, table? fields
return function(ctx, message, id, fields)
  if id and fields then
    message = words.error(ctx.locale, id, fields)
  end
  return nil, message, id, fields
end
