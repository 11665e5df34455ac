-- A tool of one's own: it reads a file of the session's folder, and of no other.
local alisio = require "alisio"

local MAX_BYTES = 16 * 1024 * 1024

local function count(text, pattern)
  return select(2, text:gsub(pattern, ""))
end

alisio.tool {
  name = "word_count",
  description = "Counts the lines and words of a text file of the folder.",
  effect = "read",
  input = { path = { "string", "the file, relative to the folder" } },
  run = function(args, call)
    -- What a path may name is the workspace's business: `..`, absolute paths and links that lead out are refused.
    local text, more, id = call.workspace:read(args.path, { maxBytes = MAX_BYTES })
    if not text then
      return nil, more, id                -- the model reads why
    elseif more then
      return nil, ("%s is longer than %d bytes"):format(args.path, MAX_BYTES), "io_error"
    end
    return ("%s: %d lines, %d words"):format(args.path, count(text, "[^\n]*\n") + count(text, "[^\n]$"), count(text, "%S+"))
  end,
}
