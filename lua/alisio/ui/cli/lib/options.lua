--- Options that several commands share, and the parser of all of them.
--
-- An option is { name, value = placeholder?, kind = "string"|"integer"|"list"?, values = {…}?, help }.
-- Without `value` it is a flag; with `alone = NAME` the value may be left out, and args[NAME] says that
-- the option was given. The same tables make `--help`, the completions and the man page.
local schema = require "std.schema"
local text = require "alisio.ui.cli.lib.text"

local M = {}

--- Options a command names by a string in its `options`.
M.shared = {
  ["allow-write"] = {
    help = {
      en = "Let tools write files in the folder without asking.",
      es = "Permite escribir archivos en la carpeta sin preguntar.",
    },
  },
  ["allow-process"] = {
    help = {
      en = "Let tools run programs, Python among them, without asking.",
      es = "Permite ejecutar programas, también Python, sin preguntar.",
    },
  },
  ["allow-analysis"] = {
    help = {
      en = "Let python_run run its scripts without asking. Covers no other program.",
      es = "Permite que python_run ejecute sus scripts sin preguntar. No vale para otros programas.",
    },
  },
  ["read-only"] = {
    help = {
      en = "Take away every tool that writes files, runs programs or acts outside.",
      es = "Quita las herramientas que escriben archivos, ejecutan programas o actúan fuera.",
    },
  },
  session = {
    value = "ID",
    help = {
      en = "Use this session.",
      es = "Usa esta sesión.",
    },
  },
  yes = { help = { en = "Do not ask.", es = "No pregunta." } },
  python = {
    value = "PATH",
    help = {
      en = "Python interpreter for python_run (3.10 or newer).",
      es = "Intérprete de Python para python_run (3.10 o posterior).",
    },
  },
  model = {
    value = "NAME",
    help = {
      en = "Model profile of the configuration, or offline.",
      es = "Perfil de modelo de la configuración, u offline.",
    },
  },
  ["base-url"] = {
    value = "URL",
    help = {
      en = "Address of the model server, in place of the profile's.",
      es = "Dirección del servidor del modelo, en lugar de la del perfil.",
    },
  },
}

--- Options every command has, in the order `--help` shows them.
M.common = {
  {
    name = "json",
    help = {
      en = "Write JSON to standard output; words go to standard error.",
      es = "Escribe JSON en la salida estándar; los avisos van a la de errores.",
    },
  },
  {
    name = "cwd",
    value = "FOLDER",
    kind = "string",
    help = { en = "Work in this folder.", es = "Trabaja en esta carpeta." },
  },
  {
    name = "config",
    value = "FILE",
    kind = "string",
    help = {
      en = "Configuration file; its folder also holds init.lua and plugins.",
      es = "Archivo de configuración; su carpeta contiene también init.lua y los plugins.",
    },
  },
  {
    name = "db",
    value = "FILE",
    kind = "string",
    help = {
      en = "Sessions database; its folder holds the rest of the state.",
      es = "Base de datos de sesiones; su carpeta contiene el resto del estado.",
    },
  },
  {
    name = "clean",
    help = {
      en = "Skip the user's init.lua and plugins.",
      es = "No carga el init.lua ni los plugins del usuario.",
    },
  },
  {
    name = "quiet",
    help = {
      en = "No progress and no notes; errors are still said.",
      es = "Sin progreso ni avisos; los errores sí se muestran.",
    },
  },
  {
    name = "help",
    help = { en = "Show this help.", es = "Muestra esta ayuda." },
  },
}

-- What stands for a value, where the language has another word.
local placeholders = {
  es = { FILE = "ARCHIVO", FOLDER = "CARPETA", KIND = "TIPO", NAME = "NOMBRE", PATH = "RUTA" },
}

--- What stands for an option's value.
---@param option table
---@param locale string
---@return string
function M.placeholder(option, locale)
  return (option.value:gsub("%u+", placeholders[locale] or {}))
end

for name, option in pairs(M.shared) do
  option.name = name
  option.kind = option.kind or (option.value and "string") or nil
