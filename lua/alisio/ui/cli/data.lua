--- `alisio data`: what is in a table file, and SQL on it, without any model.
local clock = require "std.clock"
local fs = require "std.fs"
local json = require "std.json"
local path = require "std.path"
local term = require "std.term"
local words = require "alisio.kernel.words"
local data = require "alisio.data"
local distribution = require "alisio.data.distribution"
local cells = require "alisio.ui.cli.lib.cells"
local inspect_page = require "alisio.ui.cli.lib.inspect"
local progress = require "alisio.ui.cli.lib.progress"
local row_lines = require "alisio.ui.cli.lib.rows"
local table_lines = require "alisio.ui.cli.lib.table"

local M = {
  name = "data",
  cancels = true,
  help = { en = "Look into table files, and ask them SQL.", es = "Examina archivos de tablas y los consulta con SQL." },
}

local said = {
  file = { en = "Name one file.", es = "Indique un archivo." },
  query = {
    en = "Name the file or dataset, and the statement (or - to read it from standard input).",
    es = "Indique el archivo o conjunto de datos y la sentencia (o - para leerla de la entrada estándar).",
  },
  header = {
    en = "--header and --no-header contradict each other.",
    es = "--header y --no-header se contradicen.",
  },
  head = { en = "{file}  {kind}, {rows} rows  {id}", es = "{file}  {kind}, {rows} filas  {id}" },
  reused = { en = " (read before)", es = " (leído antes)" },
  sheet = { en = "Table {table} ({name}), {rows} rows", es = "Tabla {table} ({name}), {rows} filas" },
  first = { en = "First rows", es = "Primeras filas" },
  delimiter = {
    en = "--delimiter takes one character (or tab), not “{given}”.",
    es = "--delimiter lleva un carácter (o tab), no «{given}».",
  },
  no_sheet = { en = "There is no sheet {sheet}. There are: {names}.", es = "No existe la hoja {sheet}. Hay: {names}." },
  head_more = { en = "The first {count} of {rows} rows (--head N).", es = "Las primeras {count} de {rows} filas (--head N)." },
  more = { en = "The first {count} rows; there are more (--max-rows).", es = "Las primeras {count} filas; hay más (--max-rows)." },
}

local NAMED = { tab = "\t", ["\\t"] = "\t" }
local HEAD = 10
local BLOCK = 1000 -- rows of one page
local DRAW_MS = 1500 -- that all histograms may take; those that come later are left out

local SCHEMA = { en = { "column", "type", "heading in the file" }, es = { "columna", "tipo", "encabezado en el archivo" } }
local HEADS = {
  en = { "column", "type", "empty", "distinct", "min", "max", "mean", "most frequent" },
  es = { "columna", "tipo", "vacías", "distintos", "mín.", "máx.", "media", "más frecuente" },
}

--- Opens what a command names: a file, or a dataset by its id.
---@return alisio.Session? session
---@return table|string described  or the message
---@return string? id
---@return table? fields
local function open(ctx, args, words_count, missing)
  local name = args[1]
  if not name or args[words_count + 1] then
    return nil, ctx:text(missing), "usage"
  elseif args.header and args["no-header"] then
    return nil, ctx:text(said.header), "usage"
  end
  local delimiter = NAMED[args.delimiter] or args.delimiter
  if delimiter and utf8.len(delimiter) ~= 1 then
    return nil, ctx:text(said.delimiter, { given = args.delimiter }), "usage"
  end
  local session, message, id, fields = ctx:session()
  if not session then
    return nil, message, id, fields
  end
  local described
  if name:find "^ds_%w+$" and not fs.exists(path.absolute(name, ctx.cwd)) then
    described, message, id, fields = session.data:get(name)
  else
    local header = args.header and true or nil
    if args["no-header"] then
      header = false
    end
    local on_progress, erase = progress.reading(ctx, path.basename(name))
    local _ <close> = setmetatable({}, { __close = erase })
    described, message, id, fields = session.data:open(path.absolute(name, ctx.cwd), {
      delimiter = delimiter, encoding = args.encoding, format = args.format, header = header, skip = args.skip,
    }, on_progress)
  end
  if not described then
    return nil, message, id, fields
  end
  return session, described
end

--- Columns with what is known of them, whole: for a pipe.
local function print_columns(ctx, sheet)
  local rows = { HEADS[ctx.locale] }
  for _, c in ipairs(sheet.columns) do
    local top = c.top[1]
    rows[#rows + 1] = {
      cells.show(c.name), cells.show(c.type), words.number(ctx.locale, c.nulls),
      (c.distinctExact and "" or "~") .. words.number(ctx.locale, c.distinct),
      cells.show(c.min), cells.show(c.max), c.mean ~= json.null and c.mean and ("%.6g"):format(c.mean) or "",
      top and ("%s (%s)"):format(cells.show(top.value), words.number(ctx.locale, top.count)) or "",
    }
  end
  ctx:out(table_lines.draw(rows, { [3] = true, [4] = true, [7] = true }))
