--- `alisio data`: what is in a table file, and SQL on it, without any model.
local fs = require "std.fs"
local json = require "std.json"
local path = require "std.path"
local term = require "std.term"
local text = require "std.text"
local words = require "alisio.kernel.words"
local data = require "alisio.data"
local table_lines = require "alisio.ui.cli.lib.table"

local M = {
  name = "data",
  cancels = true,
  help = { en = "Look into table files, and ask them SQL.", es = "Examina archivos de tablas y los consulta con SQL." },
}

local said = {
  file = { en = "Name the file.", es = "Indique el archivo." },
  query = {
    en = "Name the file or dataset, and the statement (or - to read it from standard input).",
    es = "Indique el archivo o conjunto de datos y la sentencia (o - para leerla de la entrada estándar).",
  },
  header = {
    en = "--header and --no-header contradict each other.",
    es = "--header y --no-header se contradicen.",
  },
  reading = { en = "Reading {name}… {percent}%  {rows} rows", es = "Leyendo {name}… {percent}%  {rows} filas" },
  head = { en = "{file}  {kind}, {rows} rows  {id}", es = "{file}  {kind}, {rows} filas  {id}" },
  reused = { en = " (read before)", es = " (leído antes)" },
  sheet = { en = "Table {table} ({name}), {rows} rows", es = "Tabla {table} ({name}), {rows} filas" },
  first = { en = "First rows", es = "Primeras filas" },
  more = { en = "The first {count} rows; there are more (--max-rows).", es = "Las primeras {count} filas; hay más (--max-rows)." },
}

local HEADS = {
  en = { "column", "type", "empty", "distinct", "min", "max", "mean", "most frequent" },
  es = { "columna", "tipo", "vacías", "distintos", "mín.", "máx.", "media", "más frecuente" },
}

local function show(value)
  if value == nil or value == json.null then
    return ""
  end
  return text.visible(tostring(value))
end

--- Shows how far the reading is, on a terminal.
local function progress(ctx, name)
  if ctx.quiet or not term.is_tty(2) then
    return nil, function() end
  end
  local drawn = false
  local function erase()
    if drawn then
      term.werr "\r\27[K"
    end
  end
  return function(step)
    local percent = step.total > 0 and 100 * step.bytes // step.total or 0
    local line = ctx:text(said.reading, { name = text.visible(name), percent = percent, rows = words.number(ctx.locale, step.rows) })
    drawn = true
    term.werr("\r\27[K" .. text.truncate(line, (term.size(2)) - 1))
  end, erase
end

--- Opens what a command names: a file, or a dataset by its id.
local function open(ctx, args, session)
  local name = args[1]
  if name:find "^ds_%w+$" and not fs.exists(path.absolute(name, ctx.cwd)) then
    return session.data:get(name)
  end
  local header = args.header and true or nil
  if args["no-header"] then
    header = false
  end
  local delimiter = args.delimiter
  if delimiter == "\\t" or delimiter == "tab" then
    delimiter = "\t"
  end
  local on_progress, erase = progress(ctx, path.basename(name))
  local _ <close> = setmetatable({}, { __close = erase })
  return session.data:open(path.absolute(name, ctx.cwd), {
    delimiter = delimiter, encoding = args.encoding, header = header, skip = args.skip,
  }, on_progress)
end