end

--- The options of a command: its own, those it shares, then those every command has.
---@param command table
---@return table[] options
function M.of(command)
  local list, own = {}, {}
  for _, option in ipairs(command.options or {}) do
    if type(option) == "string" then
      option = M.shared[option] or error("no shared option is called " .. option)
    end
    list[#list + 1] = option
    own[option.name] = true
  end
  for _, option in ipairs(M.common) do
    list[#list + 1] = not own[option.name] and option or nil
  end
  return list
end

local wrong = {
  unknown = {
    en = "There is no option {option}.",
    es = "No existe la opción {option}.",
  },
  nearest = { en = " Did you mean --{nearest}?", es = " ¿Quiso decir --{nearest}?" },
  value = { en = "{option} needs a value ({value}).", es = "{option} necesita un valor ({value})." },
  flag = { en = "{option} takes no value.", es = "{option} no lleva valor." },
  integer = {
    en = "{option} takes a whole number, not “{given}”.",
    es = "{option} lleva un número entero, no «{given}».",
  },
  values = {
    en = "{option} is one of {values}, not “{given}”.",
    es = "{option} es uno de {values}, no «{given}».",
  },
}

local function convert(option, shown, given, locale)
  if option.kind == "integer" then
    if not given:find "^%d+$" then
      return nil, text.pick(wrong.integer, locale, { option = shown, given = given })
    end
    return math.tointeger(tonumber(given)) or math.maxinteger
  end
  if option.values then
    for _, value in ipairs(option.values) do
      if value == given then
        return given
      end
    end
    local fields = { option = shown, given = given, values = table.concat(option.values, ", ") }
    return nil, text.pick(wrong.values, locale, fields)
  end
  return given
end

--- Parses arguments by a list of options. `--name value`, `--name=value`; `--` ends the options; a
--- lone `-` is a positional. A value may begin with two dashes only in the `=` form.
---@param argv string[]
---@param options table[]
---@param locale string
---@param leading boolean?  the first positional ends the options: what follows is someone else's
---@return table? args  positionals in the array part, options by name
---@return string? message
---@return string? id    "usage"
function M.parse(argv, options, locale, leading)
  local known, names, args = {}, {}, {}
  for _, option in ipairs(options) do
    known[option.name] = option
    names[#names + 1] = option.name
  end
  local i, ended = 1, false
  while i <= #argv do
    local word = argv[i]
    i = i + 1
    local name, given = word:match "^%-%-([^=]+)=?(.*)$"
    if ended or not word:find "^%-." then
      args[#args + 1] = word
      ended = ended or leading
    elseif word == "--" then
      ended = true
    else
      local has_value = word:find("=", 1, true) ~= nil
      if word == "-h" then
        name, has_value = "help", false
      end
      local option, shown = known[name], name and "--" .. name or word
      if not option then
        local near = schema.nearest((name or word:sub(2)):lower(), names)
        local message = text.pick(wrong.unknown, locale, { option = shown })
        if near then
          message = message .. text.pick(wrong.nearest, locale, { nearest = near })
        end
        return nil, message, "usage"
      end
      if not option.value then
        if has_value then
          return nil, text.pick(wrong.flag, locale, { option = shown }), "usage"
        end
        args[name] = true
      elseif option.alone and not has_value and not (argv[i] or ""):find(option.kind == "integer" and "^%d+$" or "^[^-]") then
        args[option.alone] = true
      else
        if not has_value then
          given = argv[i]
          i = i + 1
          if not given or given:find "^%-%-." then
            return nil, text.pick(wrong.value, locale, { option = shown, value = M.placeholder(option, locale) }), "usage"
          end
        end
        local value, message = convert(option, shown, given, locale)
        if value == nil then
          return nil, message, "usage"
        end
        if option.alone then
          args[option.alone] = true
        end
        if option.kind == "list" then
          args[name] = args[name] or {}
          table.insert(args[name], value)
        else
          args[name] = value
        end
      end
    end
  end
  return args
end

return M
