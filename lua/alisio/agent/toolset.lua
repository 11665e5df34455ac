--- The agent's tools: one file each in tools/, put behind the door, and what users add to them.
local asset = require "std.asset"
local schema = require "std.schema"
local tool = require "std.tool"
local registry = require "alisio.agent.registry"

local M = {}

local FOLDER = "lua/alisio/agent/tools/"
local effects = { read = true, write = true, process = true, external = true, internal = true }
local keys = { "name", "description", "effect", "capability", "input", "run", "approval" }

--- Checks a definition and compiles its input schema. Raises at `level` above the caller.
---@param def table
---@param level integer
---@return table def  a copy the door may keep: `schema` is the compiled input
local function check(def, level)
  level = level + 1
  if type(def) ~= "table" then
    error("a tool is a table", level)
  end
  registry.check_keys("tool", def, keys, level)
  local copy = {}
  for key, value in pairs(def) do
    copy[key] = value
  end
  local name = def.name
  if type(name) ~= "string" or not name:find "^%l[%l%d_]*$" or #name > 64 then
    error("tool: name is lower-case letters, digits and _, and begins with a letter", level)
  elseif type(def.description) ~= "string" or def.description == "" then
    error(("tool %s: description says what it does"):format(name), level)
  elseif not effects[def.effect] then
    error(("tool %s: effect is one of external, internal, process, read, write"):format(name), level)
  elseif type(def.run) ~= "function" then
    error(("tool %s: run is a function of (args, call)"):format(name), level)
  elseif def.approval ~= nil and type(def.approval) ~= "function" then
    error(("tool %s: approval is a function of (input, call)"):format(name), level)
  end
  local ok, compiled = pcall(schema.compile, def.input or {})
  if not ok then
    error(("tool %s: input: %s"):format(name, tostring(compiled):gsub("^[^:]+:%d+: ", "")), level)
  end
  copy.schema = compiled
  copy.input = compiled.json
  return copy
end

local function built_in()
  local names = {}
  for _, file in ipairs(asset.list(FOLDER)) do
    names[#names + 1] = file:match "([%w_]+)%.lua$"
  end
  return names
end

--- Puts the built-in tools behind the door.
function M.register()
  for _, name in ipairs(built_in()) do
    tool.register(check(require("alisio.agent.tools." .. name), 1))
  end
end

--- Takes the tools of analysis away where analysis.enabled is false: they are not there at all.
---@param config table
function M.withdraw(config)
  for _, name in ipairs(config:get "analysis.enabled" and {} or built_in()) do
    if name == "python_run" or name:find "^data_" or name:find "^artifact_" then
      tool.remove(name)
    end
  end
end

--- Adds a user's tool.
---@param def table
---@return fun() remove
function M.add(def)
  local checked = check(def, 2)
  if tool.get(checked.name) then
    error(("there is a tool %s already"):format(checked.name), 2)
  end
  tool.register(checked)
  local remove = registry.add("tool", checked, 2, function()
    tool.remove(checked.name)
  end)
  return remove
end

return M
