--- How to install Python on this system.
local fs = require "std.fs"
local host = require "std.host"
local words = require "alisio.kernel.words"

local M = {}

---@class alisio.InstallHint
---@field system string    apt, dnf, pacman, zypper, apk, brew, winget, old or other
---@field command string?  what to type; nil with old and other
---@field name string?     the system's own name

local COMMANDS = {
  apt = "sudo apt-get install python3",
  dnf = "sudo dnf install python3",
  pacman = "sudo pacman -S python",
  zypper = "sudo zypper install python3",
  apk = "sudo apk add python3",
  brew = "brew install python3",
  winget = "winget install Python.Python.3.13",
}

-- Where a Python comes without its installer of packages, the package that has it.
local PIP = {
  apt = "sudo apt-get install python3-venv",
  dnf = "sudo dnf install python3-pip",
  pacman = "sudo pacman -S python-pip",
  zypper = "sudo zypper install python3-pip",
  apk = "sudo apk add py3-pip",
}

-- The package manager of a system, or of a relative of it (ID and ID_LIKE of os-release).
local MANAGERS = {
  debian = "apt", ubuntu = "apt", linuxmint = "apt", raspbian = "apt",
  fedora = "dnf", rhel = "dnf", centos = "dnf", rocky = "dnf", almalinux = "dnf", amzn = "dnf",
  arch = "pacman", manjaro = "pacman",
  opensuse = "zypper", suse = "zypper", sles = "zypper", ["opensuse-leap"] = "zypper",
  ["opensuse-tumbleweed"] = "zypper",
  alpine = "apk",
}

-- Systems whose plain package is older than 3.10, up to that version: another package, or none.
local OLD = {
  debian = { 11 }, ubuntu = { 21 }, linuxmint = { 20 },
  rhel = { 9, "sudo dnf install python3.11" }, centos = { 9, "sudo dnf install python3.11" },
  rocky = { 9, "sudo dnf install python3.11" }, almalinux = { 9, "sudo dnf install python3.11" },
  amzn = { 2023, "sudo dnf install python3.11" },
  ["opensuse-leap"] = { 15, "sudo zypper install python311" }, sles = { 15, "sudo zypper install python311" },
}

local function parse(os_release)
  local fields = {}
  for line in os_release:gmatch "[^\r\n]+" do
    local key, value = line:match "^([%w_]+)=(.*)$"
    if key then
      fields[key] = value:gsub("^[\"'](.*)[\"']$", "%1")
    end
  end
  return fields
end

local function linux(os_release)
  local fields = parse(os_release)
  local id, version = fields.ID or "", tonumber((fields.VERSION_ID or ""):match "^%d+")
  local hint = { system = "other", name = fields.PRETTY_NAME or fields.NAME }
  for name in (id .. " " .. (fields.ID_LIKE or "")):gmatch "%S+" do
    if MANAGERS[name] then
      hint.system = MANAGERS[name]
      break
    end
  end
  hint.command = COMMANDS[hint.system]
  local old = OLD[id]
  if old and version and version <= old[1] then
    hint.command = old[2]
    hint.system = old[2] and hint.system or "old"
  end
  return hint
end

local function this_system()
  local os = host.platform().os
  if os == "Darwin" then
    return { system = "brew", command = COMMANDS.brew, name = "macOS" }
  elseif os:find "^Windows" or os:find "^MINGW" then
    return { system = "winget", command = COMMANDS.winget, name = "Windows" }
  end
  local text = fs.read("/etc/os-release", { maxBytes = 65536 })
    or fs.read("/usr/lib/os-release", { maxBytes = 65536 })
  return linux(text or "")
end

--- What to type to get Python.
---@async
---@param os_release string?  text of an os-release file; this system's without it
---@return alisio.InstallHint
function M.install(os_release)
  if os_release then
    return linux(os_release)
  end
  return this_system()
end

--- The same as a sentence.
---@async
---@param locale string
---@param hint alisio.InstallHint?  this system's without it
---@return string
function M.text(locale, hint)
  hint = hint or M.install()
  if hint.system == "brew" then
    return words.t(locale, "python.install_brew", { command = hint.command })
  elseif hint.command then
    return words.t(locale, "python.install", { command = hint.command })
  elseif hint.system == "old" then
    return words.t(locale, "python.install_old", { name = hint.name })
  end
  return words.t(locale, "python.install_other")
end

--- How to get pip for a Python that has none, as a sentence.
---@async
---@param locale string
---@param hint alisio.InstallHint?  this system's without it
---@return string
function M.pip(locale, hint)
  hint = hint or M.install()
  local command = PIP[hint.system]
  return command and words.t(locale, "python.install", { command = command }) or words.t(locale, "python.install_other")
end

return M
