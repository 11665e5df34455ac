--- What users' Lua does with the agent: settings, datasets, Python, prompts. Scripts have one
-- session, the one the commands of the folder share; every tool they use goes through the door.
local ids = require "alisio.kernel.ids"
local schema = require "std.schema"
local tool = require "std.tool"
local agent_session = require "alisio.agent.session"
local registry = require "alisio.agent.registry"
local user = require "alisio.agent.user"

local M = {}

--- Sets keys of the configuration, nested as in config.json. Raises at the caller for a mistake.
---@param values table
function M.setup(values)
  local runtime, ok, message
  runtime, message = user.runtime()
  if runtime then
    ok, message = runtime.config:setup(values, registry.place(2))
  end
  if not ok then
    error(message, 0) -- it names the file and line
  end
end

--- Adds a command: `alisio NAME [WORD]…` opens a session and hands it over.
---@param command { name: string, help: string?, run: fun(session: table, words: string[]) }
---@return fun() remove
function M.command(command)
  registry.check_keys("command", command, { "name", "help", "run" }, 2)
  if type(command.name) ~= "string" or not command.name:find "^%l[%l%d-]*$" then
    error("command: name is lower-case letters, digits and -, and begins with a letter", 2)
  elseif type(command.run) ~= "function" then
    error(("command %s: run is a function of (session, words)"):format(command.name), 2)
  end
  local remove = registry.add("command", command, 2)
  return remove
end

---@class alisio.Dataset
---@field id string
---@field name string
---@field rows integer
---@field sheets table[]
---@field data alisio.Data
local Dataset = {}
Dataset.__index = Dataset

--- Runs one SELECT. The iterator gives rows: row.name, row[1], row.n.
---@async
---@param sql string
---@param options? { maxRows: integer?, timeoutMs: integer? }
---@return fun(): table? rows  raises when the statement is refused or fails
---@return string? message
function Dataset:query(sql, options)
  local answer, message = self.data:query(self.id, sql, options)
  if not answer then
    error(message, 2)
  end
  local i = 0
  return function()
    i = i + 1
    return answer.rows[i]
  end
end

--- Makes a dataset of a table file, or finds the one made before from the same content.
---@async
---@param path string
---@return alisio.Dataset? dataset
---@return string? message
---@return string? id
function M.open_dataset(path)
  local session, message, id = user.session()
  if not session then
    return nil, message, id
  end
  local described
  described, message, id = session.data:open(path)
  if not described then
    return nil, message, id
  end
  described.data = session.data
  return setmetatable(described, Dataset)
end

--- Runs Python as the model's python_run does: same job, same permission.
---@async
---@param input table|string  the tool's input, or the code alone
---@return any result
---@return string? message
---@return string? id
function M.python(input)
  if type(input) == "string" then
    input = { code = input }
  end
  local session, message, id = user.session() -- the tools are there from here on
  if not session then
    return nil, message, id
  end
  local def = tool.get "python_run"
  if not def then
    return nil, "python_run is switched off (analysis.enabled)", "not_found"
  end
  local ok, why = schema.check(def.schema, input)
  if not ok then
    error("python: " .. why, 2)
  end
  return tool.call("python_run", input, session:call(ids.new "call", "python_run", function() end))
end

---@class alisio.Agent
local Agent = {}
Agent.__index = Agent

--- Runs a prompt in a session of its own.
---@async
---@param prompt string
---@param options? { on: fun(event: table)? }
---@return table? result  { status, text, usage, … }
---@return string? message
---@return string? id
function Agent:run(prompt, options)
  local runtime, session, message, id
  runtime, message, id = user.runtime()
  if not runtime then
    return nil, message, id
  end
  session, message, id = agent_session.open {
    runtime = runtime, kind = "script", agent = self.options, ask = user.asker(),
  }
  if not session then
    return nil, message, id
  end
  local _ <close> = session
  return session:prompt(prompt, options)
end

--- Makes an agent with its own instructions, tools, model and limits.
---@param options { name: string, system: string?, tools: string[]?, model: string?, limits: table? }
---@return alisio.Agent
function M.agent(options)
  registry.check_keys("agent", options, { "name", "system", "tools", "model", "limits" }, 2)
  registry.check_keys("agent: limits", options.limits or {}, agent_session.LIMITS, 2)
  if type(options.name) ~= "string" then
    error("agent: give it a name", 2)
  end
  return setmetatable({ options = options }, Agent)
end

--- Runs a prompt with the default agent.
---@async
---@param prompt string
---@param options? { on: fun(event: table)?, model: string?, tools: string[]?, system: string?, limits: table? }
---@return table? result
---@return string? message
---@return string? id
function M.run(prompt, options)
  options = options or {}
  registry.check_keys("run", options, { "on", "model", "tools", "system", "limits" }, 2)
  local agent = setmetatable({ options = {
    model = options.model, tools = options.tools, system = options.system, limits = options.limits,
  } }, Agent)
  return agent:run(prompt, { on = options.on })
end

return M
