--- `alisio analysis setup`: installs the optional packages of scripts.
local clock = require "std.clock"
local json = require "std.json"
local term = require "std.term"
local text = require "std.text"
local words = require "alisio.kernel.words"

local M = {
  name = "setup",
  help = {
    en = "Install the optional packages of scripts, into an environment of their own.",
    es = "Instala los paquetes opcionales de los scripts, en un entorno propio.",
  },
  details = {
    en = "analysis: pandas, numpy, matplotlib, openpyxl, python-docx, reportlab, plotly, jinja2. science: those, scipy, "
      .. "statsmodels, scikit-learn. Wheels only, each with the SHA-256 that Alisio pins; nothing is compiled.",
    es = "analysis: pandas, numpy, matplotlib, openpyxl, python-docx, reportlab, plotly, jinja2. science: esos, scipy, "
      .. "statsmodels, scikit-learn. Solo wheels, cada uno con el SHA-256 que fija Alisio; no se compila nada.",
  },
  options = {
    {
      name = "extras", value = "NAME", values = { "analysis", "science" },
      help = { en = "The set to install.", es = "El conjunto que se instala." },
    },
    "python",
  },
}

local said = {
  what = { en = "alisio analysis setup needs --extras analysis or --extras science.",
    es = "alisio analysis setup necesita --extras analysis o --extras science." },
  begins = {
    en = "Installing {packages}, and what those need, for Python {version} (about {size} from the package index).",
    es = "Instalando {packages}, y lo que estos necesitan, para Python {version} (unos {size} del índice de paquetes).",
  },
  done = { en = "Installed in {time}: {path}", es = "Instalado en {time}: {path}" },
  there = { en = "Already installed: {path}", es = "Ya está instalado: {path}" },
}

-- Draws pip's last line over the one before, where somebody looks.
local function teller(ctx)
  local kind = ctx.env "TERM" or ""
  if ctx.quiet or not term.is_tty(2) or kind == "" or kind == "dumb" then
    return nil
  end
  return function(line)
    local columns = term.size(2)
    term.werr("\r\27[K" .. text.truncate(text.visible((line:gsub("^%s+", ""))), columns - 1))
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
  if not args.extras then
    return nil, ctx:text(said.what), "usage"
  end
  local config, message, id, fields = ctx:config()
  if not config then
    return nil, message, id, fields
  end
  local python
  python, message, id, fields = require("alisio.analysis.discovery").find {
    configured = config:get "analysis.python", state_dir = ctx.state_dir, locale = ctx.locale, env = ctx.env,
  }
  if not python then
    return nil, message, id, fields
  end
  local extras = require "alisio.analysis.extras"
  local set = extras.set(args.extras)
  local there = extras.find(ctx.state_dir, python, set.name)
  local began = clock.monotonic()
  local installed = there
  if not there then
    ctx:say(said.begins, {
      packages = table.concat(set.packages, ", "), version = python.version, size = words.bytes(ctx.locale, set.downloadBytes),
    })
    local progress = teller(ctx)
    installed, message, id, fields = extras.install {
      state_dir = ctx.state_dir, python = python, name = set.name, locale = ctx.locale, env = ctx.env, progress = progress,
    }
    if progress then
      term.werr "\r\27[K"
    end
    if not installed then
      return nil, message, id, fields
    end
  end
  if ctx.json then
    ctx:print {
      extras = installed.extras, packages = json.array(set.packages), reused = there ~= nil,
      python = { executable = installed.executable, version = installed.version, prefix = installed.prefix },
    }
  elseif there then
    ctx:say(said.there, { path = there.prefix })
  else
    ctx:say(said.done, { time = words.duration(ctx.locale, clock.monotonic() - began), path = installed.prefix })
  end
  return 0
end

return M
