--- Replaces one text in a file of the workspace: it must stand there exactly once, and the file must
-- still be the one that was read.
local digest = require("std.artifact").digest_bytes
local words = require "alisio.kernel.words"
local place = require "alisio.agent.place"

local MAX_FILE = 16 * 1024 * 1024

local function marked(text, mark)
  return (mark .. " " .. text:gsub("\n", "\n" .. mark .. " "))
end

--- The file with the text replaced, or why not.
local function change(args, call)
  local rel, message, id = place.relative(call, args.path)
  if not rel then
    return nil, message, id
  end
  local bytes, more
  bytes, more, id = call.workspace:read(rel, { maxBytes = MAX_FILE })
  if not bytes then
    return nil, more, id
  elseif more == true then
    return nil, ("%s is larger than the %d bytes that can be edited"):format(args.path, MAX_FILE), "io_error"
  end
  local sha = digest(bytes)
  if sha ~= args.sha256:lower() then
    return nil, ("%s is not the file that was read, its sha256 is %s; read it again"):format(args.path, sha), "io_error"
  end
  local first, last = bytes:find(args.old, 1, true)
  if not first then
    return nil, "the old text does not stand in " .. args.path .. "; it must match exactly, spaces and line ends too",
      "not_found"
  end
  local again = bytes:find(args.old, first + 1, true)
  if again then
    local _, line = bytes:sub(1, again):gsub("\n", "")
    return nil, ("the old text stands in %s more than once (again at line %d); take more around it")
      :format(args.path, line + 1), "io_error"
  end
  return { rel = rel, first = first, text = bytes:sub(1, first - 1) .. args.new .. bytes:sub(last + 1), bytes = bytes }
end

return {
  name = "edit_file",
  description = "Replaces a text in a file of the folder. `old` must stand in it exactly once; `sha256` is the "
    .. "file's hash as read_file gave it.",
  effect = "write",
  capability = "workspace.write",
  input = {
    path = { "string", "the file, relative to the folder" },
    sha256 = { "string", "hash of the file as it was read", minLength = 64, maxLength = 64 },
    old = { "string", "text to replace, exactly", minLength = 1 },
    new = { "string", "text to put there" },
  },
  approval = function(input, call)
    local changed, message, id = change(input, call)
    if not changed then
      return nil, message, id
    end
    local locale = call.session.locale
    local _, line = changed.bytes:sub(1, changed.first - 1):gsub("\n", "")
    return {
      title = words.t(locale, "approval.edit_file", { path = changed.rel, line = line + 1 }),
      script = marked(input.old, "-") .. "\n" .. marked(input.new, "+"),
      sha256 = digest(table.concat({ "edit_file", changed.rel, input.sha256:lower(), input.old, input.new }, "\0")),
      guarantees = { words.t(locale, "approval.inside_folder") },
    }
  end,
  run = function(args, call)
    local changed, message, id = change(args, call)
    if not changed then
      return nil, message, id
    end
    local ok
    ok, message, id = call.workspace:write(changed.rel, changed.text, {})
    if not ok then
      return nil, message, id
    end
    return ("edited %s, now %d bytes, sha256 %s"):format(changed.rel, #changed.text, digest(changed.text))
  end,
}
