--- A named subset of JSON Schema 2020-12, and a shorthand for it.
--
-- Keywords: type, enum, const, properties, required, additionalProperties, minProperties,
-- maxProperties, dependentRequired, items, prefixItems, minItems, maxItems, uniqueItems, minLength,
-- maxLength, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, anyOf, oneOf, allOf,
-- not, $defs, $ref (inside the document). Annotations pass: title, description, default, examples,
-- format, deprecated, readOnly, writeOnly, $schema, $id, $comment. Any other keyword is a mistake
-- and raises when the schema is compiled.
--
-- The shorthand is a table of fields, `{ sku = "string", count = "integer?" }`, that accepts no
-- other keys. A field is a text: `string`, `integer`, `number`, `boolean`, `object`, `array`, `any`,
-- `null`, alternatives with `|`, literals as `"asc"|"desc"`, `[]` behind an element, `?` at the end
-- when the field may be missing. Or a list of that text, a description, and further keywords:
-- `{ "integer?", "how many rows", minimum = 1 }`. Or a table of fields again, or a JSON Schema.
local json = require "std.json"

local M = {}

---@class std.Schema
---@field json table  the JSON Schema it stands for, ready to be sent to a model
local Schema = {}
Schema.__index = Schema

local ARTICLE = {
  string = "a string", integer = "an integer", number = "a number", boolean = "true or false",
  object = "an object", array = "an array", null = "null",
}

local MAX_DEPTH = 200 -- of a value, and of references that lead nowhere

