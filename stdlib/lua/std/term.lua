--- The terminal: what it is, how large, what it shows, and keys one by one.
local fs = require "host.fs"
local term = require "host.term"

local M = {}

-- One role is one meaning everywhere; a colour is never the only sign of it.
local ROLES = {
  text = "", quiet = "2", strong = "1", accent = "36",
  done = "32", waiting = "33", failed = "31", selected = "7",
}

--- Whether a descriptor is a terminal.
---@param fd integer  0, 1 or 2
---@return boolean
M.is_tty = term.is_tty

--- The size of a terminal; 80 by 24 where it does not say.
---@param fd integer
---@return integer columns
---@return integer rows
function M.size(fd)
  local columns, rows = term.size(fd)
  if columns then
    return columns, rows
  end
  return tonumber(fs.env "COLUMNS") or 80, tonumber(fs.env "LINES") or 24
end

--- Turns echo and line editing off until the handle is closed. The terminal is given back at the end
--- of the process too, however it ends (but by SIGKILL).
---@param fd integer
---@param options? { signals: boolean?, screen: integer? }  signals = false: Ctrl-C and Ctrl-Z are keys,
---       not signals; screen: the descriptor to which a whole screen will be drawn: the terminal shows its
---       other screen, without a cursor, and goes back to the first with the handle
---@return table? handle  close it, or hold it in a <close> variable
---@return string? err
---@return string? id
M.raw = term.raw

--- Waits for a key.
---@async
---@param handle table        from raw
---@param timeoutMs? integer  milliseconds; without end when left out
---@return { key: string, ctrl: boolean, alt: boolean, shift: boolean }?  key: a character, or "Enter", "Escape", "Tab", "Backspace", "Up", "PageDown", "F1", …
---@return string? err
---@return string? id  "timeout", or "end" when the input is over
M.read_key = term.read_key

local lost -- the first failure of M.write: { message, id }

--- Writes to standard output, behind what print left there.
---@param s string
---@return boolean? ok
---@return string? err
---@return string? id
function M.write(s)
  local ok, err, id, fields = term.write(1, s)
  lost = lost or not ok and { err, id, fields } or nil
  return ok, err, id, fields
end

--- Why something written to standard output did not get there; nothing when all did. A program that
--- ends well has to look.
---@return string? err
---@return string? id
---@return table? fields
function M.lost()
  return table.unpack(lost or {}, 1, 3)
end

--- Writes to standard error.
---@param s string
---@return boolean? ok
---@return string? err
---@return string? id
function M.werr(s)
  return term.write(2, s)
end

--- Whether to colour what goes to a descriptor: a terminal that is not dumb, and NO_COLOR not set.
---@param fd integer
---@return boolean
function M.color(fd)
  local no = fs.env "NO_COLOR"
  return M.is_tty(fd) and (not no or no == "") and (fs.env "TERM" or "dumb") ~= "dumb"
end

--- Whether the locale of the environment is UTF-8.
---@return boolean
function M.utf8()
  local function set(name)
    local value = fs.env(name)
    return value ~= "" and value or nil
  end
  local locale = set "LC_ALL" or set "LC_CTYPE" or set "LANG" or ""
  return locale:lower():gsub("-", ""):find("utf8", 1, true) ~= nil
end

--- Text in the colour of a role. Raises on an unknown role.
---@param s string
---@param role "text"|"quiet"|"strong"|"accent"|"done"|"waiting"|"failed"|"selected"
---@return string
function M.style(s, role)
  local code = ROLES[role] or error("no role is called " .. tostring(role), 2)
  if code == "" or s == "" then
    return s
  end
  return "\27[" .. code .. "m" .. s .. "\27[0m"
end

return M
