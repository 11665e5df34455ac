--- `alisio analysis status`: which Python would run scripts, and with what guarantees.
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
  runtime = { en = "Runtime   {runtime}", es = "Entorno   {runtime}" },
  limits = { en = "Limits    {list}", es = "Límites   {list}" },
  managed = {
    en = "          This script runs with your permissions: it can read your files and use the network.",
    es = "          El script se ejecuta con sus permisos: puede leer sus archivos y usar la red.",
  },
}

--- Shows the status. Without a Python the command fails, and says how to install one.
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
  if ctx.json then
    ctx:print {
      enabled = true, runtime = runtime, limits = limits,
      python = { executable = python.executable, version = python.version, prefix = python.prefix },
    }
    return 0
  end
  ctx:out(ctx:text(texts.python, python) .. "\n")
  ctx:out(ctx:text(texts.runtime, { runtime = runtime }) .. "\n")
  ctx:out(ctx:text(texts.managed) .. "\n")
  ctx:out(ctx:text(texts.limits, { list = table.concat(list, ", ") }) .. "\n")
  return 0
end

return {
  name = "analysis",
  help = {
    en = "What runs the model's Python scripts.",
    es = "Qué ejecuta los scripts de Python del modelo.",
  },
  commands = { status },
}
