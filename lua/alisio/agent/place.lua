--- Paths the model gives: beneath the workspace, or refused.
local digest = require("std.artifact").digest_bytes
local fs = require "std.fs"
local path = require "std.path"
local text = require "std.text"

local M = {}

local MAX_OLD = 64 * 1024 * 1024

-- The real path of what stands at a place, or of the nearest folder above it with the rest.
local function real(file)
  local rest = ""
  while true do
    local found = fs.realpath(file)
    if found then
      return path.clean(found .. rest)
    elseif path.dirname(file) == file then
      return path.clean(file .. rest)
    end
    file, rest = path.dirname(file), "/" .. path.basename(file) .. rest
  end
end

local function beneath(file, folder)
  return file == folder or file:sub(1, #folder + 1) == folder .. "/"
end

--- Whether a path of the workspace lies in Alisio's own folders: where the workspace is the user's
--- home, keys, grants and init.lua are in it. A workspace inside of them is someone's choice.
---@param call table
---@param rel string
---@return boolean
function M.is_own(call, rel)
  local runtime = call.session.runtime
  for _, name in ipairs { "config_dir", "state_dir" } do
    local own = real(runtime[name] or "/") -- an embedding program may have no configuration
    if beneath(own, call.cwd) and own ~= call.cwd and beneath(real(path.join(call.cwd, rel)), own) then
      return true
    end
  end
  return false
end

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
  elseif M.is_own(call, rel) then
    return nil, given .. " belongs to Alisio itself: its sessions, settings and keys are not for tools", "permission_denied"
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

--- The file that a write would replace, as an answer is bound to it: nil and no message when there is
--- nothing.
---@async
---@param call table
---@param rel string
---@return { size: integer, sha256: string }? old
---@return string? message
---@return string? id
function M.present(call, rel)
  local stat = M.stat(call, rel)
  if not stat then
    return nil
  end
  local bytes, message, id = call.workspace:read(rel, { maxBytes = MAX_OLD })
  if not bytes then
    return nil, message, id
  end
  return { size = stat.size, sha256 = digest(bytes) }
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

-- What is in them was made by a program, and there is much of it.
local skipped = { [".git"] = true, ["node_modules"] = true, [".venv"] = true, ["__pycache__"] = true }

--- Whether a walk leaves out what it came to: folders of programs, and Alisio's own.
---@param call table
---@param rel string
---@param entry table
---@return boolean
function M.skips(call, rel, entry)
  return skipped[entry.name] or M.is_own(call, rel)
end

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

-- One character, or a byte that belongs to none.
local function char_at(s, at)
  return s:match("^" .. utf8.charpattern, at) or s:sub(at, at)
end

-- The parts of a glob: a character, `?`, `*`, `**`, or `**/` (any number of whole folders).
local function parts_of(glob)
  local parts, at = {}, 1
  while at <= #glob do
    local stars = glob:match("^%*%*+/?", at)
    local part = stars or char_at(glob, at)
    parts[#parts + 1] = stars and stars:gsub("%*+", "**") or part
    at = at + #part
  end
  return parts
end

local may_be_empty = { ["*"] = true, ["**"] = true, ["**/"] = true }

-- Adds a place in the parts, and those behind parts that may stand for nothing.
local function enter(places, parts, i)
  while not places[i] do
    places[i] = true
    if not may_be_empty[parts[i]] then
      return
    end
    i = i + 1
  end
end

--- Whether a path fits a glob: `*` and `?` stay in one folder, `**` crosses folders; a glob without a
--- slash is matched against the name alone. All places a match may be at are followed at once, so
--- that no glob takes long.
---@param glob string
---@param rel string
---@return boolean
function M.matches(glob, rel)
  local subject = glob:find("/", 1, true) and rel or path.basename(rel)
  local parts, places, at = parts_of(glob), {}, 1
  enter(places, parts, 1)
  while at <= #subject do
    local char, after = char_at(subject, at), {}
    for i in pairs(places) do
      local part = parts[math.abs(i)]
      if part == "**/" and char ~= "/" then
        after[-math.abs(i)] = true -- inside a folder's name: not behind it yet
      elseif part == "**" or part == "**/" or part == "*" and char ~= "/" then
        enter(after, parts, math.abs(i))
      elseif part == char or part == "?" and char ~= "/" then
        enter(after, parts, i + 1)
      end
    end
    places, at = after, at + #char
  end
  return places[#parts + 1] == true
end

return M
