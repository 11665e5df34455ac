--- Reads a request in English or Spanish: its words, and what they ask for.
local path = require "std.path"
local text = require "std.text"

local M = {}

-- Words that mean the same thing of a table, so that a request in one language finds a column
-- named in the other. Without accents, singular.
local concepts = {
  amount = "amount total revenue sale income turnover importe monto venta ingreso facturacion valor value",
  quantity = "quantity qty unit piece cantidad unidad pieza",
  price = "price precio rate tarifa",
  cost = "cost coste costo",
  profit = "profit margin ganancia beneficio margen",
  discount = "discount descuento rebaja",
  score = "score rating grade nota puntuacion calificacion",
  hours = "hour hora",
  date = "date fecha",
  product = "product item article producto articulo",
  customer = "customer client buyer cliente comprador",
  seller = "seller salesperson salesman vendedor vendedora comercial",
  region = "region zone area zona",
  country = "country nation pais",
  city = "city town ciudad municipio",
  channel = "channel canal",
  category = "category kind type categoria tipo clase",
  store = "store shop branch tienda sucursal",
  department = "department team departamento equipo",
  status = "status estado",
}

local asks = {
  report = "report informe reporte document documento",
  summary = "summarize summarise summary overview resume resumir resumen resumelo resuma",
  chart = "chart graph plot bars grafico grafica barra barras diagrama",
  describe = "describe inspect explain look show structure columns schema describir describa explica explicar "
    .. "muestra mostrar ver estructura columna columnas inspeccionar contiene",
  sum = "sum total totals suma sumar sume totales",
  avg = "average avg mean promedio media medio promedia",
  count = "count many rows conteo cuenta contar cuente cuantos cuantas filas",
  max = "maximum max highest maximo maxima",
  min = "minimum min lowest minimo minima",
  top = "top best largest biggest most leading mejores mejor mayores mas principales primeros primeras",
  distinct = "distinct different unique distintos distintas diferentes unicos unicas",
}

local buckets = {
  day = "day daily dia diario", month = "month monthly mes mensual",
  quarter = "quarter quarterly trimestre trimestral", year = "year yearly annual ano anual",
}

local by_words = "by per each por cada segun"

local spanish = "el la los las de del un una y en por cada segun con para que cual cuantos cuantas cuanto hay es "
  .. "informe reporte grafico grafica barras resume resumen suma promedio media total mejores mas describe muestra"
local english = "the of a an and in by per each with for what which how many is are report chart bar summarize "
  .. "summary sum average mean total top best most describe show"

local joining = {}
for word in ("the of a an and in on at to by per each with for from or no as is are "
  .. "el la los las lo de del un una y e o en por cada segun con para que a al sin su es"):gmatch "%S+" do
  joining[word] = true
end

local numbers = {
  one = 1, two = 2, three = 3, four = 4, five = 5, six = 6, seven = 7, eight = 8, nine = 9, ten = 10,
  uno = 1, una = 1, dos = 2, tres = 3, cuatro = 4, cinco = 5, seis = 6, siete = 7, ocho = 8, nueve = 9, diez = 10,
}

local function set(list)
  local out = {}
  for word in list:gmatch "%S+" do
    out[word] = true
  end
  return out
end

local ask_sets, bucket_sets = {}, {}
for name, list in pairs(asks) do
  ask_sets[name] = set(list)
end
for name, list in pairs(buckets) do
  bucket_sets[name] = set(list)
end
local by_set, spanish_set, english_set = set(by_words), set(spanish), set(english)

local concept_of = {}
for name, list in pairs(concepts) do
  for word in list:gmatch "%S+" do
    concept_of[word] = name
  end
end

