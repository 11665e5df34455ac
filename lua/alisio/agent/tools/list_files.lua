--- Lists the files of the workspace.
local fs = require "std.fs"
local text = require "std.text"
local place = require "alisio.agent.place"

local MAX_ENTRIES = 500

return {
  name = "list_files",
  description = "Lists the files of the folder and the folders in it, sorted by name, with their sizes. "
    .. "`glob` keeps what fits (`*.csv`, `src/**/*.lua`).",
  effect = "read",
  input = {
    path = { "string?", "folder to list, relative; the whole folder when left out" },
    glob = { "string?", "pattern a path must fit" },
    recursive = { "boolean?", "also what lies in folders; true unless said otherwise" },
  },
  run = function(args, call)
    local rel, message, id = place.folder(call, args.path)
    if not rel then
      return nil, message, id
    end
    local lines, total, left_out = {}, 0, {}
    for file, entry in fs.walk(call.workspace, rel, function(path, entry)
      if place.skips(call, path, entry) then
        left_out[#left_out + 1] = text.visible(path)
        return false
      end
      return args.recursive ~= false
    end) do
      local fits = not args.glob or (entry.type ~= "dir" and place.matches(args.glob, file))
      if fits then
        total = total + 1
        if total <= MAX_ENTRIES then
          file = text.visible(file) -- one entry is one line, whatever its name holds
          lines[total] = entry.type == "dir" and file .. "/"
            or entry.type == "file" and ("%s  %d bytes"):format(file, entry.size)
            or ("%s  (%s)"):format(file, entry.type)
        end
      end
    end
    if total == 0 then
      return "nothing there" .. (args.glob and " fits " .. args.glob or "")
    end
    if total > MAX_ENTRIES then
      lines[#lines + 1] = ("[cut: %d of %d entries are not shown; narrow it with path or glob]")
        :format(total - MAX_ENTRIES, total)
    end
    if #left_out > 0 then
      lines[#lines + 1] = "[not entered: " .. table.concat(left_out, ", ") .. "]"
    end
    return table.concat(lines, "\n")
  end,
}