--- Edit distance with transpositions, capped: `limit` + 1 means "further than limit".
local function distance(a, b, limit)
  if math.abs(#a - #b) > limit then
    return limit + 1
  end
  local before, last, row = {}, {}, {}
  for j = 0, #b do
    last[j] = j
  end
  for i = 1, #a do
    row = { [0] = i }
    local best = i
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      row[j] = math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + cost)
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        row[j] = math.min(row[j], before[j - 2] + 1)
      end
      best = math.min(best, row[j])
    end
    if best > limit then
      return limit + 1
    end
    before, last = last, row
  end
  return row[#b] or #b
end

--- The candidate a person most likely meant, or nil when none is near. Case counts for little.
---@param name string
---@param candidates string[]
---@return string?
function M.nearest(name, candidates)
  local wanted = name:lower()
  local best, best_distance
  for _, candidate in ipairs(candidates) do
    local limit = math.max(1, math.min(#candidate, #name) // 3)
    local d = distance(wanted, candidate:lower(), limit)
    if d <= limit and (not best or d < best_distance or d == best_distance and candidate < best) then
      best, best_distance = candidate, d
    end
  end
  return best
end

--- What an error about a wrong name ends in: ", did you mean …?", or nothing.
---@param name any
---@param candidates string[]
---@return string
function M.hint(name, candidates)
  local near = M.nearest(tostring(name), candidates)
  return near and (", did you mean %s?"):format(near) or ""
end

-- Shorthand -----------------------------------------------------------------------------------

local function element(text, whole)
  local inner = text:match "^(.*)%[%]$"
  if inner then
    return { type = "array", items = element(inner, whole) }
  end
  local literal = text:match '^"([^"]*)"$'
  if literal then
    return { const = literal }
  end
  if text == "any" then
    return {}
  end
  if not ARTICLE[text] then
    local names = { "any" }
    for name in pairs(ARTICLE) do
      names[#names + 1] = name
    end
    error(("unknown type %q in shorthand %q%s"):format(text, whole, M.hint(text, names)), 0)
  end
  return { type = text }
end

--- `"string|integer?"` → the schema, and whether the field may be missing.
local function parse_text(text)
  local body, mark = text:match "^%s*(.-)%s*(%??)%s*$"
  local parts, literals = {}, json.array {}
  for part in (body .. "|"):gmatch "%s*(.-)%s*|" do
    parts[#parts + 1] = element(part, text)
    literals[#literals + 1] = parts[#parts].const
  end
  if #parts == 1 then
    return parts[1], mark == "?"
  elseif #literals == #parts then
    return { enum = literals }, mark == "?"
  end
  return { anyOf = json.array(parts) }, mark == "?"
end

local function is_schema(t)
  if type(t.type) == "string" and ARTICLE[t.type] or type(t.type) == "table" and #t.type > 0 then
    return true
  end
  for _, key in ipairs { "properties", "enum", "anyOf", "oneOf", "allOf" } do
    if type(t[key]) == "table" then
      return true
    end
  end
  return type(t["$ref"]) == "string"
end

local expand

local function expand_field(name, field)
  if type(field) == "string" then
    return parse_text(field)
  elseif type(field) ~= "table" then
    error(("field %q: expected a shorthand text or a table, got %s"):format(name, type(field)), 0)
  elseif type(field[1]) ~= "string" then
    return expand(field), false
  end
  local node, optional = parse_text(field[1])
  for key, value in pairs(field) do
    if key == 2 then
      node.description = value
    elseif key ~= 1 then
      node[key] = value
    end
  end
  return node, optional
end

--- A shorthand table becomes an object schema; a JSON Schema stays what it is.
function expand(source)
  if is_schema(source) then
    return source
  end
  local node = { type = "object", properties = {}, additionalProperties = false }
  local required = json.array {}
  for name, field in pairs(source) do
    if type(name) ~= "string" then
      error(("field names are texts, got %s"):format(tostring(name)), 0)
    end
    local ok, child, optional = pcall(expand_field, name, field)
    if not ok then
      error(("field %s: %s"):format(name, child), 0)
    end
    node.properties[name] = child
    if not optional then
      required[#required + 1] = name
    end
  end
  table.sort(required)
  node.required = #required > 0 and required or nil
  return node
end

-- Compiling: every keyword is known and has the right kind of value --------------------------------

local function want(kind)
  return function(value, where)
    if type(value) ~= kind then
      error(("%s: expected a %s, got %s"):format(where, kind, type(value)), 0)
    end
  end
end

local walk

local function list_of_schemas(value, where, root)
  want "table"(value, where)
  for i, child in ipairs(value) do
    walk(child, ("%s[%d]"):format(where, i - 1), root)
  end
end

local function map_of_schemas(value, where, root)
  want "table"(value, where)
  for name, child in pairs(value) do
    walk(child, where .. "." .. tostring(name), root)
  end
end

local function known_types(value, where)
  for _, name in ipairs(type(value) == "table" and value or { value }) do
    if not ARTICLE[name] then
      error(("%s: unknown type %q"):format(where, tostring(name)), 0)
    end
  end
end

local function resolve(root, ref)
  local node = ref:sub(1, 1) == "#" and root or nil
  for part in ref:sub(2):gmatch "/([^/]*)" do
    part = part:gsub("~1", "/"):gsub("~0", "~")
    node = type(node) == "table" and (node[part] or node[tonumber(part) and tonumber(part) + 1])
  end
  return node
end

local function known_ref(value, where, root)
  want "string"(value, where)
  if type(resolve(root, value)) ~= "table" then
    error(("%s: nothing stands at %q (only references inside the document are followed)")
      :format(where, value), 0)
  end
end

local function anything() end

local text, number, bool, list = want "string", want "number", want "boolean", want "table"

local KEYWORDS = {
  type = known_types, enum = list, const = anything,
  properties = map_of_schemas, required = list, dependentRequired = list,
  additionalProperties = function(...) return walk(...) end,
  minProperties = number, maxProperties = number,
  items = function(...) return walk(...) end, prefixItems = list_of_schemas,
  minItems = number, maxItems = number, uniqueItems = bool,
  minLength = number, maxLength = number,
  minimum = number, maximum = number, exclusiveMinimum = number, exclusiveMaximum = number,
  multipleOf = number,
  anyOf = list_of_schemas, oneOf = list_of_schemas, allOf = list_of_schemas,
  ["not"] = function(...) return walk(...) end,
  ["$defs"] = map_of_schemas, ["$ref"] = known_ref,
  title = text, description = text, default = anything, examples = list, format = text,
  deprecated = bool, readOnly = bool, writeOnly = bool,
  ["$schema"] = text, ["$id"] = text, ["$comment"] = text,
}

local KEYWORD_NAMES = {}
for name in pairs(KEYWORDS) do
  KEYWORD_NAMES[#KEYWORD_NAMES + 1] = name
end

function walk(node, where, root)
  if type(node) == "boolean" then
    return
  end
  want "table"(node, where)
  for keyword, value in pairs(node) do
    local check = KEYWORDS[keyword]
    if not check then
      error(("%s: unknown schema keyword %q%s"):format(where, tostring(keyword), M.hint(keyword, KEYWORD_NAMES)), 0)
    end
    check(value, where .. "." .. keyword, root)
  end
end

--- Makes a schema from the shorthand or from a JSON Schema. Raises at the caller when it is wrong.
---@param source table|string
---@return std.Schema
function M.compile(source)
  if getmetatable(source) == Schema then
    return source --[[@as std.Schema]]
  end
  local ok, result = pcall(function()
    local node
    if type(source) == "string" then
      node = parse_text(source)
    elseif type(source) == "table" then
      node = expand(source)
    else
      error("a schema is a table or a shorthand text, got " .. type(source), 0)
    end
    walk(node, "schema", node)
    return node
  end)
  if not ok then
    error(result, 2)
  end
  return setmetatable({ json = result }, Schema)
end

-- Checking ------------------------------------------------------------------------------------

local null, is_array = json.null, json.is_array
local NONE = {}

local function kind_of(value)
  local kind = type(value)
  if value == null or kind == "nil" then
    return "null"
  elseif kind == "number" then
    local whole = math.type(value) == "integer" or value == math.floor(value)
      and value > -math.huge and value < math.huge
    return whole and "integer" or "number"
  elseif kind ~= "table" then
    return kind
  elseif is_array(value) or #value > 0 then
    return "array"
  end
  return next(value) == nil and "empty" or "object"
end

local function fits(kind, name)
  return kind == name or kind == "integer" and name == "number"
    or kind == "empty" and (name == "object" or name == "array")
end

local function number_text(n)
  return math.type(n) == "integer" and tostring(n) or ("%.14g"):format(n)
end

--- A value as an error shows it, short.
local function show(value)
  local kind = kind_of(value)
  if kind == "string" then
    if #value > 40 then
      value = value:sub(1, (utf8.offset(value, 0, 38) or 38) - 1) .. "…"
    end
    return (json.encode(value))
  elseif kind == "integer" or kind == "number" then
    return number_text(value)
  elseif kind == "boolean" then
    return tostring(value)
  elseif kind == "empty" then
    return "an empty object"
  end
  return ARTICLE[kind] or ("a Lua " .. kind)
end

--- `$.inputs[0]["odd key"]` from `{ "inputs", 0, "odd key" }`.
---@param steps (string|integer)[]
---@return string
function M.path(steps)
  local out = { "$" }
  for _, step in ipairs(steps) do
    if type(step) == "number" then
      out[#out + 1] = ("[%d]"):format(step)
    elseif step:find "^[%a_][%w_]*$" then
      out[#out + 1] = "." .. step
    else
      out[#out + 1] = "[" .. json.encode(step) .. "]"
    end
  end
  return table.concat(out)
end

local function equal(a, b)
  if a == b then
    return true
  elseif type(a) ~= "table" or type(b) ~= "table" then
    return false
  end
  for key, value in pairs(a) do
    if not equal(value, b[key]) then
      return false
    end
  end
  for key in pairs(b) do
    if a[key] == nil then
      return false
    end
  end
  return true
end

--- The path is one list that grows and shrinks while a value is checked; failures keep theirs.
local function kept(path)
  return table.move(path, 1, #path, 1, {})
end

local function fail(path, expected, value)
  return { path = kept(path), expected = expected, got = show(value) }
end

local function range_text(node, unit)
  local low, high = node.minimum, node.maximum
  local tail = unit and " " .. unit or ""
  if low and high then
    return (" from %s to %s%s"):format(number_text(low), number_text(high), tail)
  elseif low then
    return (" of at least %s%s"):format(number_text(low), tail)
  elseif high then
    return (" of at most %s%s"):format(number_text(high), tail)
  end
  return ""
end

--- What a schema asks for, in words: "an integer from 1 to 10".
local function describe(node)
  if type(node) == "boolean" then
    return node and "anything" or "nothing"
  elseif node.const ~= nil then
    return show(node.const)
  elseif node.enum then
    local names = {}
    for i, value in ipairs(node.enum) do
      names[i] = show(value)
    end
    return "one of " .. table.concat(names, ", ")
  elseif node.anyOf or node.oneOf then
    local names = {}
    for i, child in ipairs(node.anyOf or node.oneOf) do
      names[i] = describe(child)
    end
    return table.concat(names, " or ")
  elseif type(node.type) == "table" then
    local names = {}
    for i, name in ipairs(node.type) do
      names[i] = ARTICLE[name]
    end
    return table.concat(names, " or ")
  elseif node.type then
    return ARTICLE[node.type] .. range_text(node)
  end
  return "anything"
end

local check

--- Checks what stands at a step further.
local function check_at(step, child, value, path, state, depth)
  local place = #path + 1
  path[place] = step
  local failure = check(child, value, path, state, depth + 1)
  path[place] = nil
  return failure
end

local function check_type(node, kind, value, path)
  local wanted = node.type
  if not wanted or fits(kind, wanted) then
    return
  end
  for _, name in ipairs(type(wanted) == "table" and wanted or NONE) do
    if fits(kind, name) then
      return
    end
  end
  return fail(path, describe(node), value)
end

local function check_values(node, value, path)
  if node.const ~= nil and not equal(node.const, value) then
    return fail(path, describe(node), value)
  end
  if node.enum then
    for _, allowed in ipairs(node.enum) do
      if equal(allowed, value) then
        return
      end
    end
    local failure = fail(path, describe(node), value)
    if type(value) == "string" then
      local names = {}
      for _, allowed in ipairs(node.enum) do
        names[#names + 1] = type(allowed) == "string" and allowed or nil
      end
      failure.nearest = M.nearest(value, names)
    end
    return failure
  end
end

local function check_number(node, value, path)
  local low, high = node.exclusiveMinimum, node.exclusiveMaximum
  if node.minimum and value < node.minimum or node.maximum and value > node.maximum then
    return fail(path, describe(node), value)
  elseif low and value <= low then
    return fail(path, "a number above " .. number_text(low), value)
  elseif high and value >= high then
    return fail(path, "a number below " .. number_text(high), value)
  elseif node.multipleOf and value % node.multipleOf ~= 0 then
    return fail(path, "a multiple of " .. number_text(node.multipleOf), value)
  end
end

local function check_string(node, value, path)
  local length = utf8.len(value) or #value
  if node.minLength and length < node.minLength then
    return fail(path, ("at least %d characters"):format(node.minLength), value)
  elseif node.maxLength and length > node.maxLength then
    return fail(path, ("at most %d characters"):format(node.maxLength), value)
  end
end

local function check_array(node, value, path, state, depth)
  if node.minItems and #value < node.minItems then
    return { path = kept(path), expected = ("at least %d items"):format(node.minItems), got = tostring(#value) }
  elseif node.maxItems and #value > node.maxItems then
    return { path = kept(path), expected = ("at most %d items"):format(node.maxItems), got = tostring(#value) }
  end
  local fixed, seen = node.prefixItems or NONE, node.uniqueItems and {}
  for i, item in ipairs(value) do
    local child = fixed[i]
    if child == nil then
      child = node.items
    end
    local failure = child ~= nil and check_at(i - 1, child, item, path, state, depth)
    if failure then
      return failure
    end
    if seen then
      local text_of = json.encode(item)
      if seen[text_of] then
        failure = fail(path, "items that differ", item)
        table.insert(failure.path, i - 1)
        return failure
      end
      seen[text_of] = true
    end
  end
end

local function sorted_keys(value)
  local names, count = {}, 0
  for name in pairs(value) do
    count = count + 1
    names[count] = name
  end
  table.sort(names, function(a, b) return tostring(a) < tostring(b) end)
  return names
end

local function check_names(node, value, path, count)
  for _, name in ipairs(node.required or NONE) do
    if value[name] == nil then
      local wanted = node.properties and node.properties[name]
      return { path = kept(path), missing = name, expected = wanted and describe(wanted) or "a value" }
    end
  end
  for name, others in pairs(node.dependentRequired or NONE) do
    for _, other in ipairs(value[name] ~= nil and others or NONE) do
      if value[other] == nil then
        return { path = kept(path), missing = other, expected = ("it stands beside %q"):format(name) }
      end
    end
  end
  if node.minProperties and count < node.minProperties then
    return { path = kept(path), expected = ("at least %d keys"):format(node.minProperties), got = tostring(count) }
  elseif node.maxProperties and count > node.maxProperties then
    return { path = kept(path), expected = ("at most %d keys"):format(node.maxProperties), got = tostring(count) }
  end
end

local function check_object(node, value, path, state, depth)
  local properties, others = node.properties or NONE, node.additionalProperties
  local count, unknown, failures = 0, nil, NONE
  for name, item in pairs(value) do
    local child = properties[name]
    count = count + 1
    if child == nil and others == false then
      unknown = (not unknown or tostring(name) < unknown) and tostring(name) or unknown
    elseif child ~= nil or others ~= nil then
      local failure = check_at(name, child == nil and others or child, item, path, state, depth)
      if failure then
        failures = failures == NONE and {} or failures
        failures[name] = failure
      end
    end
  end
  -- An unknown key comes first: it is usually the misspelt one that is then missing.
  if unknown then
    local known = sorted_keys(properties)
    return { path = kept(path), unknown = unknown, nearest = M.nearest(unknown, known), allowed = known }
  end
  return check_names(node, value, path, count) or failures[sorted_keys(failures)[1]]
end

--- Of several failures the one furthest inside says most; at equal depth all are named.
local function best_failure(failures, path, value, node)
  local best = failures[1]
  for _, failure in ipairs(failures) do
    if #failure.path > #best.path then
      best = failure
    end
  end
  if #best.path > #path or best.unknown or best.missing then
    return best
  end
  return fail(path, describe(node), value)
end

local function check_combined(node, value, path, state, depth)
  for _, child in ipairs(node.allOf or NONE) do
    local failure = check(child, value, path, state, depth + 1)
    if failure then
      return failure
    end
  end
  for _, keyword in ipairs { "anyOf", "oneOf" } do
    local matches, failures = 0, {}
    for _, child in ipairs(node[keyword] or NONE) do
      local failure = check(child, value, path, state, depth + 1)
      matches = matches + (failure and 0 or 1)
      failures[#failures + 1] = failure
    end
    if node[keyword] and matches == 0 then
      return best_failure(failures, path, value, { anyOf = node[keyword] })
    elseif keyword == "oneOf" and matches > 1 then
      return fail(path, "exactly one of the alternatives", value)
    end
  end
  if node["not"] ~= nil and not check(node["not"], value, path, state, depth + 1) then
    return fail(path, "something else than " .. describe(node["not"]), value)
  end
end

local BY_KIND = {
  integer = check_number, number = check_number, string = check_string, array = check_array,
  object = check_object,
}

function check(node, value, path, state, depth)
  if depth > MAX_DEPTH then -- remembered, so that alternatives do not try again and again
    state.deep = state.deep or { path = kept(path), expected = "less nesting", got = "more than " .. MAX_DEPTH .. " levels" }
  end
  if state.deep then
    return state.deep
  elseif node == true then
    return
  elseif node == false then
    return fail(path, "nothing", value)
  end
  local kind = kind_of(value)
  local failure = node["$ref"] and check(resolve(state.root, node["$ref"]), value, path, state, depth + 1)
    or check_type(node, kind, value, path) or check_values(node, value, path)
  if failure then
    return failure
  end
  if kind == "empty" then
    -- `{}` of Lua is both; where the schema names neither, it is an object as std.json writes it.
    kind = (node.type == "array" or node.items or node.prefixItems) and "array" or "object"
  end
  local by_kind = BY_KIND[kind]
  failure = by_kind and by_kind(node, value, path, state, depth)
  if failure or not (node.allOf or node.anyOf or node.oneOf) and node["not"] == nil then
    return failure
  end
  return check_combined(node, value, path, state, depth)
end

local function message_of(failure)
  local where = M.path(failure.path)
  local hint = failure.nearest and (", did you mean %q?"):format(failure.nearest) or ""
  if failure.unknown then
    if hint == "" then
      hint = #failure.allowed > 0 and ", known are " .. table.concat(failure.allowed, ", ")
        or ", none is known"
    end
    return ("%s: unknown key %q%s"):format(where, failure.unknown, hint)
  elseif failure.missing then
    return ("%s: missing key %q (%s)"):format(where, failure.missing, failure.expected)
  end
  return ("%s: expected %s, got %s%s"):format(where, failure.expected, failure.got, hint)
end

---@class std.SchemaFailure
---@field path (string|integer)[]  steps from the root; array places from 0
---@field expected string?         what should stand there
---@field got string?              what stands there, shortened
---@field unknown string?          a key the schema does not know
---@field missing string?          a key the schema asks for
---@field nearest string?          the known name it resembles

--- Checks a value. Tables of Lua and of std.json are both understood; nil and json.null are null.
---@param schema std.Schema|table|string
---@param value any
---@return true? ok
---@return string? message   one line with the JSON path and what was expected
---@return string? id        "schema_mismatch"
---@return std.SchemaFailure? failure
function M.check(schema, value)
  local node = M.compile(schema).json
  local state = { root = node }
  local failure = check(node, value, {}, state, 0)
  failure = state.deep or failure
  if failure then
    return nil, message_of(failure), "schema_mismatch", failure
  end
  return true
end

--- Same as `schema.check(self, value)`.
---@param value any
---@return true? ok
---@return string? message
---@return string? id
---@return std.SchemaFailure? failure
function Schema:check(value)
  return M.check(self, value)
end

return M
