--- What a command is handed: folders, configuration and store (opened when first asked for), the
-- language, and the two outputs. Data goes to standard output, words to standard error.
local fs = require "std.fs"
local json = require "std.json"
local log = require "std.log"
local path = require "std.path"
local term = require "std.term"
local paths = require "alisio.kernel.paths"
local words = require "alisio.kernel.words"
local text = require "alisio.ui.cli.lib.text"

local M = {}

local Context = {}
Context.__index = Context

--- Makes the context of one command.
---@param args table  parsed options
---@param env? fun(name: string): string?
---@return table? ctx
---@return string? message
---@return string? id
function M.new(args, env)
  env = env or fs.env
  local ctx = setmetatable({ args = args, env = env, opened = {}, json = args.json, quiet = args.quiet }, Context)
  ctx.locale = words.locale(nil, env)
  ctx.state_dir, ctx.config_dir = paths.state_dir(args.db, env), paths.config_dir(args.config, env)
  local here, lost, why, about = fs.cwd() -- nil where the folder was removed meanwhile
  if not here and not (args.cwd and path.is_absolute(args.cwd)) then
    return nil, lost, why, about
  end
  ctx.cwd = here
  if args.cwd then
    local cwd, message, id, fields = fs.realpath(path.absolute(args.cwd, here))
    local stat = cwd and fs.stat(cwd)
    if not cwd then
      return nil, message, id, fields
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

--- Flags that stand for keys of the configuration.
local keys = { model = "model", ["base-url"] = "baseUrl", python = "analysis.python" }

--- The configuration, read when first asked for.
---@async
---@return alisio.Config? config
---@return string? message
---@return string? id
---@return table? fields
function Context:config()
  if not self.loaded_config then
    local flags, args = {}, self.args
    for flag, key in pairs(keys) do
      flags[key] = args[flag]
    end
    if args["read-only"] then
      flags.permission = "read-only"
    end
    local config, message, id, fields = require("alisio.kernel.config").load {
      config_dir = self.config_dir,
      config_file = args.config and path.absolute(args.config, fs.cwd()),
      state_dir = self.state_dir,
      project_dir = self.cwd,
      flags = flags,
      env = self.env,
    }
    if not config then
      return nil, message, id, fields
    end
    self.loaded_config, self.locale = config, config.locale
  end
  return self.loaded_config
end

--- The sessions database, opened when first asked for.
---@async
---@return alisio.Store? store
---@return string? message
---@return string? id
---@return table? fields
function Context:store()
  if not self.opened_store then
    local file = self.args.db and path.basename(self.args.db)
    local store, message, id, fields = require("alisio.kernel.store").open(self.state_dir, { file = file })
    if not store then
      return nil, message, id, fields
    end
    self.opened_store = store
    table.insert(self.opened, store)
  end
  return self.opened_store
end

--- The agent's runtime: configuration, store, tools, and the user's Lua unless --clean.
---@async
---@return table? runtime
---@return string? message
---@return string? id
---@return table? fields
function Context:runtime()
  if not self.started then
    local config, message, id, fields = self:config()
    if not config then
      return nil, message, id, fields
    end
    local store
    store, message, id, fields = self:store()
    if not store then
      return nil, message, id, fields
    end
    log.open(path.join(self.state_dir, "logs", "alisio.log"), config:get "log.level")
    self.started, message, id, fields = require("alisio.agent.runtime").start {
      cwd = self.cwd,
      config = config,
      store = store,
      state_dir = self.state_dir,
      config_dir = self.config_dir,
      clean = self.args.clean,
      flags = self.args,
    }
    if not self.started then
      return nil, message, id, fields
    end
    self.locale = config.locale
    for _, warning in ipairs(self.started.warnings) do
      self:say(warning)
    end
    for _, note in ipairs(config:notes()) do
      self:say(words.note(self.locale, note))
    end
  end
  return self.started
end

--- The session that the commands of a workspace share, or the one `--session` or the caller names.
---@async
---@param wanted? string
---@return alisio.Session? session
---@return string? message
---@return string? id
---@return table? fields
function Context:session(wanted)
  local runtime, message, id, fields = self:runtime()
  if not runtime then
    return nil, message, id, fields
  end
  local session
  session, message, id, fields = require("alisio.agent.session").open {
    runtime = runtime, kind = "cli", shared = true, id = wanted or self.args.session, cwd = self.cwd,
  }
  if session then
    table.insert(self.opened, session)
  end
  return session, message, id, fields
end

--- A text in the language of the run.
---@param what string|table
---@param fields? table
---@return string
function Context:text(what, fields)
  return text.pick(what, self.locale, fields)
end

--- Writes to standard output, as it is.
---@param bytes string
function Context.out(_, bytes)
  term.write(bytes)
end

--- Writes one line of words to standard error, unless --quiet.
---@param what string|table
---@param fields? table
function Context:say(what, fields)
  if not self.quiet then
    term.werr(require("std.text").visible(self:text(what, fields), true) .. "\n")
  end
end

--- Writes one JSON document to standard output.
---@param value any
function Context.print(_, value)
  term.write(json.encode(value) .. "\n")
end

return M
