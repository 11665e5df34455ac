--- Finds a text in the files of the workspace. The text is taken as it stands: a pattern could run
-- for ever inside one call.
local fs = require "std.fs"
local std_text = require "std.text"
local place = require "alisio.agent.place"

local MAX_FILE = 16 * 1024 * 1024
local MAX_HITS = 200
local MAX_LINE = 240

local function shorten(line)
  if #line > MAX_LINE then
    line = line:sub(1, (utf8.offset(line, 0, MAX_LINE + 1) or MAX_LINE + 1) - 1) .. "…"
  end
  return line
end

--- Adds the lines of a file that hold the text; returns how many there were.
local function search(rel, bytes, needle, fold, hits)
  local found, number, from = 0, 0, 1
  while from <= #bytes do
    local stop = bytes:find("\n", from, true) or #bytes + 1
    number = number + 1
    local line = bytes:sub(from, stop - 1)
    if (fold and std_text.fold(line) or line):find(needle, 1, true) then
      found = found + 1
      if #hits < MAX_HITS then
        hits[#hits + 1] = ("%s:%d: %s"):format(std_text.visible(rel), number, shorten(line:gsub("\r$", "")))
      end
    end
    from = stop + 1
  end
  return found
end

return {
  name = "search_text",
  description = "Finds lines that hold a text, literally, in the files of the folder. Gives file:line: text.",
  effect = "read",
  input = {
    text = { "string", "what to find", minLength = 1 },
    path = { "string?", "file or folder to search, relative" },
    glob = { "string?", "only files that fit (`*.md`)" },
    ignoreCase = { "boolean?", "also ignore accents and case" },
  },
  run = function(args, call)
    local rel, stat, id = place.find(call, args.path)
    if not rel then
      return nil, stat, id
    end
    local needle = args.ignoreCase and std_text.fold(args.text) or args.text
    local hits, found, files, large = {}, 0, 0, {}
    local function one(file, size)
      if size > MAX_FILE then
        large[#large + 1] = std_text.visible(file)
        return
      end
      local bytes = call.workspace:read(file, { maxBytes = MAX_FILE })
      if bytes and not place.is_binary(bytes) then
        files = files + 1
        found = found + search(file, bytes, needle, args.ignoreCase, hits)
      end
    end
    if stat.type == "file" then
      one(rel, stat.size)
    else
      for file, entry in fs.walk(call.workspace, rel, function(path, entry)
        return not place.skips(call, path, entry)
      end) do
        if entry.type == "file" and (not args.glob or place.matches(args.glob, file)) then
          one(file, entry.size)
        end
      end
    end
    if found == 0 then
      hits[1] = ("no line holds it; %d text files were read"):format(files)
    elseif found > MAX_HITS then
      hits[#hits + 1] = ("[cut: %d of %d lines are not shown; narrow it with path or glob]")
        :format(found - MAX_HITS, found)
    end
    if #large > 0 then
      hits[#hits + 1] = "[not read, too large: " .. table.concat(large, ", ", 1, math.min(#large, 20)) .. "]"
    end
    return table.concat(hits, "\n")
  end,
}
