--- Writes a file of the workspace, whole or not at all.
local digest = require("std.artifact").digest_bytes
local words = require "alisio.kernel.words"
local place = require "alisio.agent.place"

--- What an answer is bound to: the words, the place, and the file that would be replaced.
local function identity(input, rel, old)
  return digest(table.concat({ "write_file", rel, old and old.sha256 or "", input.content }, "\0"))
end

return {
  name = "write_file",
  description = "Writes a text file of the folder, with the folders it needs. To replace a file that is there, "
    .. "say overwrite; to change a part of one, use edit_file.",
  effect = "write",
  capability = "workspace.write",
  input = {
    path = { "string", "the file, relative to the folder" },
    content = { "string", "its whole text" },
    overwrite = { "boolean?", "replace a file that is there" },
  },
  approval = function(input, call)
    local rel, message, id = place.relative(call, input.path)
    if not rel then
      return nil, message, id
    end
    local old
    old, message, id = place.present(call, rel)
    if message then
      return nil, message, id
    end
    local key = old and "approval.replace_file" or "approval.write_file"
    local locale = call.session.locale
    return {
      title = words.t(locale, key, { path = rel, size = old and old.size }),
      script = input.content,
      sha256 = identity(input, rel, old),
      guarantees = { words.t(locale, "approval.inside_folder") },
    }
  end,
  run = function(args, call)
    local rel, message, id = place.relative(call, args.path)
    if not rel then
      return nil, message, id
    elseif rel == "." then
      return nil, "name a file, not the folder", "not_found"
    end
    local stat = place.stat(call, rel)
    if stat and stat.type ~= "file" then
      return nil, args.path .. " is there and is not a file", "io_error"
    elseif stat and not args.overwrite then
      return nil, args.path .. " is there already; say overwrite to replace it, or use edit_file", "io_error"
    end
    local old
    old, message, id = place.present(call, rel)
    if message then
      return nil, message, id
    elseif call.granted and call.granted.sha256 ~= identity(args, rel, old) then
      return nil, args.path .. " changed since the question was answered", "permission_denied"
    end
    local ok
    ok, message, id = call.workspace:write(rel, args.content, { parents = true, exclusive = not args.overwrite })
    if not ok then
      return nil, message, id
    end
    local verb = stat and "replaced" or "wrote"
    return ("%s %s, %d bytes, sha256 %s"):format(verb, rel, #args.content, digest(args.content))
  end,
}
