--- The command line: finds the command, reads its options, runs it, and turns what it returns into
-- an exit status and, on failure, into words or the JSON error of the contract.
local asset = require "std.asset"
local fs = require "std.fs"
local json = require "std.json"
local path = require "std.path"
local schema = require "std.schema"
local term = require "std.term"
local words = require "alisio.kernel.words"
local context = require "alisio.ui.cli.lib.context"
local options = require "alisio.ui.cli.lib.options"
local text = require "alisio.ui.cli.lib.text"

local M = {}

M.status = { done = 0, failed = 1, usage = 2, refused = 3, interrupted = 130 }

local by_id = {
  usage = M.status.usage,
  permission_denied = M.status.refused,
  cancelled = M.status.interrupted,
}

local wrong = {
  command = { en = "There is no command {word}.", es = "No existe el comando {word}." },
  nearest = { en = " Did you mean {nearest}?", es = " ¿Quiso decir {nearest}?" },
  list = { en = " See alisio --help.", es = " Vea alisio --help." },
  subcommand = {
    en = "alisio {command} needs one of: {names}.",
    es = "alisio {command} necesita uno de: {names}.",
  },
}

--- Names of the commands there are, sorted.
---@return string[]
function M.names()
  local names = {}
  for _, name in ipairs(asset.list "lua/alisio/ui/cli/") do
    local command = name:match "^lua/alisio/ui/cli/([%w_-]+)%.lua$"
    if command and command ~= "init" then
      names[#names + 1] = command
    end
  end
  table.sort(names)
  return names
end

--- The table of one command.
---@param name string
---@return table? command
function M.command(name)
  for _, known in ipairs(M.names()) do
    if known == name then
      return require("alisio.ui.cli." .. name)
    end
  end
end

--- The first word that is not an option: the command. Options in front of it are allowed.
local function find_command(argv)
  local takes_value = {}
  for _, list in ipairs { options.common, options.shared } do
    for _, option in pairs(list) do
      takes_value["--" .. option.name] = option.value ~= nil
    end
  end
  local i = 1
  while i <= #argv do
    if argv[i]:sub(1, 1) ~= "-" or argv[i] == "-" then
      return i
    end
    i = i + (takes_value[argv[i]] and 2 or 1)
  end
end

local function without(argv, at)
  local rest = {}
  for i, word in ipairs(argv) do
    if i ~= at then
      rest[#rest + 1] = word
    end
  end
  return rest
end

local function unknown(word, names, locale, what)
  local message = text.pick(what, locale, { word = word })
  local near = schema.nearest(word:lower(), names)
  return nil, message .. text.pick(near and wrong.nearest or wrong.list, locale, { nearest = near }), "usage"
end

--- Resolves a command with subcommands to the one meant.
local function descend(command, argv, at, locale)
  local names, whole, chosen = {}, {}, nil
  for _, sub in ipairs(command.commands) do
    names[#names + 1] = sub.name
    whole[#whole + 1] = command.name .. " " .. sub.name
    if sub.name == argv[at] then
      chosen = sub
    end
  end
  if chosen then
    return chosen, without(argv, at)
  end
  local word = argv[at]
  if word and word:sub(1, 1) ~= "-" then
    return unknown(command.name .. " " .. word, whole, locale, wrong.command)
  end
  local fields = { command = command.name, names = table.concat(names, ", ") }
  return nil, text.pick(wrong.subcommand, locale, fields), "usage"
end

local function wants(argv, flag)
  for _, word in ipairs(argv) do
    if word == "--" then
      return false
    elseif word == flag or (flag == "--help" and word == "-h") then
      return true
    end
  end
  return false
end

--- Runs a command that the user's init.lua added, when there is one of that name.
local function user_command(name, argv, at, said)
  local command = { options = { "allow-write", "allow-process", "allow-analysis", "read-only", "model" } }
  local args = options.parse(without(argv, at), options.of(command), said.locale)
  local ctx = args and not args.clean and context.new(args)
  local _ <close> = ctx or nil
  local runtime = ctx and fs.exists(path.join(ctx.config_dir, "init.lua")) and ctx:runtime()
  local names = M.names()
  for _, entry in ipairs(runtime and require("alisio.agent.registry").list "command" or {}) do
    local own = entry.value
    names[#names + 1] = own.name
    if own.name == name and args.help then
      term.write(("alisio %s\n%s\n"):format(name, own.help or ""))
      return
    elseif own.name == name then
      said.ctx = ctx
      return require("alisio.ui.cli.lib.prompt").command(ctx, own, { table.unpack(args) })
    end
  end
  return unknown(name, names, said.locale, wrong.command)
end

local function run(argv, said)
  local locale = said.locale
  local at = find_command(argv)
  if not at then
    if wants(argv, "--version") then
      return require("alisio.ui.cli.version").run({ json = wants(argv, "--json") }, {})
    end
    local args, message, id = options.parse(argv, options.of {}, locale)
    if not args then
      return nil, message, id
    end
    term.write(require("alisio.ui.cli.lib.help").overview(M, locale))
    return
  end
  local name = argv[at]
  local command = M.command(name)
  if not command then
    return user_command(name, argv, at, said)
  end
  local top = command
  argv = without(argv, at)
  local title = name
  if command.commands then
    local sub, rest, id = descend(command, argv, at, locale)
    if sub then
      command, argv, title = sub, rest, name .. " " .. sub.name
    elseif wants(argv, "--help") then
      term.write(require("alisio.ui.cli.lib.help").command(title, command, locale))
      return
    else
      return nil, rest, id
    end
  end
  local args, message, id = options.parse(argv, options.of(command), locale, command.leading)
  if args and args.help or not args and wants(argv, "--help") then
    term.write(require("alisio.ui.cli.lib.help").command(title, command, locale))
    return
  elseif not args then
    return nil, message, id
  end
  local ctx
  ctx, message, id = context.new(args)
  if not ctx then
    return nil, message, id
  end
  local _ <close> = ctx
  said.ctx = ctx
  if top.cancels then
    return require("alisio.ui.cli.lib.interrupt").run(command.run, ctx, args)
  end
  return command.run(ctx, args)
end

--- Writes a failure: JSON on standard output when asked for, else words on standard error.
---@param as_json boolean
---@param message string
---@param id? string
---@param fields? table  more about it; `reason` and the like stand beside code and message
function M.report(as_json, message, id, fields)
  id = id or "internal"
  if as_json then
    local err = {}
    for key, value in pairs(fields or {}) do
      err[key] = value
    end
    err.code, err.message = id, message
    term.write(json.encode { error = err } .. "\n")
  else
    -- A name in it may be one that a file, a model or a server chose.
    term.werr("alisio: " .. require("std.text").visible(message, true) .. "\n")
  end
end

--- Runs the program.
---@async
---@param argv string[]  arguments without the program's name
---@return integer status
function M.main(argv)
  local said = { locale = words.locale(nil, fs.env) }
  local as_json = wants(argv, "--json")
  local ok, code, message, id, fields = xpcall(run, function(err)
    if err == "cancelled" then
      return err
    end
    return debug.traceback(tostring(err), 2)
  end, argv, said)
  local locale = said.ctx and said.ctx.locale or said.locale
  if not ok then
    if code == "cancelled" then
      M.report(as_json, text.pick({ en = "interrupted", es = "interrumpido" }, locale), "cancelled")
      return M.status.interrupted
    end
    M.report(as_json, code, "internal")
    return M.status.failed
  end
  if code == nil and message then
    M.report(as_json, words.failure(locale, message, id, fields), id, fields)
    return by_id[id] or M.status.failed
  end
  local status = math.tointeger(code) or M.status.done
  local why, which, about = term.lost()
  if why and status == M.status.done then -- what was asked for did not arrive
    M.report(false, about and words.error(locale, which, about) or why, which)
    return M.status.failed
  end
  return status
end

return M
