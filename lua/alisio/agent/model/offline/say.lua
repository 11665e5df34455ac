--- The words, numbers and tables of the offline model's answers, in English and Spanish.
local text = require "std.text"

local M = {}

local phrases = {
  en = {
    rows = "Rows", period = "Period", to = "to", sum = "Total {m}",
    avg = "Average {m}", max = "Highest {m}", min = "Lowest {m}", count = "Rows", distinct = "Different values of {m}",
    by = "{what} by {d}", top = "Top {n} of {of}: {what} by {d}", largest = "The {n} rows with the highest {m}",
    share = "Share", other = "Other ({n})", none = "(empty)",
    month = "month", quarter = "quarter", year = "year", day = "day",
    summary = "{name}: summary", key_figures = "Key figures", figure = "Figure", value = "Value", source = "Source",
    notes = "About the data", empty_cells = "{c}: {n} empty cells ({p}).", as_text = "{c}: {n} cells were kept as text.",
    source_line = "{file}, {rows} rows, {columns} columns. Every figure is the result of a query on all its rows; "
      .. "no model was asked.",
    columns = "Columns", column = "Column", kind = "Type", empty = "Empty", different = "Different", range = "Range",
    offline = "Answered by the built-in offline rules: no model, no account, no network.",
    report_made = "The report is in {file}.", chart_made = "The chart is in {file}.",
    no_chart = "No chart was drawn. {why}",
    no_python_tool = "No chart was drawn: Python was not offered in this run. Allow it with --allow-analysis; "
      .. "the figures are above.",
    failed = "{tool} failed: {why}",
    no_table = "There is no table in this folder. Put a CSV, JSON, XLSX or ODS file here, or name one with its path.",
    which = "There are several tables here: {list}. Name the one to use.",
    no_dimension = "{file} has no column that groups its rows, so there is nothing to draw bars of.",
    help = [[
No model is configured, so the built-in offline rules answer. They read one table and can:

- describe it: "describe {file}"
- count, add up or average a column by another: "total of {m} by {d}", "average {m} by {d}", "count by {d}"
- rank: "top 5 {d} by {m}"
- write a report: "summarize {file} into report.md"
- draw a bar chart: "bar chart of {m} by {d}"

For anything else, name a model: run "alisio setup" and see its models section.]],
  },
  es = {
    rows = "Filas", period = "Periodo", to = "a", sum = "Total de {m}",
    avg = "Promedio de {m}", max = "Máximo de {m}", min = "Mínimo de {m}", count = "Filas",
    distinct = "Valores distintos de {m}",
    by = "{what} por {d}", top = "Los {n} primeros de {of}: {what} por {d}", largest = "Las {n} filas con mayor {m}",
    share = "Parte", other = "Otros ({n})", none = "(vacío)",
    month = "mes", quarter = "trimestre", year = "año", day = "día",
    summary = "{name}: resumen", key_figures = "Cifras principales", figure = "Cifra", value = "Valor", source = "Fuente",
    notes = "Sobre los datos", empty_cells = "{c}: {n} celdas vacías ({p}).", as_text = "{c}: {n} celdas se conservaron como texto.",
    source_line = "{file}, {rows} filas, {columns} columnas. Cada cifra es el resultado de una consulta sobre todas sus "
      .. "filas; no se preguntó a ningún modelo.",
    columns = "Columnas", column = "Columna", kind = "Tipo", empty = "Vacías", different = "Distintos", range = "Rango",
    offline = "Respuesta de las reglas sin conexión incluidas: sin modelo, sin cuenta y sin red.",
    report_made = "El informe está en {file}.", chart_made = "El gráfico está en {file}.",
    no_chart = "No se dibujó el gráfico. {why}",
    no_python_tool = "No se dibujó el gráfico: Python no se ofreció en esta ejecución. Permítalo con --allow-analysis; "
      .. "las cifras están arriba.",
    failed = "{tool} falló: {why}",
    no_table = "No hay ninguna tabla en esta carpeta. Ponga aquí un archivo CSV, JSON, XLSX u ODS, o indique uno con su ruta.",
    which = "Aquí hay varias tablas: {list}. Indique cuál usar.",
    no_dimension = "{file} no tiene ninguna columna que agrupe sus filas, así que no hay barras que dibujar.",
    help = [[
No hay ningún modelo configurado, así que responden las reglas sin conexión. Leen una tabla y pueden:

- describirla: «describe {file}»
- contar, sumar o promediar una columna por otra: «suma de {m} por {d}», «promedio de {m} por {d}», «cuenta por {d}»
- ordenar: «los 5 {d} con más {m}»
- escribir un informe: «resume {file} en informe.md»
- dibujar un gráfico de barras: «gráfico de barras de {m} por {d}»

Para todo lo demás, indique un modelo: ejecute «alisio setup» y vea su sección de modelos.]],
  },
}

