--- The built-in model: rules that read a request, call the tools any model has, and write the answer.
-- It plays a model through the same loop and the same door, so that the main job works with no
-- account and no network. It keeps no state: the rules run from the start at every turn, and a tool
-- whose result is not in the conversation yet ends the turn with that call.
local json = require "std.json"
local path = require "std.path"
local columns = require "alisio.agent.model.offline.columns"
local language = require "alisio.agent.model.offline.language"
local say = require "alisio.agent.model.offline.say"
local sql = require "alisio.agent.model.offline.sql"

local M = { name = "offline" }

local table_endings = { csv = true, tsv = true, tab = true, json = true, jsonl = true, ndjson = true, xlsx = true, ods = true }
-- What only looks may be asked again when a crash or a cancel took its answer.
local reads = { list_files = true, data_inspect = true, data_query = true }
local MAX_GROUPS = 1000
local BARS = 12
local REPORT_ROWS = 10
local ANSWER_ROWS = 20

--- The conversation: the last request, what tools answered since, and the file spoken of before.
local function read(request)
  local talk, last, calls = { offered = {}, results = {}, prompt = "" }, 0, {}
  for _, tool in ipairs(request.tools) do
    talk.offered[tool.name] = true
  end
  for i, message in ipairs(request.messages) do
    if message.role == "user" then
      last, talk.prompt = i, message.text
    end
  end
  for i, message in ipairs(request.messages) do
    for _, call in ipairs(message.toolCalls or {}) do
      calls[call.id] = call
      talk.previous = call.name == "data_inspect" and call.input.path or talk.previous
    end
    local call = message.role == "tool" and calls[message.callId]
    local lost = message.status == "uncertain" or message.status == "cancelled"
    if call and i > last and not (lost and reads[call.name]) then
      talk.results[call.name .. json.encode(call.input)] = message
    end
  end
  return talk
end

--- Inside the rules: the results of calls, all asked for in one turn so that reads run side by side.
local function ask(calls)
  return coroutine.yield(calls)
end

local function call(name, input)
  return ask({ { name = name, input = input } })[1]
end

local function value(cell)
  if cell == json.null then
    return nil
  end
  return cell
end

--- Rows of a query's result as arrays with nil for NULL, or nil and why there are none.
local function rows_of(message)
  if message.status ~= "ok" or not message.table then
    return nil, message.text
  end
  local out = {}
  for i, row in ipairs(message.table.rows) do
    local cells = {}
    for k = 1, #message.table.columns do
      cells[k] = value(row[k])
    end
    out[i] = cells
  end
  return out
end

local packings = { gz = true, gzip = true, bz2 = true, xz = true, zst = true, zstd = true, zip = true }

local function is_table(name)
  local ending = path.ext(name):lower():gsub("^%.", "")
  if packings[ending] then -- by the name within: sales.csv.gz
    ending = path.ext(path.stem(name)):lower():gsub("^%.", "")
  end
  return table_endings[ending] == true
end

