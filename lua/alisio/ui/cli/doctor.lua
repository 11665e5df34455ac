--- `alisio doctor`: what works on this machine, and what to do about what does not.
local dataset = require "std.dataset"
local fs = require "std.fs"
local host = require "std.host"
local json = require "std.json"
local path = require "std.path"
local process = require "std.process"
local sql = require "std.sql"
local term = require "std.term"
local text = require "std.text"
local layers = require "alisio.analysis.layers"
local words = require "alisio.kernel.words"

local M = {
  name = "doctor",
  help = { en = "Check what works on this machine.", es = "Comprueba lo que funciona en esta máquina." },
  options = {
    { name = "config", value = "[FILE]", kind = "string", alone = "show_config", help = {
      en = "Show each value of the configuration and where it comes from.",
      es = "Muestra cada valor de la configuración y de dónde viene.",
    } },
    "model", "base-url", "python",
  },
}

local said = {
  label = {
    version = { en = "Alisio", es = "Alisio" },
    system = { en = "System", es = "Sistema" },
    config = { en = "Configuration", es = "Configuración" },
    model = { en = "Model", es = "Modelo" },
    python = { en = "Python", es = "Python" },
    state = { en = "State folder", es = "Carpeta de estado" },
    sessions = { en = "Sessions", es = "Sesiones" },
    engine = { en = "Data engine", es = "Motor de datos" },
    landlock = { en = "Landlock", es = "Landlock" },
    seccomp = { en = "seccomp", es = "seccomp" },
    namespaces = { en = "namespaces", es = "espacios de nombres" },
    openat2 = { en = "openat2", es = "openat2" },
    tree = { en = "Process trees", es = "Árboles de procesos" },
    containers = { en = "Containers", es = "Contenedores" },
  },
  offline = { en = "offline: built-in rules, no account, no network", es = "offline: reglas incluidas, sin cuenta ni red" },
  no_key = {
    en = "Set {variable}, or put the key into {file} (chmod 600).",
    es = "Defina {variable} o ponga la clave en {file} (chmod 600).",
  },
  no_config = {
    en = "none, the defaults hold. `alisio setup` writes one.",
    es = "no hay, valen los valores por defecto. `alisio setup` escribe una.",
  },
  no_landlock = {
    en = "The kernel has none, so the data engine runs without a file system limit of its own, "
      .. "and scripts have no sandbox.",
    es = "El núcleo no lo tiene, así que el motor de datos se ejecuta sin límite propio del sistema de archivos "
      .. "y los scripts no tienen sandbox.",
  },
  no_seccomp = {
    en = "The kernel has none, so the data engine runs without a system call filter, and scripts have no sandbox.",
    es = "El núcleo no lo tiene, así que el motor de datos se ejecuta sin filtro de llamadas al sistema y los scripts no tienen sandbox.",
  },
  no_openat2 = {
    en = "The kernel has none: paths are walked one folder at a time, and a bind mount of the same file system is not seen.",
    es = "El núcleo no lo tiene: las rutas se recorren carpeta por carpeta, y no se ve un montaje del mismo sistema de archivos.",
  },
  no_tree = {
    en = "A script that leaves its session can outlive its run.",
    es = "Un script que deja su sesión puede sobrevivir a su ejecución.",
  },
  abi = { en = "ABI {abi}", es = "ABI {abi}" },
  available = { en = "available", es = "disponible" },
  missing = { en = "not available", es = "no disponible" },
  no_containers = { en = "none (docker or podman; optional)", es = "ninguno (docker o podman; opcional)" },
  sessions = { en = "{count}, integrity ok", es = "{count}, integridad correcta" },
  fresh = { en = "none yet", es = "ninguna todavía" },
  damaged = {
    en = "The database is damaged. Keep a copy of it, and move it away to begin a new one.",
    es = "La base está dañada. Guarde una copia y muévala para empezar otra.",
  },
  mark = {
    ok = { en = "ok", es = "bien" },
    warn = { en = "note", es = "nota" },
    fail = { en = "fault", es = "fallo" },
  },
  unset = { en = "unset", es = "sin valor" },
}

-- Each check returns status ("ok", "warn" or "fail"), a value, and what to do.
local CHECKS = {}

function CHECKS.version()
  local db <close> = assert(sql.open ":memory:")
  return "ok", ("%s, %s, SQLite %s"):format(host.version, _VERSION, db:value "SELECT sqlite_version()")
end

function CHECKS.system()
  local system = host.platform()
  local release = fs.read("/etc/os-release", { maxBytes = 65536 }) or ""
  local name = release:match 'PRETTY_NAME="([^"]*)"'
  return "ok", ("%s%s %s %s"):format(name and name .. ", " or "", system.os, system.release, system.machine)
end