--- A phrase in a language, its {fields} filled in.
---@param locale string
---@param key string
---@param fields? table
---@return string
function M.t(locale, key, fields)
  return (phrases[locale][key]:gsub("{(%w+)}", function(name)
    return fields and fields[name] and tostring(fields[name]) or nil
  end))
end

--- A number as people of the language write it.
---@param v any        number; anything else is shown as it is
---@param locale string
---@param decimals? integer  default: 0 for integers, else 2
---@return string
function M.number(v, locale, decimals)
  if type(v) ~= "number" then
    return v == nil and "–" or tostring(v)
  end
  local digits = decimals or (math.type(v) == "integer" and 0 or 2)
  local whole, fraction
  if math.type(v) == "integer" and digits == 0 then
    whole = ("%d"):format(v)
  else
    whole, fraction = ("%." .. digits .. "f"):format(v):match "^(-?%d+)%.?(%d*)$"
    if not whole then
      return tostring(v)
    end
  end
  local sign, rest = whole:match "^(-?)(%d+)$"
  local comma, point = ",", "."
  if locale == "es" then
    comma, point = ".", ","
  end
  rest = rest:reverse():gsub("(%d%d%d)", "%1\0"):reverse():gsub("^%z", ""):gsub("%z", comma)
  return (sign == "-" and "−" or "") .. rest .. (fraction and fraction ~= "" and point .. fraction or "")
end

--- A share of 1 as a percentage with one decimal.
---@param v number
---@param locale string
---@return string
function M.percent(v, locale)
  return M.number(v * 100, locale, 1) .. (locale == "es" and " %" or "%")
end

--- A cell of a Markdown table: one line, its marks inert. An underscore within a word is no mark.
---@param v any
---@return string
function M.cell(v)
  local line = tostring(v):gsub("%s+", " ")
  local words = text.visible(line):gsub("[\\|`*<>%[%]]", "\\%0")
  return (words:gsub("%f[_%w]_", "\\_"):gsub("_%f[^_%w]", "\\_"))
end

--- A Markdown table.
---@param heads string[]
---@param rows string[][]
---@param numeric table<integer, boolean>  columns set to the right
---@return string
function M.table(heads, rows, numeric)
  local out, marks = {}, {}
  for i = 1, #heads do
    marks[i] = numeric[i] and "---:" or "---"
  end
  out[1] = "| " .. table.concat(heads, " | ") .. " |"
  out[2] = "| " .. table.concat(marks, " | ") .. " |"
  for _, row in ipairs(rows) do
    out[#out + 1] = "| " .. table.concat(row, " | ") .. " |"
  end
  return table.concat(out, "\n")
end

--- A title from a file's name: "sales_2025.csv" → "Sales 2025".
---@param stem string
---@return string
function M.title(stem)
  local words = stem:gsub("[_%-]+", " ")
  local first = words:match(utf8.charpattern) or ""
  return (first:upper() .. words:sub(#first + 1))
end


return M
