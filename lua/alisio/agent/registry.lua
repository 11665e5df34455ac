--- What users' Lua adds to the agent: tools, hooks, rules, models, settings. Each entry remembers
-- who added it (init.lua, a plugin, a script) and where, so that it dies with its owner.
local schema = require "std.schema"

local M = {}

local entries = {}
local owner = "alisio"

--- File and line of a caller.
---@param level integer  1: of the function that asks
---@return string
function M.place(level)
  local info = debug.getinfo(level + 1, "Sl")
  return info and ("%s:%d"):format(info.short_src, info.currentline) or "?"
end

--- Raises for a key that is none, naming the nearest.
---@param what string     what the keys are of
---@param given table
---@param names string[]  the keys there are
---@param level integer   of the mistake, as of error
function M.check_keys(what, given, names, level)
  local known = {}
  for _, name in ipairs(names) do
    known[name] = true
  end
  for key in pairs(given) do
    if not known[key] then
      error(("%s: unknown key %q%s"):format(what, tostring(key), schema.hint(key, names)), level + 1)
    end
  end
end

--- Adds an entry.
---@param kind string   "tool", "on", "before", "rule", "model", "command" or "setup"
---@param value table   what is kept
---@param level? integer  stack level of the caller it is credited to
---@param undo? fun()     runs when the entry is taken away
---@return fun() remove   takes the entry away; harmless the second time
function M.add(kind, value, level, undo)
  local entry = { kind = kind, value = value, owner = owner, where = M.place((level or 1) + 1), undo = undo }
  entries[#entries + 1] = entry
  return function()
    for i, other in ipairs(entries) do
      if other == entry then
        table.remove(entries, i)
        if undo then
          undo()
        end
        return
      end
    end
  end
end

--- The entries of a kind, in the order they came. A snapshot: adding while walking is fine.
---@param kind string
---@return table[] entries  { value, owner, where }
function M.list(kind)
  local list = {}
  for _, entry in ipairs(entries) do
    if entry.kind == kind then
      list[#list + 1] = entry
    end
  end
  return list
end

--- Runs a function whose additions belong to `name`.
---@param name string
---@param fn function
---@param ... any  arguments of fn
---@return any ...  what fn returns; raises what it raises
function M.as(name, fn, ...)
  local before = owner
  owner = name
  local results = table.pack(pcall(fn, ...))
  owner = before
  if not results[1] then
    error(results[2], 0)
  end
  return table.unpack(results, 2, results.n)
end

--- Takes away everything an owner added, last first.
---@param name string
function M.drop(name)
  for i = #entries, 1, -1 do
    local entry = entries[i]
    if entry and entry.owner == name then
      table.remove(entries, i)
      if entry.undo then
        entry.undo()
      end
    end
  end
end

return M