--- The configuration with what the user's Lua sets. It is read without a store, for that may be damaged.
---@return alisio.Config? config
---@return string? message  with a config too: its init.lua does not load
---@return string? id
---@return table? fields
---@return string[] warnings
local function configure(ctx)
  local config, message, id, fields = ctx:config()
  local warnings = {}
  if config and not ctx.configured then
    local started
    started, message, id, fields = require("alisio.agent.runtime").start {
      cwd = ctx.cwd, config = config, state_dir = ctx.state_dir, config_dir = ctx.config_dir,
      clean = ctx.args.clean, flags = ctx.args,
    }
    ctx.configured = true
    ctx.locale = config.locale
    warnings = started and started.warnings or warnings
  end
  return config, message, id, fields, warnings
end

function CHECKS.config(ctx)
  local config, message, id, fields, hints = configure(ctx)
  local init = path.join(ctx.config_dir, "init.lua")
  local files = {}
  for _, file in ipairs { ctx.args.config or path.join(ctx.config_dir, "config.json"), not ctx.args.clean and init or nil } do
    files[#files + 1] = fs.exists(file) and file or nil
  end
  local value = files[1] and table.concat(files, ", ") or ctx:text(said.no_config)
  if message then
    return "fail", config and value, words.failure(ctx.locale, message, id, fields)
  end
  for _, note in ipairs(config:notes()) do
    hints[#hints + 1] = words.note(ctx.locale, note)
  end
  return #hints > 0 and "warn" or "ok", value, #hints > 0 and table.concat(hints, "\n") or nil
end

function CHECKS.model(ctx)
  local config = ctx:config()
  if not config then
    return nil
  end
  local name = config:get "model"
  if name == "offline" then
    return "ok", ctx:text(said.offline)
  end
  local _, profile, id, fields = require("alisio.agent.model").open(name, config)
  if id then
    return "fail", name, words.failure(ctx.locale, profile, id, fields)
  end
  local value = name .. ": " .. (profile.baseUrl and ("%s, %s"):format(profile.model, profile.baseUrl) or "Lua")
  if profile.auth == "bearer" then
    local key, message = config:credential(name, profile.keyEnv)
    if not key then
      local file = path.join(ctx.config_dir, "credentials.json")
      return "fail", value, message or ctx:text(said.no_key, { variable = profile.keyEnv, file = file })
    end
  end
  return "ok", value
end

function CHECKS.python(ctx)
  local config = ctx:config()
  local found, message, id, fields = require("alisio.analysis.discovery").find {
    configured = config and config:get "analysis.python", state_dir = ctx.state_dir, locale = ctx.locale, env = ctx.env,
  }
  if not found then
    return "warn", ctx:text(said.missing), words.failure(ctx.locale, message, id, fields)
  end
  return "ok", ("%s, %s"):format(found.version, found.executable)
end

function CHECKS.state(ctx)
  local ok, message, id, fields = fs.mkdirs(ctx.state_dir)
  if ok then
    local probe = path.join(ctx.state_dir, ".doctor-" .. host.pid())
    ok, message, id, fields = fs.write(probe, "x", { mode = 384 })
    fs.remove(probe)
  end
  if not ok then
    return "fail", ctx.state_dir, words.failure(ctx.locale, message, id, fields)
  end
  return "ok", ctx.state_dir
end

function CHECKS.sessions(ctx)
  local file = path.join(ctx.state_dir, ctx.args.db and path.basename(ctx.args.db) or "sessions.sqlite")
  if not fs.exists(file) then
    return "ok", ctx:text(said.fresh)
  end
  local store, message, id, fields = ctx:store()
  local sessions = store
  if store then
    sessions, message, id, fields = store:sessions()
  end
  if not sessions then
    return "fail", file, words.failure(ctx.locale, message, id, fields)
  end
  local verdict = store:check()
  if verdict ~= "ok" then
    return "fail", file, ctx:text(said.damaged)
  end
  return "ok", ctx:text(said.sessions, { count = #sessions })
end

--- Reads two lines of CSV in a folder of its own, so that what is reported has been seen.
local function try_engine(state_dir)
  local dir, message, id, fields = fs.temp_dir(state_dir, "doctor-")
  if not dir then
    return nil, message, id, fields
  end
  local _ <close> = setmetatable({}, { __close = function() fs.remove(dir) end })
  local input = path.join(dir, "check.csv")
  local ok
  ok, message, id, fields = fs.write(input, "n\n1\n")
  if not ok then
    return nil, message, id, fields
  end
  local engine <close> = dataset.open_engine { tmp = dir }
  return engine:ingest { input = input, output = path.join(dir, "check.sqlite"), name = "check.csv" }
end

function CHECKS.engine(ctx)
  local program, missing = host.helper "engine"
  if not program then
    return "fail", ctx:text(said.missing), missing
  end
  local ok, message, id, fields = try_engine(ctx.state_dir)
  if not ok then
    return "fail", program, words.failure(ctx.locale, message, id, fields)
  end
  return "ok", program
end

function CHECKS.landlock(ctx)
  local seen = layers.find()
  if (seen.landlock or 0) == 0 then
    return "warn", ctx:text(said.missing), seen.error or ctx:text(said.no_landlock)
  end
  return "ok", ctx:text(said.abi, { abi = seen.landlock })
end

function CHECKS.seccomp(ctx)
  local seen = layers.find()
  if not seen.seccomp then
    return "warn", ctx:text(said.missing), seen.error or ctx:text(said.no_seccomp)
  end
  return "ok", ctx:text(said.available)
end

function CHECKS.namespaces(ctx)
  local seen = layers.find()
  if not seen.namespaces then
    return "warn", ctx:text(said.missing), seen.error or seen.noNamespaces
  end
  return "ok", ctx:text(said.available)
end

function CHECKS.openat2(ctx)
  if not host.platform().openat2 then
    return "warn", ctx:text(said.missing), ctx:text(said.no_openat2)
  end
  return "ok", ctx:text(said.available)
end

function CHECKS.tree(ctx)
  local seen = layers.find()
  if not seen.tree then
    return "warn", ctx:text(said.missing), seen.error or ctx:text(said.no_tree)
  end
  return "ok", ctx:text(said.available)
end

function CHECKS.containers(ctx)
  local found = {}
  for _, engine in ipairs { "docker", "podman" } do
    local result = process.run { argv = { engine, "--version" }, timeoutMs = 5000, maxOutputBytes = 4096 }
    if result and result.code == 0 then
      found[#found + 1] = result.stdout:match "[^\n]+"
    end
  end
  return "ok", #found > 0 and table.concat(found, "; ") or ctx:text(said.no_containers)
end

local ORDER = {
  "version", "system", "config", "model", "python", "state", "sessions", "engine", "landlock", "seccomp", "namespaces",
  "openat2", "tree", "containers",
}

local ROLE = { ok = "done", warn = "waiting", fail = "failed" }
local GLYPH = { ok = "✓", warn = "!", fail = "✗" }

local function show(ctx, checks)
  local color = term.color(1)
  local width = 0
  for _, check in ipairs(checks) do
    width = math.max(width, text.width(check.label))
  end
  for _, check in ipairs(checks) do
    local mark = GLYPH[check.status] .. " " .. ctx:text(said.mark[check.status])
    mark = mark .. (" "):rep(7 - text.width(mark))
    local label = check.label .. (" "):rep(width - text.width(check.label))
    ctx:out(("%s  %s  %s\n"):format(color and term.style(mark, ROLE[check.status]) or mark, label, text.visible(check.value or "")))
    for line in (check.hint or ""):gmatch "[^\n]+" do
      ctx:out((" "):rep(width + 11) .. text.visible(line) .. "\n")
    end
  end
end

local function examine(ctx)
  local checks, failed = json.array {}, false
  for _, id in ipairs(ORDER) do
    local status, value, hint = CHECKS[id](ctx)
    if status then
      checks[#checks + 1] = { id = id, label = ctx:text(said.label[id]), status = status, value = value, hint = hint }
      failed = failed or status == "fail"
    end
  end
  if ctx.json then
    ctx:print { version = host.version, checks = checks }
  else
    show(ctx, checks)
  end
  return failed and 1 or 0
end

local function show_config(ctx)
  local config, message, id, fields, warnings = configure(ctx)
  if message then
    return nil, message, id, fields
  end
  local values, width = json.array {}, 0
  for i, key in ipairs(config:keys()) do
    local source, where = config:origin(key)
    values[i] = { key = key, value = config:get(key), source = source, where = where }
    if type(values[i].value) == "table" then
      values[i].value = json.array(values[i].value)
    end
    width = math.max(width, #key)
  end
  if ctx.json then
    ctx:print { config = values }
    return
  end
  for _, entry in ipairs(values) do
    local value = entry.value == nil and ctx:text(said.unset) or json.encode(entry.value)
    local origin = entry.where and ("%s (%s)"):format(entry.source, entry.where) or entry.source
    ctx:out(("%s%s  %s  %s\n"):format(entry.key, (" "):rep(width - #entry.key), text.visible(value), text.visible(origin)))
  end
  for _, warning in ipairs(warnings) do
    ctx:say(warning)
  end
  for _, note in ipairs(config:notes()) do
    ctx:say(words.note(ctx.locale, note))
  end
end

--- Runs the command.
---@async
---@param ctx table
---@param args table
---@return integer? status
---@return string? message
---@return string? id
---@return table? fields
function M.run(ctx, args)
  if args.show_config then
    return show_config(ctx)
  end
  return examine(ctx)
end

return M
