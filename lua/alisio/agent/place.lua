--- Paths the model gives: beneath the workspace, or refused.
local path = require "std.path"
local text = require "std.text"

local M = {}

--- The path of a tool's input, relative to the workspace.
---@param call table
---@param given string?  relative, or absolute beneath the workspace; nil is the workspace itself
---@return string? rel
---@return string? message
---@return string? id
function M.relative(call, given)
  if not given or given == "" then
    return "."
  end
  if given:find("\0", 1, true) then
    return nil, "a path holds no NUL byte", "not_found"
  end
  local rel = given
  if path.is_absolute(given) then
    rel = path.relative(path.clean(given), call.cwd)
  end
  rel = path.clean(rel)
  if rel == ".." or rel:sub(1, 3) == "../" or path.is_absolute(rel) then
    return nil, given .. " is outside the folder of this session (" .. call.cwd .. ")", "permission_denied"
  end
  return rel
end

--- What stands at a path of the workspace.
---@param call table
---@param rel string
---@return table? stat
---@return string? message
---@return string? id
function M.stat(call, rel)
  if rel == "." then
    return { type = "dir", size = 0 }
  end
  return call.workspace:stat(rel)
end

--- The path of a tool's input where something stands, and what.
---@param call table
---@param given string?
---@return string? rel
---@return table|string|nil stat  or the message
---@return string? id
function M.find(call, given)
  local rel, message, id = M.relative(call, given)
  if not rel then
    return nil, message, id
  end
  local stat
  stat, message, id = M.stat(call, rel)
  if not stat then
    return nil, message, id
  end
  return rel, stat
end

--- The path of a tool's input where a folder stands.
---@param call table
---@param given string?
---@return string? rel
---@return string? message
---@return string? id
function M.folder(call, given)
  local rel, stat, id = M.find(call, given)
  if not rel then
    return nil, stat, id
  elseif stat.type ~= "dir" then
    return nil, given .. " is not a folder", "not_found"
  end
  return rel
end

--- Folders that are not entered: what is in them was made by a program, and there is much of it.
M.SKIPPED = { [".git"] = true, ["node_modules"] = true, [".venv"] = true, ["__pycache__"] = true }

--- Whether bytes are those of a binary file: a NUL, or not UTF-8, near the beginning.
---@param bytes string
---@return boolean
function M.is_binary(bytes)
  local head = bytes:sub(1, 8192)
  if head:find("\0", 1, true) then
    return true
  end
  -- A character may be cut at the end of the sample.
  for drop = 0, 3 do
    if text.valid(head:sub(1, #head - drop)) then
      return false
    end
  end
  return true
end

-- A glob as a Lua pattern: `*` and `?` stay in one folder, `**` crosses folders.
local function pattern_of(glob)
  local out = glob:gsub("[%^%$%(%)%%%.%[%]%+%-]", "%%%0")
  out = out:gsub("%*%*/", "\1"):gsub("%*%*", "\2"):gsub("%*", "[^/]*"):gsub("%?", "[^/]")
  out = out:gsub("\1", ".-"):gsub("\2", ".*")
  return "^" .. out .. "$"
end

--- Whether a path fits a glob; one without a slash is matched against the name alone.
---@param glob string
---@param rel string
---@return boolean
function M.matches(glob, rel)
  local subject = glob:find("/", 1, true) and rel or path.basename(rel)
  return subject:find(pattern_of(glob)) ~= nil
end

return M