--- The file a request is about: one it names, else the only table, else the one spoken of before.
local function choose(wish, prompt, listed, previous)
  local tables = {}
  for _, name in ipairs(listed) do
    if is_table(name) then
      tables[#tables + 1] = name
    end
  end
  local best
  local folded = table.concat(language.words(prompt), " ")
  for _, name in ipairs(tables) do
    local whole = table.concat(language.words(name), " ")
    if (" " .. folded .. " "):find(" " .. whole .. " ", 1, true) and (not best or #name > #best) then
      best = name
    end
  end
  if best then
    return best
  end
  for _, name in ipairs(wish.files) do
    if is_table(name) then
      return name
    end
  end
  for _, name in ipairs(tables) do
    local stem = table.concat(language.words(path.stem(name)), " ")
    if #stem > 2 and (" " .. folded .. " "):find(" " .. stem .. " ", 1, true) and (not best or #name > #best) then
      best = name
    end
  end
  return best or (#tables == 1 and tables[1]) or previous, tables
end

--- The first table of an inspection, as { table, rows, columns }.
local function catalogue(message)
  local sheet = { columns = {} }
  for _, row in ipairs(message.table.rows) do
    local cell = {}
    for k, name in ipairs(message.table.columns) do
      cell[name] = value(row[k])
    end
    if not sheet.table or sheet.table == cell.table then
      sheet.table, sheet.rows = cell.table, cell.rows
      sheet.columns[#sheet.columns + 1] = cell
    end
  end
  return sheet
end

--- A column's label as prose has it: "unit_price" reads "unit price".
local function label(column)
  local words = column.label and column.label ~= "" and column.label or column.name
  return (words:gsub("_+", " "))
end

local function capital(words)
  local first = words:match(utf8.charpattern) or ""
  return first:upper() .. words:sub(#first + 1)
end

--- "Total units"; a column that is called a total already is its own name.
local function sum_of(measure, locale)
  local name = label(measure)
  local first = language.words(name)[1]
  return (first == "total" or first == "totals") and capital(name) or say.t(locale, "sum", { m = name })
end

--- What a plan computes, in words: "Total units".
local function what(plan, locale)
  local kind = plan.distinct and "distinct" or plan.aggregation
  if kind == "sum" then
    return sum_of(plan.measure, locale)
  end
  return say.t(locale, kind, { m = plan.measure and label(plan.measure) })
end

local function dimension(plan, locale)
  return plan.bucket and say.t(locale, plan.bucket) or label(plan.dimension)
end

local function decimals(plan, groups)
  if plan.aggregation == "avg" then
    return 2
  end
  for _, row in ipairs(groups) do
    if math.type(row[2]) == "float" then
      return 2
    end
  end
  return 0
end

--- Groups as a Markdown table; what is past `limit` is folded into one last line where it adds up.
local function group_table(plan, groups, locale, limit)
  local adds = plan.aggregation == "sum" or plan.aggregation == "count" and not plan.distinct
  local digits, total = decimals(plan, groups), 0
  for _, row in ipairs(groups) do
    if type(row[2]) == "number" then
      adds = adds and row[2] >= 0
      total = total + row[2]
    end
  end
  local shares = adds and total > 0
  local heads = { say.cell(capital(dimension(plan, locale))), say.cell(what(plan, locale)) }
  if shares then
    heads[3] = say.t(locale, "share")
  end
  local rows, rest = {}, 0
  for i, row in ipairs(groups) do
    if i <= limit then
      rows[i] = {
        row[1] == nil and say.t(locale, "none") or say.cell(row[1]), say.number(row[2], locale, digits),
        shares and say.percent((row[2] or 0) / total, locale) or nil,
      }
    else
      rest = rest + (row[2] or 0)
    end
  end
  if #groups > limit and adds then
    rows[#rows + 1] = {
      say.t(locale, "other", { n = #groups - limit }), say.number(rest, locale, digits),
      shares and say.percent(rest / total, locale) or nil,
    }
  end
  return say.table(heads, rows, { [2] = true, [3] = true })
end

local function heading(plan, groups, locale)
  local words = { what = what(plan, locale), d = dimension(plan, locale), of = #groups }
  if plan.limit and #groups > plan.limit then
    words.n = plan.limit
    return say.t(locale, "top", words)
  end
  return say.t(locale, "by", words)
end

--- The Python recipe of the chart: it asks the dataset itself, so the drawing is of the data.
local function recipe(plan, sheet, title, file, locale)
  local query = sql.grouped(plan, sheet.table) .. " LIMIT " .. (plan.bucket and MAX_GROUPS or math.min(plan.limit or BARS, BARS))
  -- A JSON text is a Python text as well: std.json escapes nothing that Python reads otherwise.
  return table.concat({
    "from alisio_runtime import datasets, output_dir, outputs, svg",
    "",
    "db = datasets.open(" .. json.encode(path.stem(sheet.file)) .. ")",
    "rows = db.execute(" .. json.encode(query) .. ").fetchall()",
    "labels = [" .. json.encode(say.t(locale, "none")) .. " if row[0] is None else str(row[0]) for row in rows]",
    "values = [row[1] for row in rows]",
    "chart = svg.bar(labels, values, title=" .. json.encode(title) .. ")",
    "(output_dir() / " .. json.encode(file) .. ").write_text(chart, encoding=\"utf-8\")",
    "outputs.declare(" .. json.encode(file) .. ", title=" .. json.encode(title) .. ")",
    "",
  }, "\n")
end

--- What is worth saying of a table's quality.
local function remarks(sheet, locale)
  local out = {}
  for _, column in ipairs(sheet.columns) do
    local name, nulls, texts = say.cell(capital(label(column))), column.nulls or 0, column.textFallbacks or 0
    if nulls > 0 then
      local share = say.percent(nulls / sheet.rows, locale)
      out[#out + 1] = "- " .. say.t(locale, "empty_cells", { c = name, n = say.number(nulls, locale), p = share })
    end
    if columns.is_number(column) and texts > 0 then
      out[#out + 1] = "- " .. say.t(locale, "as_text", { c = name, n = say.number(texts, locale) })
    end
  end
  return out
end

--- The queries of a report: key figures, three groupings, months.
local function report_plans(sheet)
  local measures = columns.measures(sheet.columns)
  local main, plans = measures[1], {}
  local base = { aggregation = main and (columns.adds_up(main) and "sum" or "avg") or "count", measure = main }
  local date = columns.date(sheet.columns)
  if date then
    plans[1] = { aggregation = base.aggregation, measure = main, dimension = date, bucket = "month" }
  end
  for i, column in ipairs(columns.dimensions(sheet.columns)) do
    if i <= 3 then
      plans[#plans + 1] = { aggregation = base.aggregation, measure = main, dimension = column }
    end
  end
  return measures, plans
end

local function report(sheet, measures, figures, plans, groups, locale)
  local out = { "# " .. say.cell(say.t(locale, "summary", { name = say.title(path.stem(sheet.file)) })), "" }
  local add = function(line)
    out[#out + 1] = line
  end
  local rows = { { say.t(locale, "rows"), say.number(figures[1], locale) } }
  local date = columns.date(sheet.columns)
  if date and date.min then
    rows[#rows + 1] = { say.t(locale, "period"), ("%s %s %s"):format(date.min:sub(1, 10), say.t(locale, "to"), date.max:sub(1, 10)) }
  end
  for i, measure in ipairs(measures) do
    if columns.adds_up(measure) then
      rows[#rows + 1] = { say.cell(sum_of(measure, locale)), say.number(figures[2 * i], locale) }
    end
    rows[#rows + 1] = {
      say.cell(what({ aggregation = "avg", measure = measure }, locale)), say.number(figures[2 * i + 1], locale, 2),
    }
  end
  add("## " .. say.t(locale, "key_figures"))
  add ""
  add(say.table({ say.t(locale, "figure"), say.t(locale, "value") }, rows, { [2] = true }))
  for i, plan in ipairs(plans) do
    add ""
    add("## " .. say.cell(heading(plan, groups[i], locale)))
    add ""
    add(group_table(plan, groups[i], locale, plan.bucket and MAX_GROUPS or REPORT_ROWS))
  end
  local notes = remarks(sheet, locale)
  if #notes > 0 then
    add ""
    add("## " .. say.t(locale, "notes"))
    add ""
    add(table.concat(notes, "\n"))
  end
  add ""
  add("## " .. say.t(locale, "source"))
  add ""
  add(say.t(locale, "source_line", { file = say.cell(sheet.file), rows = say.number(sheet.rows, locale), columns = #sheet.columns }))
  add ""
  return table.concat(out, "\n")
end

local function description(sheet, locale)
  local rows = {}
  for i, column in ipairs(sheet.columns) do
    local range = column.min and ("%s … %s"):format(say.cell(column.min), say.cell(column.max)) or "–"
    rows[i] = {
      say.cell(column.label or column.name), column.type, say.number(column.nulls, locale), say.number(column.distinct, locale), range,
    }
  end
  return ("**%s** · %s: %s · %s: %d\n\n%s"):format(say.cell(sheet.file), say.t(locale, "rows"), say.number(sheet.rows, locale),
    say.t(locale, "columns"), #sheet.columns, say.table({
      say.t(locale, "column"), say.t(locale, "kind"), say.t(locale, "empty"), say.t(locale, "different"), say.t(locale, "range"),
    }, rows, { [3] = true, [4] = true }))
end

local function capabilities(locale, sheet)
  local measure = sheet and columns.measures(sheet.columns)[1]
  local group = sheet and columns.dimensions(sheet.columns)[1]
  local es = locale == "es"
  return say.t(locale, "help", {
    file = sheet and sheet.file or "sales.csv", m = measure and label(measure) or es and "importe" or "amount",
    d = group and label(group) or "region",
  })
end

local function failed(locale, tool, why)
  return say.t(locale, "failed", { tool = tool, why = why })
end

--- Finds the table a request is about and reads what is in it, or answers why not.
local function survey(talk, wish)
  local locale, names = wish.locale, {}
  local listing = call("list_files", { recursive = false })
  for name in (listing.text .. "\n"):gmatch "([^\n]-)  %d+ bytes\n" do
    names[#names + 1] = name
  end
  local file, tables = choose(wish, talk.prompt, names, talk.previous)
  if not file then
    return nil, #tables == 0 and say.t(locale, "no_table") .. "\n\n" .. capabilities(locale)
      or say.t(locale, "which", { list = table.concat(tables, ", ") })
  end
  local inspected = call("data_inspect", { path = file })
  local id = inspected.status == "ok" and inspected.table and inspected.text:match "ds_[0-9a-z]+"
  if not id then
    return nil, failed(locale, "data_inspect", inspected.text)
  end
  local sheet = catalogue(inspected)
  sheet.file, sheet.id = file, id
  return sheet
end

--- Answers several statements at once: a list of row lists, or nil and why one failed.
local function query(sheet, statements)
  local calls, out = {}, {}
  for i, statement in ipairs(statements) do
    calls[i] = { name = "data_query", input = { datasetId = sheet.id, sql = statement, maxRows = MAX_GROUPS } }
  end
  for i, message in ipairs(ask(calls)) do
    local rows, why = rows_of(message)
    if not rows then
      return nil, why
    end
    rows.columns = message.table.columns
    out[i] = rows
  end
  return out
end

--- The report, published when a file was asked for; else it is the answer itself.
local function summarize(talk, wish, sheet)
  local locale = wish.locale
  local measures, plans = report_plans(sheet)
  local statements = { sql.figures(measures, sheet.table) }
  for _, plan in ipairs(plans) do
    statements[#statements + 1] = sql.grouped(plan, sheet.table)
  end
  local answers, why = query(sheet, statements)
  if not answers then
    return failed(locale, "data_query", why)
  end
  local figures = table.remove(answers, 1)[1]
  local words = report(sheet, measures, figures, plans, answers, locale)
  if not (wish.report and talk.offered.artifact_create) then
    return words
  end
  local made = call("artifact_create", {
    fileName = wish.report, title = say.t(locale, "summary", { name = say.title(path.stem(sheet.file)) }), text = words,
  })
  if made.status ~= "ok" then
    return failed(locale, "artifact_create", made.text) .. "\n\n" .. words -- what was found out is not lost
  end
  local line = {
    say.t(locale, "report_made", { file = wish.report }), say.t(locale, "rows") .. ": " .. say.number(figures[1], locale) .. ".",
  }
  if measures[1] and columns.adds_up(measures[1]) then
    line[3] = sum_of(measures[1], locale) .. ": " .. say.number(figures[2], locale) .. "."
  end
  return table.concat(line, " ")
end

--- The rows with the largest values of a column, as a table.
local function ranked(rows, plan, locale)
  local heads, cells, numeric = {}, {}, { true }
  for k, name in ipairs(rows.columns) do
    heads[k] = say.cell(name)
  end
  for i, row in ipairs(rows) do
    cells[i] = { say.number(row[1], locale) }
    for k = 2, #heads do
      cells[i][k] = row[k] == nil and say.t(locale, "none") or say.cell(row[k])
    end
  end
  return ("**%s**\n\n%s"):format(say.t(locale, "largest", { n = #rows, m = say.cell(label(plan.measure)) }),
    say.table(heads, cells, numeric))
end

--- One figure, a figure per group, or the top rows.
local function compute(wish, sheet, plan)
  local locale = wish.locale
  local top_rows = not plan.dimension and wish.top and plan.measure
  local statement = plan.dimension and sql.grouped(plan, sheet.table)
    or top_rows and sql.largest(plan, sheet.table, sheet.columns) or sql.single(plan, sheet.table)
  local answers, why = query(sheet, { statement })
  if not answers then
    return failed(locale, "data_query", why)
  end
  local rows = answers[1]
  if plan.dimension then
    return ("**%s**\n\n%s"):format(say.cell(heading(plan, rows, locale)),
      group_table(plan, rows, locale, plan.limit or (plan.bucket and MAX_GROUPS or ANSWER_ROWS)))
  elseif top_rows then
    return ranked(rows, plan, locale)
  end
  return ("%s: **%s**"):format(say.cell(what(plan, locale)), say.number(rows[1][1], locale, plan.aggregation == "avg" and 2 or nil))
end

--- Draws the chart, and says where it is or why there is none.
local function draw(talk, sheet, plan, locale)
  if not talk.offered.python_run then
    return say.t(locale, "no_python_tool")
  end
  local title = say.t(locale, "by", { what = what(plan, locale), d = dimension(plan, locale) })
  local file = path.slug(("%s by %s"):format(path.stem(sheet.file), plan.bucket or plan.dimension.name), 48) .. ".svg"
  local drawn = call("python_run", {
    title = title, inputs = json.array { { datasetId = sheet.id } }, code = recipe(plan, sheet, title, file, locale),
  })
  if drawn.status == "ok" then
    return say.t(locale, "chart_made", { file = file })
  end
  return say.t(locale, "no_chart", { why = (drawn.text:gsub("^[%l_]+: ", "")) })
end

--- The rules. Runs as a coroutine: `ask` yields.
local function answer(talk, wish)
  local locale = wish.locale
  local asked = wish.report or wish.summary or wish.chart or wish.describe or wish.top or wish.aggregation or wish.by
    or #wish.files > 0
  if not (asked and talk.offered.list_files and talk.offered.data_inspect and talk.offered.data_query) then
    return capabilities(locale)
  end
  local sheet, words = survey(talk, wish)
  if not sheet then
    return words
  end
  wish = language.read(talk.prompt, locale, sheet.file)
  local plan, parts = columns.plan(wish, sheet.columns), {}
  local chart = wish.chart and plan
  if chart and not plan.dimension then
    local group = columns.dimensions(sheet.columns)[1]
    chart = group and { aggregation = plan.aggregation, measure = plan.measure, limit = plan.limit, dimension = group }
  end
  if wish.report or wish.summary then
    parts[1] = summarize(talk, wish, sheet)
  elseif chart then
    parts[1] = compute(wish, sheet, chart)
  elseif plan.aggregation then
    parts[1] = compute(wish, sheet, plan)
  elseif wish.describe or not wish.by then
    parts[1] = description(sheet, locale)
  else
    return capabilities(locale, sheet)
  end
  if wish.chart then
    parts[#parts + 1] = chart and draw(talk, sheet, chart, locale) or say.t(locale, "no_dimension", { file = sheet.file })
  end
  return table.concat(parts, "\n\n")
end

--- Answers a request, as any provider does.
---@param request table  see alisio.agent.model
---@param emit fun(piece: table)
---@return table reply
function M.stream(request, emit)
  local talk = read(request)
  local wish = language.read(talk.prompt, request.locale)
  local usage = { inputTokens = 0, outputTokens = 0 }
  local rules = coroutine.create(answer)
  local ok, out = coroutine.resume(rules, talk, wish)
  while ok and coroutine.status(rules) == "suspended" do
    local results, missing = {}, false
    for i, wanted in ipairs(out) do
      results[i] = talk.results[wanted.name .. json.encode(wanted.input)]
      if not results[i] then
        missing = true
        emit { type = "tool_call", id = ("%s_%d"):format(wanted.name, i), name = wanted.name, input = wanted.input }
      end
    end
    if missing then
      return { stop = "tools", usage = usage }
    end
    ok, out = coroutine.resume(rules, results)
  end
  if not ok then
    error(out, 0)
  end
  emit { type = "text", text = out .. "\n\n" .. say.t(wish.locale, "offline") .. "\n" }
  return { stop = "end", usage = usage }
end

return M
