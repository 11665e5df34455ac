--- The user's Lua: `<config>/init.lua` and `<config>/plugins/NAME/init.lua`.
--
-- The top level of such a file cannot wait: it runs in a coroutine that is no task, and a wait there
-- is answered with the event to use. What a failing file had added is taken away again.
local fs = require "std.fs"
local host = require "std.host"
local log = require "std.log"
local path = require "std.path"
local task = require "std.task"
local registry = require "alisio.agent.registry"

local M = {}

local runtime, session, start, ask

--- Makes something when it is first asked for; who asks meanwhile waits for the same. The maker itself,
-- asking on its way, is told what there is.
local function once(there_is, make)
  local maker
  return function()
    if (maker or not there_is()) and task.current() ~= maker then
      maker = maker or task.spawn(make)
      local mine = maker
      local ok, made, message, id = mine:wait()
      maker = maker ~= mine and maker or nil
      if not ok then
        error(made, 0)
      elseif not made then
        return nil, message, id
      end
    end
    return there_is()
  end
end

local open_session = once(function() return session end, function()
  local message, id
  session, message, id = require("alisio.agent.session").open {
    runtime = runtime, kind = "cli", shared = true, ask = ask,
  }
  return session, message, id
end)

--- Says which runtime the user's calls act in.
---@param value table?
function M.context(value)
  runtime, session = value, nil
end

--- Says how a script gets its runtime when it first needs one, and whom its tools may ask.
---@param starter? fun(): table?, string?, string?
---@param question? fun(request: table): string, string?
function M.on_demand(starter, question)
  local function there_is()
    return runtime
  end
  local function make()
    local message, id
    runtime, message, id = starter()
    return runtime, message, id
  end
  start, ask = starter and once(there_is, make), question
end

--- The runtime of this process. Raises at the caller's caller where there can be none.
---@async
---@return table? runtime
---@return string? message  a script's could not be started
---@return string? id
function M.runtime()
  if start then
    local _, message, id = start()
    if message then
      return nil, message, id
    end
  end
  return runtime or error('nothing runs yet: do it in alisio.on("session_opened", …)', 3)
end

--- The session a script's calls act in, made when first needed.
---@async
---@return alisio.Session? session
---@return string? message
---@return string? id
function M.session()
  local ready, message, id = M.runtime()
  if not ready then
    return nil, message, id
  end
  return open_session()
end

--- Who answers the questions of a script's tools.
---@return (fun(request: table): string, string?)?
function M.asker()
  return ask
end

--- What the top level of a file may take: processor time, and memory of all Lua. It is looked at
--- between steps of Lua: work inside of one C function runs on.
M.TOP_LEVEL_SECONDS, M.TOP_LEVEL_KIB = 5, 1024 * 1024

--- Stops a coroutine that takes more than that.
local function watch(co)
  local last = os.clock() + M.TOP_LEVEL_SECONDS
  debug.sethook(co, function()
    if os.clock() < last and collectgarbage "count" < M.TOP_LEVEL_KIB then
      return
    end
    debug.sethook(co, function() -- at each step from now on: a pcall in the file gets no further
      error(("the top level of a configuration file takes more than %g s or %.0f MiB; it only sets up what is called later")
        :format(M.TOP_LEVEL_SECONDS, M.TOP_LEVEL_KIB / 1024), 2)
    end, "", 1)
  end, "", 1000)
end

--- Runs a chunk in a coroutine of its own. A yield means that it wanted to wait.
local function run_top_level(chunk, name)
  local co = coroutine.create(chunk)
  watch(co)
  local ok, err = coroutine.resume(co)
  if ok and coroutine.status(co) == "suspended" then
    ok, err = false, "it yields"
    coroutine.close(co)
  end
  if ok then
    return true
  end
  err = type(err) == "string" and err or name .. ": raised " .. tostring(err)
  if err:find("cannot wait", 1, true) or err:find("not a task", 1, true) or err == "it yields" then
    local where = debug.traceback(co, ""):match("(" .. name:gsub("%p", "%%%0") .. ":%d+)") or name
    return nil, where .. ": the top level of a configuration file cannot wait; "
      .. 'do it inside alisio.on("session_opened", function(event) … end)'
  end
  return nil, err
end

--- Runs the text of a file for an owner; on failure nothing it added stays.
local function run_text(text, file, owner)
  local chunk, message = load(text, "@" .. file, "t")
  if not chunk then -- of a compiled chunk the message does not say which file it is
    return nil, message:find(file, 1, true) and message or file .. ": " .. message
  end
  local ok
  ok, message = registry.as(owner, run_top_level, chunk, file)
  if not ok then
    registry.drop(owner)
    return nil, message
  end
  return true
end

local function load_file(file, owner)
  local text, message = fs.read(file, { maxBytes = 4 * 1024 * 1024 })
  if not text then
    return nil, message
  end
  return run_text(text, file, owner)
end

local function warn(warnings, what, message)
  local text = ("%s is not loaded: %s"):format(what, message)
  log.error(text)
  warnings[#warnings + 1] = text
end

--- Lets `require` find the user's own modules.
---@param config_dir string
function M.search(config_dir)
  local dir = path.join(config_dir, "lua")
  if not dir:find "[;?]" and not package.path:find(dir .. "/?.lua;", 1, true) then
    host.add_lua_path(dir)
  end
end

--- Loads init.lua, the plugins by name, then the init.lua of a project that is trusted. A broken
-- init.lua is an error of the configuration; another broken file takes its own additions away and is
-- named in `warnings`.
---@async
---@param config_dir string
---@param warnings string[]
---@param project? alisio.ProjectSnapshot
---@return boolean? ok
---@return string? message
---@return string? id
function M.load(config_dir, warnings, project)
  M.search(config_dir)
  local init = path.join(config_dir, "init.lua")
  if fs.exists(init) then
    local ok, message = load_file(init, "init.lua")
    if not ok then
      return nil, message, "config_invalid"
    end
  end
  local plugins = path.join(config_dir, "plugins")
  for _, entry in ipairs(fs.exists(plugins) and fs.list(plugins) or {}) do
    local file = path.join(plugins, entry.name, "init.lua")
    if entry.type == "dir" and fs.exists(file) then
      local ok, message = load_file(file, "plugin " .. entry.name)
      if not ok then
        warn(warnings, "plugin " .. entry.name, message)
      end
    end
  end
  -- The very bytes whose hash was trusted: the file on the disk may be another by now.
  local text = project and project.status == "trusted" and project.files["init.lua"]
  if text then
    local file = path.join(project.dir, ".alisio", "init.lua")
    local ok, message = run_text(text, file, "project")
    if not ok then
      warn(warnings, "the project's init.lua", message)
    end
  end
  return true
end

return M