end

--- Rows under the names of their columns: on a terminal as many as fit, on a pipe whole, those of numbers at
--- the right.
local function print_rows(ctx, names, list)
  if term.is_tty(1) then
    local options = { width = (term.size(1)), locale = ctx.locale, color = term.color(1) }
    ctx:out(table.concat(row_lines.lines(names, list, options), "\n") .. "\n")
    return
  end
  local rows, right = { {} }, {}
  for i, name in ipairs(names) do
    rows[1][i] = cells.show(name)
  end
  for n, row in ipairs(list) do
    local line = {}
    for i = 1, #names do
      line[i] = cells.show(row[i])
      if math.type(row[i]) and (n == 1 or right[i]) then
        right[i] = true
      elseif row[i] ~= json.null then
        right[i] = nil
      end
    end
    rows[#rows + 1] = line
  end
  ctx:out(table_lines.draw(rows, right))
end

--- The page of a dataset on a terminal, with drawings where they come in no time.
local function draw(ctx, session, described, sample)
  local spreads, ends = {}, clock.monotonic() + DRAW_MS
  for i, sheet in ipairs(described.sheets) do
    local left = math.floor(ends - clock.monotonic())
    spreads[i] = left > 0 and distribution.of(session.data, described.id, sheet, left) or nil
  end
  local lines = inspect_page.lines(described, {
    locale = ctx.locale, width = math.max(40, (term.size(1))), color = term.color(1), utf8 = term.utf8(),
    draws = (ctx.env "TERM" or "dumb") ~= "dumb", spreads = spreads, sample = sample,
  })
  ctx:out(table.concat(lines, "\n") .. "\n")
end

--- What is known of a dataset, for whoever reads it.
local function show(ctx, session, described, sample)
  if ctx.json then
    ctx:print(data.document(described, ctx.locale))
    return
  elseif term.is_tty(1) then
    draw(ctx, session, described, sample)
    return
  end
  local rows = words.number(ctx.locale, described.rows)
  ctx:out(ctx:text(said.head, { file = cells.show(described.file), kind = cells.show(described.format), rows = rows, id = described.id })
    .. (described.reused and ctx:text(said.reused) or "") .. "\n")
  for _, sheet in ipairs(described.sheets) do
    local fields = { table = cells.show(sheet.table), name = cells.show(sheet.name), rows = words.number(ctx.locale, sheet.rows) }
    ctx:out("\n" .. ctx:text(said.sheet, fields) .. "\n")
    print_columns(ctx, sheet)
    if sample and #sheet.sample > 0 then
      local names = {}
      for i, column in ipairs(sheet.columns) do
        names[i] = column.name
      end
      ctx:out("\n" .. ctx:text(said.first) .. "\n")
      print_rows(ctx, names, sheet.sample)
    end
  end
  for _, note in ipairs(described.notes) do
    ctx:out("\n! " .. cells.text(words.note(ctx.locale, note)) .. "\n")
  end
end

local function inspect(ctx, args)
  local session, described, id, fields = open(ctx, args, 1, said.file)
  if not session then
    return nil, described, id, fields
  end
  if args.sample then
    local message
    local reused = described.reused
    described, message, id, fields = session.data:sample(described.id, args.sample)
    if not described then
      return nil, message, id, fields
    end
    described.reused = reused
  end
  show(ctx, session, described, true)
end

local function query(ctx, args)
  local sql = args[2]
  if not sql then
    return nil, ctx:text(said.query), "usage"
  end
  local session, described, id, fields = open(ctx, args, 2, said.query)
  if not session then
    return nil, described, id, fields
  end
  if sql == "-" then
    sql = io.read "a"
  end
  local answer, message
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
  local rows = json.decode(answer.rowsJson)
  for _, row in ipairs(rows) do
    for i, value in ipairs(row) do
      if math.type(value) == "float" then -- a sum, as SQLite would write it: 33616.77 for 33616.770000000004
        row[i] = tonumber(("%.15g"):format(value)) + 0.0
      end
    end
  end
  print_rows(ctx, answer.columns, rows)
  if answer.truncated then
    ctx:say(said.more, { count = #rows })
  end
end

--- The sheet a command means: the one it names, or the first.
local function chosen(ctx, args, described)
  local names = {}
  for i, sheet in ipairs(described.sheets) do
    names[i] = cells.text(sheet.name)
    if not args.sheet or args.sheet == sheet.name or args.sheet == sheet.table then
      return sheet, i
    end
  end
  return nil, ctx:text(said.no_sheet, { sheet = args.sheet, names = table.concat(names, ", ") }), "usage"
end

--- The first rows of a sheet.
local function head(ctx, session, described, sheet, count)
  local names, rows = {}, json.array()
  for i, column in ipairs(sheet.columns) do
    names[i] = column.name
  end
  count = math.min(count, sheet.rows)
  while #rows < count do -- a page has fewer rows than it may where these are large
    local page, message, id, fields = session.data:rows(described.id, {
      sheet = sheet.table, first = #rows + 1, count = math.min(count - #rows, BLOCK), raw = true,
    })
    if not page then
      return nil, message, id, fields
    end
    local block = json.decode(page.rowsJson)
    table.move(block, 1, #block, #rows + 1, rows)
    count = #block > 0 and count or #rows -- else one that lies would keep us here
  end
  if ctx.json then
    ctx:print { table = sheet.table, columns = json.array(names), rows = rows, truncated = count < sheet.rows }
    return
  end
  print_rows(ctx, names, rows)
  if count < sheet.rows then
    ctx:say(said.head_more, { count = words.number(ctx.locale, count), rows = words.number(ctx.locale, sheet.rows) })
  end
end

--- Names and types of the columns.
local function schema(ctx, described)
  if ctx.json then
    local sheets = json.array()
    for i, sheet in ipairs(described.sheets) do
      local columns = json.array()
      for k, column in ipairs(sheet.columns) do
        columns[k] = { name = column.name, label = column.label, type = column.type }
      end
      sheets[i] = { name = sheet.name, table = sheet.table, rows = sheet.rows, columns = columns }
    end
    ctx:print { sheets = sheets }
    return
  end
  for i, sheet in ipairs(described.sheets) do
    local fields = { table = cells.show(sheet.table), name = cells.show(sheet.name), rows = words.number(ctx.locale, sheet.rows) }
    ctx:out((i > 1 and "\n" or "") .. ctx:text(said.sheet, fields) .. "\n")
    local rows = { SCHEMA[ctx.locale] }
    for _, column in ipairs(sheet.columns) do
      rows[#rows + 1] = { cells.show(column.name), cells.show(column.type), cells.show(column.label) }
    end
    ctx:out(table_lines.draw(rows))
  end
end

--- Whether a person looks at a screen that can be drawn on.
local function on_screen(ctx)
  local kind = ctx.env "TERM" or ""
  return not ctx.json and term.is_tty(0) and term.is_tty(1) and kind ~= "" and kind ~= "dumb"
end

local function view(ctx, args)
  local session, described, id, fields = open(ctx, args, 1, said.file)
  if not session then
    return nil, described, id, fields
  end
  local sheet, place
  sheet, place, id = chosen(ctx, args, described)
  if not sheet then
    return nil, place, id
  elseif args.schema then
    return schema(ctx, described)
  elseif args.stats then
    return show(ctx, session, described, false)
  elseif args.first or not on_screen(ctx) then
    return head(ctx, session, described, sheet, args.head or HEAD)
  end
  return require("alisio.ui.cli.lib.pager").run {
    source = require("alisio.ui.cli.lib.pager.source").new(session.data, described.id),
    described = described, locale = ctx.locale, sheet = place,
  }
end

local how = {
  { name = "format", value = "NAME", kind = "string", values = { "csv", "tsv", "json", "jsonl", "xlsx", "ods" },
    help = { en = "Read it as this, whatever it looks like.", es = "Lo lee como esto, parezca lo que parezca." } },
  { name = "delimiter", value = "C", kind = "string",
    help = { en = "Character between the fields, or tab.", es = "Carácter entre los campos, o tab." } },
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
      en = "Read a table file (CSV, TSV, JSON, JSONL, XLSX, ODS; also packed) and describe it: columns, types, statistics, first rows.",
      es = "Lee un archivo de tabla (CSV, TSV, JSON, JSONL, XLSX, ODS; también comprimido) y lo describe: columnas, tipos, "
        .. "estadísticas, primeras filas.",
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
  {
    name = "view", arguments = { en = "FILE|DATASET", es = "ARCHIVO|DATOS" },
    help = {
      en = "Show a table on the terminal: move, sort, filter, find. On a pipe: its first rows.",
      es = "Muestra una tabla en la terminal: recorrer, ordenar, filtrar, buscar. En una tubería: sus primeras filas.",
    },
    options = with_how("session",
      { name = "head", value = "[N]", kind = "integer", alone = "first", help = {
        en = "Print the first rows (10) and leave.", es = "Imprime las primeras filas (10) y sale." } },
      { name = "schema", help = { en = "Print names and types of the columns and leave.",
        es = "Imprime los nombres y tipos de las columnas y sale." } },
      { name = "stats", help = { en = "Print what is known of the columns and leave.",
        es = "Imprime lo que se sabe de las columnas y sale." } },
      { name = "sheet", value = "NAME", kind = "string", help = {
        en = "Begin with this sheet of a workbook.", es = "Empieza por esta hoja de un libro." } }),
    run = view,
  },
}

return M