local function print_sheet(ctx, sheet)
  local rows = { HEADS[ctx.locale] }
  for _, c in ipairs(sheet.columns) do
    local top = c.top[1]
    rows[#rows + 1] = {
      show(c.name), c.type, words.number(ctx.locale, c.nulls),
      (c.distinctExact and "" or "~") .. words.number(ctx.locale, c.distinct),
      show(c.min), show(c.max), c.mean ~= json.null and c.mean and ("%.6g"):format(c.mean) or "",
      top and ("%s (%s)"):format(show(top.value), words.number(ctx.locale, top.count)) or "",
    }
  end
  ctx:out(table_lines.draw(rows, { [3] = true, [4] = true, [7] = true }))
  if #sheet.sample == 0 then
    return
  end
  local sample = { {} }
  for i, c in ipairs(sheet.columns) do
    sample[1][i] = show(c.name)
  end
  for _, row in ipairs(sheet.sample) do
    local cells = {}
    for i = 1, #sheet.columns do
      cells[i] = show(row[i])
    end
    sample[#sample + 1] = cells
  end
  ctx:out("\n" .. ctx:text(said.first) .. "\n" .. table_lines.draw(sample))
end

local function inspect(ctx, args)
  if not args[1] then
    return nil, ctx:text(said.file), "usage"
  elseif args.header and args["no-header"] then
    return nil, ctx:text(said.header), "usage"
  end
  local session, message, id, fields = ctx:session()
  if not session then
    return nil, message, id, fields
  end
  local described
  described, message, id, fields = open(ctx, args, session)
  if described and args.sample then
    local reused = described.reused
    described, message, id, fields = session.data:sample(described.id, args.sample)
    if described then
      described.reused = reused
    end
  end
  if not described then
    return nil, message, id, fields
  elseif ctx.json then
    ctx:print(data.document(described, ctx.locale))
    return
  end
  local rows = words.number(ctx.locale, described.rows)
  ctx:out(ctx:text(said.head, { file = show(described.file), kind = described.format, rows = rows, id = described.id })
    .. (described.reused and ctx:text(said.reused) or "") .. "\n")
  for _, sheet in ipairs(described.sheets) do
    fields = { table = sheet.table, name = show(sheet.name), rows = words.number(ctx.locale, sheet.rows) }
    ctx:out("\n" .. ctx:text(said.sheet, fields) .. "\n")
    print_sheet(ctx, sheet)
  end
  for _, note in ipairs(described.notes) do
    ctx:out("\n! " .. words.note(ctx.locale, note) .. "\n")
  end
end

local function print_answer(ctx, answer)
  local rows, right = { {} }, {}
  for i, name in ipairs(answer.columns) do
    rows[1][i] = show(name)
  end
  for n, row in ipairs(json.decode(answer.rowsJson)) do
    local cells = {}
    for i = 1, #answer.columns do
      cells[i] = show(row[i])
      if math.type(row[i]) and (n == 1 or right[i]) then
        right[i] = true
      elseif row[i] ~= json.null then
        right[i] = nil
      end
    end
    rows[#rows + 1] = cells
  end
  ctx:out(table_lines.draw(rows, right))
  if answer.truncated then
    ctx:say(said.more, { count = #rows - 1 })
  end
end

local function query(ctx, args)
  local sql = args[2]
  if not sql or args[3] then
    return nil, ctx:text(said.query), "usage"
  end
  local session, message, id, fields = ctx:session()
  if not session then
    return nil, message, id, fields
  end
  local described
  described, message, id, fields = open(ctx, args, session)
  if not described then
    return nil, message, id, fields
  end
  if sql == "-" then
    sql = io.read "a"
  end
  local answer
  answer, message, id, fields = session.data:query(described.id, sql,
    { maxRows = args["max-rows"], timeoutMs = args.timeout, raw = true })
  if not answer then
    return nil, message, id, fields
  elseif ctx.json then
    ctx:print {
      columns = json.array(answer.columns), rows = json.raw(answer.rowsJson), truncated = answer.truncated,
      elapsedMs = answer.elapsedMs, cut = answer.cut,
    }
    return
  end
  print_answer(ctx, answer)
end

local how = {
  { name = "delimiter", value = "C", kind = "string", help = { en = "Character between the fields.", es = "Carácter entre los campos." } },
  { name = "no-header", help = { en = "The first row is data.", es = "La primera fila son datos." } },
  { name = "header", help = { en = "The first row holds the names.", es = "La primera fila contiene los nombres." } },
  { name = "encoding", value = "NAME", kind = "string", values = { "utf-8", "utf-16le", "utf-16be", "windows-1252" },
    help = { en = "Encoding of the file.", es = "Codificación del archivo." } },
  { name = "skip", value = "N", kind = "integer", help = {
    en = "Leave out so many lines at the beginning.", es = "Omite tantas líneas al principio." } },
}

local function with_how(...)
  local list = { ... }
  return table.move(how, 1, #how, #list + 1, list)
end

M.commands = {
  {
    name = "inspect", arguments = { en = "FILE", es = "ARCHIVO" },
    help = {
      en = "Read a table file and describe it: columns, types, statistics, first rows.",
      es = "Lee un archivo de tabla y lo describe: columnas, tipos, estadísticas, primeras filas.",
    },
    options = with_how("session", { name = "sample", value = "N", kind = "integer", help = {
      en = "Show so many first rows (5).", es = "Muestra tantas primeras filas (5)." } }),
    run = inspect,
  },
  {
    name = "query", arguments = { en = "FILE|DATASET SQL|-", es = "ARCHIVO|DATOS SQL|-" },
    help = {
      en = "Run one read-only SELECT on a file or dataset. - reads it from standard input.",
      es = "Ejecuta un SELECT de solo lectura sobre un archivo o conjunto de datos. - lo lee de la entrada estándar.",
    },
    options = with_how("session",
      { name = "max-rows", value = "N", kind = "integer", help = {
        en = "At most so many rows (200, at most 1000).", es = "Como máximo tantas filas (200, máximo 1000)." } },
      { name = "timeout", value = "MS", kind = "integer", help = {
        en = "Milliseconds the statement may take.", es = "Milisegundos que puede tardar la sentencia." } }),
    run = query,
  },
}

return M
