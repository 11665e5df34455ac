--- What a command is handed: folders, configuration and store (opened when first asked for), the
-- language, and the two outputs. Data goes to standard output, words to standard error.
local fs = require "std.fs"
local json = require "std.json"
local path = require "std.path"
local term = require "std.term"
local text = require "alisio.ui.cli.lib.text"

local M = {}

local Context = {}
Context.__index = Context

--- The folders of this run, from flags and environment (design: flag, own variable, XDG, home).
---@param args table
---@param env fun(name: string): string?
---@return string state_dir, string config_dir
local function folders(args, env)
  local cwd = fs.cwd()
  local function own(flag, variable, xdg, fallback)
    if flag then
      return path.dirname(path.absolute(flag, cwd))
    end
    local named = env(variable)
    if named and named ~= "" then
      return path.absolute(named, cwd)
    end
    local base = env(xdg)
    if base and base:sub(1, 1) == "/" then
      return path.join(base, "alisio")
    end
    return path.join(fs.home(), fallback, "alisio")
  end
  return own(args.db, "ALISIO_STATE_HOME", "XDG_STATE_HOME", ".local/state"),
    own(args.config, "ALISIO_CONFIG_HOME", "XDG_CONFIG_HOME", ".config")
end

--- The language of the environment alone.
---@param env fun(name: string): string?
---@return string locale  "en" or "es"
function M.locale(env)
  for _, name in ipairs { "LC_ALL", "LC_MESSAGES", "LANG" } do
    local value = env(name)
    if value and value ~= "" then
      return value:sub(1, 2):lower() == "es" and "es" or "en"
    end
  end
  return "en"
end

--- Makes the context of one command.
---@param args table  parsed options
---@param env? fun(name: string): string?
---@return table? ctx
---@return string? message
---@return string? id
function M.new(args, env)
  env = env or fs.env
  local ctx = setmetatable({ args = args, env = env, opened = {}, json = args.json, quiet = args.quiet }, Context)
  ctx.locale = M.locale(env)
  ctx.state_dir, ctx.config_dir = folders(args, env)
  ctx.cwd = fs.cwd()
  if args.cwd then
    local cwd, message, id = fs.realpath(path.absolute(args.cwd, ctx.cwd))
    local stat = cwd and fs.stat(cwd)
    if not cwd then
      return nil, message, id
    elseif not stat or stat.type ~= "dir" then
      return nil, ctx:text({ en = "{path} is not a folder", es = "{path} no es una carpeta" }, { path = args.cwd }),
        "not_found"
    end
    ctx.cwd = cwd
  end
  return ctx
end

--- Closes what was opened.
function Context:__close()
  for i = #self.opened, 1, -1 do
    self.opened[i]:close()
  end
end

--- A text in the language of the run.
---@param words string|table
---@param fields? table
---@return string
function Context:text(words, fields)
  return text.pick(words, self.locale, fields)
end

--- Writes to standard output, as it is.
---@param bytes string
function Context:out(bytes)
  term.write(bytes)
end

--- Writes one line of words to standard error, unless --quiet.
---@param words string|table
---@param fields? table
function Context:say(words, fields)
  if not self.quiet then
    term.werr(self:text(words, fields) .. "\n")
  end
end

--- Writes one JSON document to standard output.
---@param value any
function Context:print(value)
  term.write(json.encode(value) .. "\n")
end

return M
