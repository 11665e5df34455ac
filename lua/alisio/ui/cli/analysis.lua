--- `alisio analysis`: which Python would run scripts, where, and with what guarantees; what it lacks.
local json = require "std.json"
local runtimes = require "alisio.analysis.runtimes"
local words = require "alisio.kernel.words"

local status = {
  name = "status",
  help = {
    en = "Show the Python that runs scripts, its runtime and its limits.",
    es = "Muestra el Python que ejecuta los scripts, su entorno y sus límites.",
  },
  options = { "python" },
}

local LIMITS = { "timeoutMs", "memoryBytes", "processes", "openFiles", "writeBytes" }

local texts = {
  off = { en = "Analysis is switched off (analysis.enabled).", es = "El análisis está desactivado (analysis.enabled)." },
  python = { en = "Python    {version}  {executable}", es = "Python    {version}  {executable}" },
  extras = { en = "          with the packages of {list}", es = "          con los paquetes de {list}" },
  bare = {
    en = "          with its standard library; alisio analysis setup --extras installs more",
    es = "          con su biblioteca estándar; alisio analysis setup --extras instala más",
  },
  runtime = { en = "Runtime   {runtime}", es = "Entorno   {runtime}" },
  chosen = { en = "Runtime   {runtime}, as {configured} chooses", es = "Entorno   {runtime}, según {configured}" },
  none = {
    en = "Runtime   {runtime} cannot be had, and no script runs: {why}",
    es = "Entorno   {runtime} no está disponible y no se ejecuta ningún script: {why}",
  },
  there = { en = "          {runtime} can be chosen, too", es = "          {runtime} también puede elegirse" },
  missing = { en = "          {runtime} cannot be had: {why}", es = "          {runtime} no está disponible: {why}" },
  limits = { en = "Limits    {list}", es = "Límites   {list}" },
}

-- Every runtime with what it can do here, and the one that scripts get (nil: none).
local function survey(config, locale)
  local list, runs = json.array {}, runtimes.choose(config, locale)
  for i, name in ipairs(runtimes.NAMES) do
    local runtime, why = runtimes.get(name, config, locale)
    list[i] = { name = name, available = runtime ~= nil, why = why }
    if runtime then
      list[i].holds, list[i].guarantees = runtime.found, json.array(runtimes.words(runtime, locale))
    end
  end
  return list, runs
end

local function show_runtimes(ctx, configured, list, runs)
  if runs then
    local how = configured == runs.name and texts.runtime or texts.chosen
    ctx:out(ctx:text(how, { runtime = runs.name, configured = configured }) .. "\n")
    for _, sentence in ipairs(runtimes.words(runs, ctx.locale)) do
      ctx:out("          " .. sentence .. "\n")
    end
  end
  for _, one in ipairs(list) do
    local which = one.available and texts.there or texts.missing
    if not runs and one.name == configured then
      ctx:out(ctx:text(texts.none, { runtime = one.name, why = one.why }) .. "\n")
    elseif not (runs and (one.name == runs.name or runs.instead and not one.available)) then
      ctx:out(ctx:text(which, { runtime = one.name, why = one.why }) .. "\n")
    end
  end
end

--- Shows the status. Without a Python the command fails, and says how to install one; a runtime that
-- cannot be had is shown as that.
---@async
---@param ctx table
---@return integer? code
---@return string? message
---@return string? id
---@return table? fields
function status.run(ctx)
  local config, message, id, fields = ctx:config()
  if not config then
    return nil, message, id, fields
  end
  local runtime = config:get "analysis.runtime"
  local limits, list = {}, {}
  for i, name in ipairs(LIMITS) do
    limits[name] = config:get("analysis.limits." .. name)
    local write = name:find "Ms$" and words.duration or name:find "Bytes$" and words.bytes or words.number
    list[i] = ("%s %s"):format(name, write(ctx.locale, limits[name]))
  end
  if not config:get "analysis.enabled" then
    if ctx.json then
      ctx:print { enabled = false }
    else
      ctx:out(ctx:text(texts.off) .. "\n")
    end
    return 0
  end
  local python
  python, message, id, fields = require("alisio.analysis.discovery").find {
    configured = config:get "analysis.python", state_dir = ctx.state_dir, locale = ctx.locale, env = ctx.env,
  }
  if not python then
    return nil, message, id, fields
  end
  local packages = require("alisio.analysis.extras").installed(ctx.state_dir, python)
  local all, runs = survey(config, ctx.locale)
  if ctx.json then
    ctx:print {
      enabled = true, runtime = runtime, runs = runs and runs.name or json.null, runtimes = all, limits = limits,
      python = {
        executable = python.executable, version = python.version, prefix = python.prefix, extras = json.array(packages),
      },
    }
    return 0
  end
  ctx:out(ctx:text(texts.python, python) .. "\n")
  ctx:out(ctx:text(packages[1] and texts.extras or texts.bare, { list = table.concat(packages, ", ") }) .. "\n")
  show_runtimes(ctx, runtime, all, runs)
  ctx:out(ctx:text(texts.limits, { list = table.concat(list, ", ") }) .. "\n")
  return 0
end

return {
  name = "analysis",
  help = {
    en = "What runs the model's Python scripts.",
    es = "Qué ejecuta los scripts de Python del modelo.",
  },
  cancels = true,
  commands = { status, (require "alisio.ui.cli.lib.analysis_setup") },
}