--- The forms a word may be the plural of, itself included; English and Spanish.
---@param word string  lower case, no accents
---@return string[]
function M.forms(word)
  local out = { word }
  if #word > 3 and word:sub(-1) == "s" then
    out[#out + 1] = word:sub(1, -2)
  end
  if #word > 4 and word:sub(-2) == "es" then
    out[#out + 1] = word:sub(1, -3)
  end
  if #word > 4 and word:sub(-3) == "ies" then
    out[#out + 1] = word:sub(1, -4) .. "y"
  end
  return out
end

--- Whether two words are the same but for their plural.
---@param a string
---@param b string
---@return boolean
function M.same(a, b)
  for _, x in ipairs(M.forms(a)) do
    for _, y in ipairs(M.forms(b)) do
      if x == y then
        return true
      end
    end
  end
  return false
end

--- The concept a word stands for, or nil.
---@param word string
---@return string?
function M.concept(word)
  for _, form in ipairs(M.forms(word)) do
    if concept_of[form] then
      return concept_of[form]
    end
  end
end

--- The words of a text: lower case, without accents; digits count as letters.
---@param words string
---@return string[]
function M.words(words)
  local out = {}
  for word in text.fold(words):gmatch "[%w]+" do
    out[#out + 1] = word
  end
  return out
end

local function has(words, wanted)
  for i, word in ipairs(words) do
    if wanted[word] then
      return i
    end
  end
end

--- The file names in a request: quoted, or words with an ending.
local function names(prompt)
  local out = {}
  for _, pattern in ipairs { '"([^"\n]+%.%w+)"', "'([^'\n]+%.%w+)'", "`([^`\n]+%.%w+)`", "“([^”\n]+%.%w+)”", "«%s*([^»\n]-%.%w+)%s*»" } do
    for name in prompt:gmatch(pattern) do
      out[#out + 1] = name
    end
  end
  for word in prompt:gmatch "[^%s\"'`«»“”¿?¡!,;()]+" do
    local name = word:gsub("[%.:]+$", ""):gsub("^@", "")
    if name:find "%w%.%a%w*$" then
      out[#out + 1] = name
    end
  end
  return out
end

--- The language of a request; `fallback` when its words do not tell.
---@param prompt string
---@param fallback? string
---@return string locale  "en" or "es"
function M.locale(prompt, fallback)
  local es, en = 0, 0
  for _, word in ipairs(M.words(prompt)) do
    es = es + (spanish_set[word] and 1 or 0)
    en = en + (english_set[word] and 1 or 0)
  end
  if prompt:find "[¿¡ñ]" then
    es = es + 2
  end
  if es == en then
    return fallback == "es" and "es" or "en"
  end
  return es > en and "es" or "en"
end

--- Takes a run of words out of a list, wherever it stands.
local function without(words, run)
  local out, i = {}, 1
  while i <= #words do
    local all = #run > 0
    for k, word in ipairs(run) do
      all = all and words[i + k - 1] == word
    end
    if not all then
      out[#out + 1] = words[i]
    end
    i = i + (all and #run or 1)
  end
  return out
end

--- Whether a word only joins others: it names no column.
---@param word string  lower case, no accents
---@return boolean
function M.joins(word)
  return joining[word] or false
end

--- What a request asks for.
---@param prompt string
---@param fallback? string  locale
---@param file? string      the file it turned out to be about: its name is no part of the question
---@return table wish  { locale, words, files, report?, summary?, chart?, describe?, top?, limit?, aggregation?, distinct?, by?, bucket? }
function M.read(prompt, fallback, file)
  local wish = { locale = M.locale(prompt, fallback), files = {} }
  local words = M.words(prompt)
  if file then
    local stem = M.words(path.stem(file))
    words = without(words, M.words(file))
    words = #stem > 1 and without(words, stem) or words -- one word may be a column as well
  end
  for _, name in ipairs(names(prompt)) do
    if name:lower():find "%.md$" or name:lower():find "%.markdown$" then
      wish.report = wish.report or name
    else
      wish.files[#wish.files + 1] = name
    end
    words = without(words, M.words(name))
  end
  wish.words = words
  for _, kind in ipairs { "summary", "chart", "describe", "top", "distinct" } do
    wish[kind] = has(words, ask_sets[kind])
  end
  if not wish.report and has(words, ask_sets.report) then
    wish.report = wish.locale == "es" and "informe.md" or "report.md"
  end
  local first = math.huge
  for _, kind in ipairs { "count", "avg", "sum", "max", "min" } do
    local at = has(words, ask_sets[kind])
    if at and at < first then
      wish.aggregation, wish.aggregation_at, first = kind, at, at
    end
  end
  wish.by = has(words, by_set)
  for kind, list in pairs(bucket_sets) do
    local at = has(words, list)
    if at and by_set[words[at - 1]] or at and kind ~= "day" and words[at]:find "ly$" then
      wish.bucket = kind
    end
  end
  for i, word in ipairs(words) do
    local n = math.tointeger(tonumber(word)) or (i > 1 and numbers[word])
    if n and n >= 1 and n <= 100 and wish.top then
      wish.limit = wish.limit or n
    end
  end
  return wish
end

return M
