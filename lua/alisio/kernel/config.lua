--- The configuration: reads it from all its places, checks each value against config_schema, and
-- knows where each came from. Order, later wins: default, config.json, init.lua (`setup`), a trusted
-- project's config.json (which may only tighten), environment, flags.
local fs = require "std.fs"
local json = require "std.json"
local path = require "std.path"
local schema = require "std.schema"
local secret = require "std.secret"
local keys = require "alisio.kernel.config_schema"
local positions = require "alisio.kernel.positions"
local trust = require "alisio.kernel.trust"
local words = require "alisio.kernel.words"

local M = {}

---@class alisio.Config
---@field dir string?                        folder of the user's configuration
---@field project alisio.ProjectSnapshot?    what the workspace brings, with `status`
---@field locale "en"|"es"
local Config = {}
Config.__index = Config

local MAX_BYTES = 4 * 1024 * 1024
local LAYERS = { "config", "init", "project", "environment", "flag" }
local USER_LAYERS = 2 -- those that a project tightens

-- The schema as a tree: { children = { name = node }, any = node, key = spec } ---------------------

local tree, by_key = { children = {} }, {}
for _, spec in ipairs(keys) do
  local node = tree
  for part in spec.key:gmatch "[^.]+" do
    if part == "*" then
      node.any = node.any or { children = {} }
      node = node.any
    else
      node.children[part] = node.children[part] or { children = {} }
      node = node.children[part]
    end
  end
  node.spec = spec
  by_key[spec.key] = spec
end

--- The spec of a concrete key. A profile's name may hold dots, its keys do not.
local function spec_of(key)
  local group, _, last = key:match "^(%l+)%.(.+)%.(%a+)$"
  return by_key[key] or group and by_key[("%s.*.%s"):format(group, last)]
end

