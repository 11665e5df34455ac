--- Reads a text file of the workspace, or a part of it by lines.
local digest = require("std.artifact").digest_bytes
local place = require "alisio.agent.place"

local MAX_FILE = 16 * 1024 * 1024 -- read whole, so that the hash is that of the file
local MAX_SHOWN = 64 * 1024

local function cut(bytes, first, count)
  local from, line = 1, 1
  while line < first do
    local stop = bytes:find("\n", from, true)
    if not stop then
      return "", line
    end
    from, line = stop + 1, line + 1
  end
  local to, shown = from - 1, 0
  while shown < count do
    local stop = bytes:find("\n", to + 1, true)
    to = stop or #bytes
    shown = shown + 1
    if not stop or to - from >= MAX_SHOWN then
      break
    end
  end
  local text = bytes:sub(from, to)
  if #text > MAX_SHOWN then
    text = text:sub(1, (utf8.offset(text, 0, MAX_SHOWN + 1) or MAX_SHOWN + 1) - 1)
    return text, first + shown - 1, true
  end
  return text, first + shown - 1, to < #bytes
end

return {
  name = "read_file",
  description = "Reads a text file of the folder. Gives its SHA-256, which edit_file asks for, and its text; "
    .. "a long file comes in parts by line.",
  effect = "read",
  input = {
    path = { "string", "the file, relative to the folder" },
    line = { "integer?", "first line to read, from 1", minimum = 1 },
    lines = { "integer?", "how many lines", minimum = 1 },
  },
  run = function(args, call)
    local rel, stat, id = place.find(call, args.path)
    if not rel then
      return nil, stat, id
    elseif stat.type == "dir" then
      return nil, args.path .. " is a folder; use list_files", "not_found"
    elseif stat.type ~= "file" then
      return nil, args.path .. " is not a regular file", "not_found"
    elseif stat.size > MAX_FILE then
      return nil, ("%s has %d bytes, more than the %d that are read; use data_inspect for tables, search_text for text")
        :format(args.path, stat.size, MAX_FILE), "io_error"
    end
    local bytes, message
    bytes, message, id = call.workspace:read(rel, { maxBytes = MAX_FILE })
    if not bytes then
      return nil, message, id
    elseif place.is_binary(bytes) then
      return { text = ("%s is a binary file of %d bytes; it is not shown."):format(args.path, #bytes), isError = true }
    end
    local first = args.line or 1
    local shown, last, more = cut(bytes, first, args.lines or math.maxinteger)
    local head = ("%s, %d bytes, sha256 %s"):format(args.path, #bytes, digest(bytes))
    if more or first > 1 then
      head = head .. (", lines %d to %d%s"):format(first, last, more and "; there is more" or "")
    end
    return head .. "\n" .. shown
  end,
}
