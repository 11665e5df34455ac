--- Help, completions and the man page, all from the tables of the commands.
local options = require "alisio.ui.cli.lib.options"
local text = require "alisio.ui.cli.lib.text"

local M = {}

local words = {
  usage = { en = "Usage", es = "Uso" },
  commands = { en = "Commands", es = "Comandos" },
  options = { en = "Options", es = "Opciones" },
  lead = {
    en = "Answers questions about your files, and makes files of the answers.",
    es = "Responde preguntas sobre sus archivos y crea archivos con las respuestas.",
  },
  more = {
    en = "alisio COMMAND --help says more about a command.",
    es = "alisio COMANDO --help explica un comando.",
  },
  command = { en = "COMMAND", es = "COMANDO" },
  option = { en = "[OPTION]…", es = "[OPCIÓN]…" },
  status = {
    en = "Exit status: 0 done, 1 failed, 2 wrong usage, 3 refused, 130 interrupted.",
    es = "Estado de salida: 0 hecho, 1 fallo, 2 uso incorrecto, 3 rechazado, 130 interrumpido.",
  },
}

--- Wraps plain words; the help must work before anything else does, so it measures in bytes of
-- UTF-8 lead characters itself.
local function wrap(line, width)
  local lines, current = {}, ""
  for word in line:gmatch "%S+" do
    local longer = current == "" and word or current .. " " .. word
    if current ~= "" and (utf8.len(longer) or #longer) > width then
      lines[#lines + 1] = current
      current = word
    else
      current = longer
    end
  end
  lines[#lines + 1] = current
  return lines
end

local function rows(list, out)
  local widest = 0
  for _, row in ipairs(list) do
    widest = math.max(widest, utf8.len(row[1]))
  end
  widest = math.min(widest, 26)
  for _, row in ipairs(list) do
    local gap = widest - utf8.len(row[1])
    local lines = wrap(row[2], 78 - widest - 4)
    if gap < 0 then
      out[#out + 1] = "  " .. row[1]
      table.insert(lines, 1, "")
    else
      out[#out + 1] = "  " .. row[1] .. (" "):rep(gap + 2) .. lines[1]
    end
    for i = 2, #lines do
      out[#out + 1] = (" "):rep(widest + 4) .. lines[i]
    end
  end
end

--- What an option does, and the words it takes where these are few.
local function option_help(option, locale)
  local help = text.pick(option.help, locale)
  if not option.values then
    return help
  end
  return (help:gsub("%.$", "")) .. ": " .. table.concat(option.values, ", ") .. "."
end

local function option_rows(list, locale)
  local out = {}
  for _, option in ipairs(list) do
    local shown = "--" .. option.name .. (option.value and " " .. options.placeholder(option, locale) or "")
    out[#out + 1] = { shown, option_help(option, locale) }
  end
  return out
end

--- The usage line.
---@param what string    what stands after the program's name
---@param locale string
---@return string
function M.usage(what, locale)
  return ("%s: alisio %s %s"):format(text.pick(words.usage, locale), what, text.pick(words.option, locale))
end

--- What `alisio --help` shows.
---@param cli table     alisio.ui.cli
---@param locale string
---@return string
function M.overview(cli, locale)
  local out = {
    M.usage(text.pick(words.command, locale), locale),
    "",
    text.pick(words.lead, locale),
    "",
    text.pick(words.commands, locale) .. ":",
  }
  local list = {}
  for _, name in ipairs(cli.names()) do
    local command = cli.command(name)
    list[#list + 1] = { name, text.pick(command.help, locale) }
  end
  rows(list, out)
  out[#out + 1] = ""
  out[#out + 1] = text.pick(words.options, locale) .. ":"
  rows(option_rows(options.common, locale), out)
  out[#out + 1] = ""
  out[#out + 1] = text.pick(words.more, locale)
  out[#out + 1] = text.pick(words.status, locale)
  return table.concat(out, "\n") .. "\n"
end

--- What `alisio COMMAND --help` shows.
---@param title string    the command as typed, "data query"
---@param command table
---@param locale string
---@return string
function M.command(title, command, locale)
  local arguments = command.arguments and " " .. text.pick(command.arguments, locale) or ""
  local out = { M.usage(title .. arguments, locale), "" }
  for _, line in ipairs(wrap(text.pick(command.help, locale), 78)) do
    out[#out + 1] = line
  end
  if command.details then
    out[#out + 1] = ""
    for line in (text.pick(command.details, locale) .. "\n"):gmatch "(.-)\n" do
      for _, piece in ipairs(line == "" and { "" } or wrap(line, 78)) do
        out[#out + 1] = piece
      end
    end
  end
  if command.commands then
    out[#out + 1] = ""
    out[#out + 1] = text.pick(words.commands, locale) .. ":"
    local list = {}
    for _, sub in ipairs(command.commands) do
      local shown = sub.name .. (sub.arguments and " " .. text.pick(sub.arguments, locale) or "")
      list[#list + 1] = { shown, text.pick(sub.help, locale) }
    end
    rows(list, out)
  end
  out[#out + 1] = ""
  out[#out + 1] = text.pick(words.options, locale) .. ":"
  rows(option_rows(options.of(command), locale), out)
  return table.concat(out, "\n") .. "\n"
end

--- Every command and subcommand in order: { title, command }.
local function all(cli)
  local list = {}
  for _, name in ipairs(cli.names()) do
    local command = cli.command(name)
    list[#list + 1] = { name, command }
    for _, sub in ipairs(command.commands or {}) do
      list[#list + 1] = { name .. " " .. sub.name, sub }
    end
  end
  return list
end

local function flags(command)
  local list = {}
  for _, option in ipairs(options.of(command)) do
    list[#list + 1] = "--" .. option.name
  end
  return table.concat(list, " ")
end

local function subnames(command)
  local list = {}
  for _, sub in ipairs(command.commands or {}) do
    list[#list + 1] = sub.name
  end
  return table.concat(list, " ")
end

local shells = {}

function shells.bash(cli)
  local out = {
    "# bash completion of alisio; made by: alisio help --completion bash",
    "_alisio() {",
    "  local cur=${COMP_WORDS[COMP_CWORD]} words",
    '  case "${COMP_WORDS[1]} ${COMP_WORDS[2]}" in',
  }
  local entries = all(cli)
  for i = #entries, 1, -1 do -- subcommands before their command: the first match wins
    local title, command = entries[i][1], entries[i][2]
    if title:find " " then
      out[#out + 1] = ('    "%s") words="%s" ;;'):format(title, flags(command))
    end
  end
  for _, entry in ipairs(entries) do
    local title, command = entry[1], entry[2]
    if not title:find " " then
      local more = command.commands and subnames(command) .. " --help" or flags(command)
      out[#out + 1] = ('    "%s "*) words="%s" ;;'):format(title, more)
    end
  end
  out[#out + 1] = ('    *) words="%s %s --version" ;;'):format(table.concat(cli.names(), " "), flags {})
  out[#out + 1] = "  esac"
  out[#out + 1] = '  case $COMP_CWORD in 1) words="' .. table.concat(cli.names(), " ") .. '" ;; esac'
  out[#out + 1] = '  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")'
  out[#out + 1] = '  [ ${#COMPREPLY[@]} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "$cur")'
  out[#out + 1] = "}"
  out[#out + 1] = "complete -o filenames -F _alisio alisio"
  return table.concat(out, "\n") .. "\n"
end

local function quoted(words_, quote)
  return (words_:gsub("'", quote))
end

function shells.zsh(cli)
  local out = {
    "#compdef alisio",
    "# zsh completion of alisio; made by: alisio help --completion zsh",
    "_alisio() {",
    "  local -a commands options",
    "  if (( CURRENT == 2 )); then",
    "    commands=(",
  }
  for _, name in ipairs(cli.names()) do
    local help = quoted(text.pick(cli.command(name).help, "en"), "'\\''"):gsub(":", "\\:")
    out[#out + 1] = ("      '%s:%s'"):format(name, help)
  end
  out[#out + 1] = "    )"
  out[#out + 1] = "    _describe command commands"
  out[#out + 1] = "    return"
  out[#out + 1] = "  fi"
  out[#out + 1] = '  case "$words[2]" in'
  for _, name in ipairs(cli.names()) do
    local command = cli.command(name)
    local seen, list = {}, {}
    local entries = { command }
    for _, sub in ipairs(command.commands or {}) do
      entries[#entries + 1] = sub
    end
    for _, entry in ipairs(entries) do
      for _, option in ipairs(options.of(entry)) do
        if not seen[option.name] then
          seen[option.name] = true
          local help = quoted(text.pick(option.help, "en"), "'\\''"):gsub("[%[%]:]", "\\%0")
          local value = option.value and ":" .. option.value:lower() .. ":_files" or ""
          list[#list + 1] = ("'--%s[%s]%s'"):format(option.name, help, value)
        end
      end
    end
    local first = command.commands and ("'1:command:(" .. subnames(command) .. ")' ") or ""
    out[#out + 1] = ("    %s) shift words; (( CURRENT-- )); _arguments %s%s '*:file:_files' ;;"):format(
      name, first, table.concat(list, " "))
  end
  out[#out + 1] = "  esac"
  out[#out + 1] = "}"
  out[#out + 1] = '_alisio "$@"'
  return table.concat(out, "\n") .. "\n"
end

function shells.fish(cli)
  local out = { "# fish completion of alisio; made by: alisio help --completion fish" }
  for _, name in ipairs(cli.names()) do
    local command = cli.command(name)
    out[#out + 1] = ("complete -c alisio -n __fish_use_subcommand -f -a %s -d '%s'"):format(
      name, quoted(text.pick(command.help, "en"), "\\'"))
  end
  for _, entry in ipairs(all(cli)) do
    local title, command = entry[1], entry[2]
    local first, second = title:match "^(%S+) (%S+)$"
    local condition = "__fish_seen_subcommand_from " .. (first or title)
    if second then
      condition = condition .. "; and __fish_seen_subcommand_from " .. second
    end
    for _, sub in ipairs(command.commands or {}) do
      out[#out + 1] = ("complete -c alisio -n '%s' -f -a %s -d '%s'"):format(
        condition, sub.name, quoted(text.pick(sub.help, "en"), "\\'"))
    end
    for _, option in ipairs(command.commands and {} or options.of(command)) do
      out[#out + 1] = ("complete -c alisio -n '%s' -l %s %s-d '%s'"):format(
        condition, option.name, option.value and "-r " or "", quoted(text.pick(option.help, "en"), "\\'"))
    end
  end
  return table.concat(out, "\n") .. "\n"
end

--- The completion script of a shell.
---@param shell "bash"|"zsh"|"fish"
---@param cli table  alisio.ui.cli
---@return string
function M.completion(shell, cli)
  return shells[shell](cli)
end

local function roff(line)
  return (line:gsub("…", "..."):gsub("\\", "\\e"):gsub("%-", "\\-"):gsub("^%.", "\\&."):gsub("^'", "\\&'"))
end

local function roff_option(option)
  local value = option.value and " \\fI" .. option.value .. "\\fR" or ""
  return "\\fB\\-\\-" .. roff(option.name) .. "\\fR" .. value
end

-- What the man page says behind the commands and options: section, then tag and text by turns; a
-- text without a tag is a paragraph.
local man_tail = {
  { "EXIT STATUS", "", "0 done, 1 failed, 2 wrong usage, 3 the command's own action was refused, 130 interrupted." },
  {
    "ENVIRONMENT",
    "ALISIO_CONFIG_HOME", "Folder of config.json, init.lua and plugins. Default: $XDG_CONFIG_HOME/alisio or ~/.config/alisio.",
    "ALISIO_STATE_HOME", "Folder of sessions, datasets and artifacts. Default: $XDG_STATE_HOME/alisio or ~/.local/state/alisio.",
    "ALISIO_ASSET_PATH", "A folder whose files are taken before those inside the program, to replace a part of it.",
    "LC_ALL, LC_MESSAGES, LANG", "Language of what is said: Spanish for es, else English.",
    "NO_COLOR", "When set and not empty, no colours.",
  },
  {
    "FILES",
    "~/.config/alisio/config.json", "Configuration; alisio setup writes a commented first one.",
    "~/.config/alisio/init.lua", "Settings, tools, models and hooks in Lua.",
    "~/.local/state/alisio/sessions.sqlite", "Sessions.",
  },
  {
    "EXAMPLES",
    'alisio run "sum of total by region in sales.csv"', "A question. Without a model the built-in rules answer.",
    'alisio run --allow-analysis "Summarize sales.csv into report.md and a bar chart"', "A report and a chart.",
    'alisio data query sales.csv "SELECT region, sum(total) FROM data GROUP BY 1" --json', "SQL on a file, for a script.",
  },
}

--- The man page, in roff.
---@param cli table       alisio.ui.cli
---@param version string
---@return string
function M.man(cli, version)
  local out = {
    ('.TH ALISIO 1 "" "alisio %s" "User commands"'):format(version),
    ".SH NAME",
    "alisio \\- answers and files from your data",
    ".SH SYNOPSIS",
    ".B alisio",
    ".I COMMAND",
    "[\\fIOPTION\\fR]...",
    ".SH DESCRIPTION",
    roff(text.pick(words.lead, "en")),
    ".SH COMMANDS",
  }
  for _, entry in ipairs(all(cli)) do
    local title, command = entry[1], entry[2]
    if not command.commands then
      out[#out + 1] = ".TP"
      local arguments = command.arguments and " \\fI" .. roff(text.pick(command.arguments, "en")) .. "\\fR" or ""
      out[#out + 1] = "\\fBalisio " .. roff(title) .. "\\fR" .. arguments
      out[#out + 1] = roff(text.pick(command.help, "en"))
      for line in (command.details and text.pick(command.details, "en") or ""):gmatch "[^\n]+" do
        out[#out + 1] = ".IP"
        out[#out + 1] = roff(line)
      end
      for _, option in ipairs(command.options or {}) do
        option = type(option) == "string" and options.shared[option] or option
        out[#out + 1] = ".RS"
        out[#out + 1] = ".TP"
        out[#out + 1] = roff_option(option)
        out[#out + 1] = roff(option_help(option, "en"))
        out[#out + 1] = ".RE"
      end
    end
  end
  out[#out + 1] = ".SH OPTIONS"
  for _, option in ipairs(options.common) do
    out[#out + 1] = ".TP"
    out[#out + 1] = roff_option(option)
    out[#out + 1] = roff(option_help(option, "en"))
  end
  for _, section in ipairs(man_tail) do
    out[#out + 1] = ".SH " .. section[1]
    for i = 2, #section, 2 do
      if section[i] ~= "" then
        out[#out + 1] = ".TP"
        out[#out + 1] = "\\fB" .. roff(section[i]) .. "\\fR"
      end
      out[#out + 1] = roff(section[i + 1])
    end
  end
  return table.concat(out, "\n") .. "\n"
end

return M