local function known_keys()
  local names = {}
  for _, spec in ipairs(keys) do
    names[#names + 1] = spec.key
  end
  return names
end

-- Checking one value ------------------------------------------------------------------------------

local function expected(spec, locale)
  return words.t(locale, "config." .. spec.type, { min = spec.min, max = spec.max, choices = spec.choices })
end

local CHECKS = {
  boolean = function(_, value)
    if type(value) == "boolean" then
      return value
    end
  end,
  string = function(_, value)
    return type(value) == "string" and value ~= "" and value or nil
  end,
  choice = function(spec, value)
    for _, choice in ipairs(spec.choices) do
      if choice == value then
        return value
      end
    end
  end,
  number = function(spec, value)
    local ok = type(value) == "number" and value >= (spec.min or value) and value <= (spec.max or value)
    return ok and value or nil
  end,
  list = function(_, value)
    if type(value) ~= "table" or not json.is_array(value) and next(value) ~= nil then
      return nil
    end
    for _, item in ipairs(value) do
      if type(item) ~= "string" then
        return nil
      end
    end
    return table.move(value, 1, #value, 1, {})
  end,
}

function CHECKS.integer(spec, value)
  local whole = type(value) == "number" and math.tointeger(value) or nil
  return whole and CHECKS.number(spec, whole)
end

local function shown(value)
  local kind = type(value)
  if kind == "string" or kind == "number" or kind == "boolean" or value == json.null or kind == "table" then
    local ok, text = pcall(json.encode, value)
    if ok then
      return #text > 60 and text:sub(1, 57) .. "…" or text
    end
  end
  return kind
end

--- Whether a value fits, and the value to keep or what is wrong with it.
local function accept(spec, key, value, locale)
  local result = CHECKS[spec.type](spec, value)
  if result == nil then
    return false, words.t(locale, "config.type", { key = key, expected = expected(spec, locale), got = shown(value) })
  end
  return true, result
end

--- A value written as text, in the environment or behind a flag.
local function from_text(spec, text)
  if spec.type == "boolean" and (text == "true" or text == "false") then
    return text == "true"
  elseif spec.type == "integer" or spec.type == "number" then
    return tonumber(text) or text
  end
  return text
end

-- Reading a table of nested values ----------------------------------------------------------------

local function problem(locale, object, detail, at)
  local fields = { object = object, detail = detail, line = at and at.line, column = at and at.column }
  return nil, words.error(locale, "config_invalid", fields), "config_invalid", fields
end

--- Nearest known name, in full, among those that may stand at a node.
local function nearest(node, prefix, name)
  local names = {}
  for child in pairs(node.children) do
    names[#names + 1] = child
  end
  local near = schema.nearest(name, names)
  if near then
    return prefix .. near
  end
  -- The key may simply stand in the wrong place: `timeoutMs` at the top.
  local tails, full = {}, {}
  for _, key in ipairs(known_keys()) do
    local tail = key:match "[^.]+$"
    full[tail] = full[tail] or key
    tails[#tails + 1] = tail
  end
  near = schema.nearest(name, tails)
  return near and full[near]
end

--- Walks nested tables and calls visit.value(key, value, steps) for each leaf, visit.name(group, name)
-- for each name of the user's. Stops at the first mistake: returns nil, detail, steps.
local function flatten(node, value, steps, visit, locale)
  local names = {}
  for name in pairs(value) do
    names[#names + 1] = tostring(name)
  end
  table.sort(names)
  local prefix = #steps > 0 and table.concat(steps, ".") .. "." or ""
  for _, name in ipairs(names) do
    local child, key = node.children[name] or node.any, prefix .. name
    local inner = table.move(steps, 1, #steps, 1, {})
    inner[#inner + 1] = name
    local held = value[name]
    if not child then
      local near = nearest(node, prefix, name)
      return nil, words.t(locale, "config.unknown", { key = key, nearest = near }), inner
    elseif child.spec then
      local ok, result = accept(child.spec, key, held, locale)
      if not ok then
        return nil, result, inner
      end
      visit.value(key, result, inner)
    elseif node.any and not name:find "^[%w][%w._-]*$" then
      return nil, words.t(locale, "config.type",
        { key = key, expected = words.t(locale, "config.name"), got = shown(name) }), inner
    elseif type(held) ~= "table" or json.is_array(held) then
      return nil, words.t(locale, "config.type",
        { key = key, expected = words.t(locale, "config.object"), got = shown(held) }), inner
    else
      if node.any then
        visit.name(table.concat(steps, "."), name)
      end
      local ok, detail, where = flatten(child, held, inner, visit, locale)
      if not ok then
        return nil, detail, where
      end
    end
  end
  return true
end

--- Parses and checks a config.json; visit is as for flatten, with file and line in place of the steps.
local function read_document(text, file, locale, visit)
  if text:sub(1, 3) == "\xEF\xBB\xBF" then
    text = text:sub(4)
  end
  local document, err, _, at = json.decode(text)
  if document == nil and err then
    return problem(locale, file, words.t(locale, "config.json", { detail = at and at.detail or err }), at)
  end
  if type(document) ~= "table" or json.is_array(document) then
    return problem(locale, file, words.t(locale, "config.type",
      { key = "config.json", expected = words.t(locale, "config.object"), got = shown(document) }))
  end
  local places, twice = positions.of(text)
  if twice then
    return problem(locale, file, words.t(locale, "config.twice", { key = table.concat(twice.steps, ".") }), twice)
  end
  local ok, detail, steps = flatten(tree, document, {}, {
    name = visit.name,
    value = function(key, value, where)
      visit.value(key, value, ("%s:%d"):format(file, places[table.concat(where, "\0")].line))
    end,
  }, locale)
  if not ok then
    return problem(locale, file, detail, places[table.concat(steps, "\0")])
  end
  return true
end

-- The configuration -------------------------------------------------------------------------------

function Config:set(layer, key, value, where)
  self.layers[layer][key] = { value = value, where = where }
end

function Config:add_name(group, name)
  self.names_of[group] = self.names_of[group] or {}
  self.names_of[group][name] = true
end

--- What stands at a key in the first `top` layers: value, source, where.
function Config:resolve(key, top, level)
  local spec = spec_of(key)
  if not spec then
    error(("no configuration key %q%s"):format(key, schema.hint(key, known_keys())), level + 1)
  end
  for i = top, 1, -1 do
    local held = self.layers[LAYERS[i]][key]
    if held then
      return held.value, LAYERS[i], held.where
    end
  end
  return spec.default, "default"
end

--- A project may lower, switch off or add; anything else it says is ignored, and said.
function Config:tighten(key, value, where)
  local allowed = spec_of(key).project
  if not allowed then
    return { id = "project_ignored", key = key, object = where }
  end
  local before = self:resolve(key, USER_LAYERS, 1)
  if allowed == "lower" and value > before or allowed == "off" and value then
    return { id = "project_loosens", key = key, object = where }
  elseif allowed == "add" then
    local both = table.move(before, 1, #before, 1, {})
    value = table.move(value, 1, #value, #both + 1, both)
  end
  self:set("project", key, value, where)
end

--- The project tightens what the user said, so it is weighed again when init.lua changed that.
function Config:apply_project()
  self.layers.project, self.project_notes = {}, {}
  for _, said in ipairs(self.project_values) do
    self.project_notes[#self.project_notes + 1] = self:tighten(table.unpack(said))
  end
end

--- What there is to say about the configuration: keys without effect, what a project may not set.
---@return table[]  notes for words.note
function Config:notes()
  local notes = {}
  local status = self.project and self.project.status
  if status == "untrusted" or status == "changed" then
    notes[1] = { id = "project_" .. status, object = self.project.dir }
  end
  for _, spec in ipairs(keys) do
    if spec.notice and select(2, self:resolve(spec.key, #LAYERS, 1)) ~= "default" then
      notes[#notes + 1] = { id = spec.notice, key = spec.key }
    end
  end
  return table.move(self.project_notes, 1, #self.project_notes, #notes + 1, notes)
end

--- The value of a key; nil when it is unset and has no default. Raises for a key that is not one.
---@param key string  "analysis.limits.timeoutMs", "models.work.baseUrl"
---@return any
function Config:get(key)
  return (self:resolve(key, #LAYERS, 2))
end

--- Where a value comes from.
---@param key string
---@return "default"|"config"|"init"|"project"|"environment"|"flag" source
---@return string? where  file and line, variable or flag
function Config:origin(key)
  local _, source, where = self:resolve(key, #LAYERS, 2)
  return source, where
end

--- Names the user chose below a key.
---@param group "models"
---@return string[]  sorted
function Config:names(group)
  local names = {}
  for name in pairs(self.names_of[group] or {}) do
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

--- All values of one named group, defaults included: `cfg:group("models.work").baseUrl`.
---@param prefix string
---@return table
function Config:group(prefix)
  local pattern = prefix:gsub("^(%l+)%..+$", "%1.*")
  local values = {}
  for _, spec in ipairs(keys) do
    local last = spec.key:sub(1, #pattern + 1) == pattern .. "." and spec.key:sub(#pattern + 2)
    if last and not last:find(".", 1, true) then
      values[last] = self:get(prefix .. "." .. last)
    end
  end
  return values
end

--- Every key there is, those of the user's own names included, in the order of the schema.
---@return string[]
function Config:keys()
  local list = {}
  for _, spec in ipairs(keys) do
    local before, after = spec.key:match "^(.-)%.%*(%..+)$"
    if not before then
      list[#list + 1] = spec.key
    end
    for _, name in ipairs(before and self:names(before) or {}) do
      list[#list + 1] = before .. "." .. name .. after
    end
  end
  return list
end

--- Takes over what another configuration of the same user was given by `setup`: one is loaded for
--- each workspace, init.lua runs once.
---@param other alisio.Config
function Config:adopt_setup(other)
  for key, said in pairs(other.layers.init) do
    self.layers.init[key] = said
  end
  for group, set in pairs(other.names_of) do
    for name in pairs(set) do
      self:add_name(group, name)
    end
  end
  self:apply_project()
  self.locale = words.locale(self:get "ui.locale", self.env)
end

--- Takes what an init.lua gives to `alisio.setup`. A later call wins over an earlier one, key by key;
--- a call with a mistake changes nothing.
---@param values table   nested as config.json is
---@param where string?  file and line of the call
---@return boolean? ok
---@return string? err
---@return string? id     "config_invalid"
---@return table? fields
function Config:setup(values, where)
  if type(values) ~= "table" then
    error("setup takes a table, got " .. type(values), 2)
  end
  local found, named = {}, {}
  local ok, detail = flatten(tree, values, {}, {
    name = function(...) named[#named + 1] = { ... } end,
    value = function(key, value) found[#found + 1] = { key, value } end,
  }, self.locale)
  if not ok then
    return problem(self.locale, where or "setup", detail)
  end
  for _, pair in ipairs(named) do
    self:add_name(pair[1], pair[2])
  end
  for _, pair in ipairs(found) do
    self:set("init", pair[1], pair[2], where)
  end
  self:apply_project()
  self.locale = words.locale(self:get "ui.locale", self.env)
  return true
end

--- The variable of the environment that sets a key, or nil for lists and names.
---@param key string
---@return string?
function M.variable(key)
  local spec = by_key[key]
  if not spec or spec.type == "list" or key:find("*", 1, true) then
    return nil
  end
  return "ALISIO_" .. key:gsub("(%l)(%u)", "%1_%2"):gsub("%.", "_"):upper()
end

local function load_file(cfg, file)
  if not fs.exists(file) then
    return true
  end
  local text, more, id, fields = fs.read(file, { maxBytes = MAX_BYTES })
  if not text then
    return nil, more, id, fields
  elseif more then
    return problem(cfg.locale, file, "larger than 4 MiB")
  end
  return read_document(text, file, cfg.locale, {
    name = function(group, name) cfg:add_name(group, name) end,
    value = function(key, value, where) cfg:set("config", key, value, where) end,
  })
end

local function load_project(cfg, state_dir, project_dir)
  local snapshot, err, id, fields = trust.snapshot(project_dir)
  if not snapshot then
    return nil, err, id, fields
  end
  local status
  status, err, id, fields = trust.status(state_dir, snapshot)
  if not status then
    return nil, err, id, fields
  end
  snapshot.status = status
  cfg.project = snapshot
  local text = status == "trusted" and snapshot.files["config.json"]
  if not text then
    return true
  end
  return read_document(text, path.join(snapshot.dir, ".alisio", "config.json"), cfg.locale, {
    name = function() end, -- a project brings no names: what stands below them is ignored
    value = function(...) table.insert(cfg.project_values, { ... }) end,
  })
end

local function load_texts(cfg, flags)
  for _, spec in ipairs(keys) do
    local variable = M.variable(spec.key)
    local text = variable and cfg.env(variable)
    if text and text ~= "" then
      local ok, value = accept(spec, spec.key, from_text(spec, text), cfg.locale)
      if not ok then
        return problem(cfg.locale, variable, value)
      end
      cfg:set("environment", spec.key, value, variable)
    end
  end
  for key, given in pairs(flags) do
    local spec = spec_of(key) or error("no configuration key " .. key, 3)
    local value = given
    if type(given) == "string" then
      value = from_text(spec, given)
    end
    local ok, result = accept(spec, key, value, cfg.locale)
    if not ok then
      return problem(cfg.locale, "--" .. key, result)
    end
    cfg:set("flag", key, result, "command line")
  end
  return true
end

--- Reads the configuration. A missing file is an empty one; a file with a mistake is an error that
--- names line, column and what was meant.
---@async
---@param options { config_dir: string?, config_file: string?, state_dir: string?, project_dir: string?, flags: table<string, any>?, env: (fun(name: string): string?)? }
---  config_file: in place of `<config_dir>/config.json`; state_dir and project_dir: where trust is
---  kept and the workspace, both or neither; flags: values by key, texts are converted
---@return alisio.Config? config
---@return string? err
---@return string? id      "config_invalid"
---@return table? fields   object, detail, line, column
function M.load(options)
  local env = options.env or fs.env
  local cfg = setmetatable({
    dir = options.config_dir, env = env, names_of = {}, project_values = {}, project_notes = {},
    layers = { config = {}, init = {}, project = {}, environment = {}, flag = {} },
    locale = words.locale(nil, env),
  }, Config)
  local steps = {
    function()
      local file = options.config_file or options.config_dir and path.join(options.config_dir, "config.json")
      if file then
        return load_file(cfg, file)
      end
      return true
    end,
    function()
      if options.project_dir then
        return load_project(cfg, options.state_dir, options.project_dir)
      end
      return true
    end,
    function() return load_texts(cfg, options.flags or {}) end,
  }
  for _, step in ipairs(steps) do
    local ok, err, id, fields = step()
    if not ok then
      return nil, err, id, fields
    end
  end
  cfg:apply_project()
  cfg.locale = words.locale(cfg:get "ui.locale", env)
  return cfg
end

--- The secret of a model profile: from the variable that `keyEnv` names, else from
--- `<config>/credentials.json`, `{ "profile": "key" }`, which nobody else may be able to read.
---@async
---@param profile string
---@param variable string?  name of the environment variable
---@return std.secret.Secret? key  nil alone when there is none
---@return string? err
---@return string? id
---@return table? fields
function Config:credential(profile, variable)
  local key = variable and self.env(variable)
  if key and key ~= "" then
    return secret.new(key)
  end
  local file = self.dir and path.join(self.dir, "credentials.json")
  local stat = file and fs.stat(file)
  if not stat then
    return nil
  elseif stat.mode & 63 ~= 0 then -- 077: group or others have rights
    return problem(self.locale, file, words.t(self.locale, "config.credentials_mode"))
  end
  local text, err, id, fields = fs.read(file, { maxBytes = MAX_BYTES })
  if not text then
    return nil, err, id, fields
  end
  local held, why, _, at = json.decode(text)
  if held == nil and why then
    return problem(self.locale, file, words.t(self.locale, "config.json", { detail = at and at.detail or why }), at)
  elseif type(held) ~= "table" or held[profile] ~= nil and type(held[profile]) ~= "string" then
    return problem(self.locale, file, words.t(self.locale, "config.credentials_shape"))
  end
  return held[profile] and secret.new(held[profile])
end

return M
