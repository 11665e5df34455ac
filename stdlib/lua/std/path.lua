--- Paths as text. Nothing here touches the file system.
local text = require "host.text"

local M = {}

--- Joins parts with single slashes. An absolute part starts again; empty parts are skipped.
---@param ... string
---@return string
function M.join(...)
  local out = ""
  for _, part in ipairs { ... } do
    if part:sub(1, 1) == "/" or out == "" then
      out = part
    elseif part ~= "" then
      out = out:gsub("/+$", "") .. "/" .. part
    end
  end
  return out
end

--- Removes double slashes and ".", and resolves ".." as text; never above "/".
---@param path string
---@return string  "." when nothing is left
function M.clean(path)
  local absolute = path:sub(1, 1) == "/"
  local parts = {}
  for part in path:gmatch "[^/]+" do
    if part == ".." and #parts > 0 and parts[#parts] ~= ".." then
      parts[#parts] = nil
    elseif part ~= "." and not (part == ".." and absolute) then
      parts[#parts + 1] = part
    end
  end
  local out = table.concat(parts, "/")
  if absolute then
    return "/" .. out
  end
  return out == "" and "." or out
end

---@param path string
---@return boolean
function M.is_absolute(path)
  return path:sub(1, 1) == "/"
end

--- The last part of a path, without trailing slashes.
---@param path string
---@return string
function M.basename(path)
  return path:gsub("/+$", ""):match "[^/]*$"
end

--- The path without its last part.
---@param path string
---@return string  "." for a bare name, "/" at the top
function M.dirname(path)
  local dir = path:gsub("/+$", ""):match "^(.*)/[^/]*$"
  if not dir then
    return path:sub(1, 1) == "/" and "/" or "."
  end
  dir = dir:gsub("/+$", "")
  return dir == "" and "/" or dir
end

--- The extension of the last part, with its dot, as written: ".csv"; "" without one. A leading dot
--- (".bashrc") begins a name, not an extension.
---@param path string
---@return string
function M.ext(path)
  return M.basename(path):match "^.+(%.[^.]*)$" or ""
end

--- The last part without its extension.
---@param path string
---@return string
function M.stem(path)
  local base = M.basename(path)
  return base:sub(1, #base - #M.ext(base))
end

--- A cleaned absolute path.
---@param path string
---@param base string  absolute folder that a relative path starts from
---@return string
function M.absolute(path, base)
  return M.clean(M.is_absolute(path) and path or M.join(base, path))
end

--- The way from a folder to a path, both absolute.
---@param path string
---@param base string
---@return string  may begin with ".."; "." when both are the same
function M.relative(path, base)
  local to, from = {}, {}
  for part in M.clean(path):gmatch "[^/]+" do
    to[#to + 1] = part
  end
  for part in M.clean(base):gmatch "[^/]+" do
    from[#from + 1] = part
  end
  local same = 0
  while same < #to and same < #from and to[same + 1] == from[same + 1] do
    same = same + 1
  end
  local parts = {}
  for _ = same + 1, #from do
    parts[#parts + 1] = ".."
  end
  table.move(to, same + 1, #to, #parts + 1, parts)
  return #parts == 0 and "." or table.concat(parts, "/")
end

--- A name for a folder or file made from any text: accents dropped, lower case, everything but
--- letters and digits of ASCII a single dash.
---@param s string
---@param max integer  at most so many bytes
---@return string  "x" when nothing is left
function M.slug(s, max)
  local folded = text.fold(s) or s
  local slug = folded:lower():gsub("[^a-z0-9]+", "-"):gsub("^%-+", ""):sub(1, max):gsub("%-+$", "")
  return slug == "" and "x" or slug
end

return M
