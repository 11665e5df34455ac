--- What specs of the agent share: a runtime in folders of its own, and a model that says what the
--- spec wrote down.
local fs = require "std.fs"
local config = require "alisio.kernel.config"
local store = require "alisio.kernel.store"
local models = require "alisio.agent.model"
local permission = require "alisio.agent.permission"
local registry = require "alisio.agent.registry"
local runtime = require "alisio.agent.runtime"
local session = require "alisio.agent.session"
local toolset = require "alisio.agent.toolset"

local M = {}

-- Each spec file has modules of its own, but the process has one door: what an earlier file put
-- behind it gives way, and its gate, which knows no module, stays.
local door = require "std.tool"
local marks = debug.getregistry()
local register, set_gate = door.register, door.set_gate

function door.register(def)
  door.remove(def.name)
  register(def)
end

function door.set_gate(fn)
  if not marks["spec.gate"] then
    marks["spec.gate"] = true
    set_gate(fn)
  end
end

local Bench = {}
Bench.__index = Bench

--- Makes a runtime in a new folder. options: flags, config (flags by key), clean (default true).
function M.new(options)
  options = options or {}
  local dir = assert(fs.temp_dir("/tmp", "alisio-agent-"))
  assert(fs.mkdirs(dir .. "/work"))
  assert(fs.mkdirs(dir .. "/config"))
  local cfg = assert(config.load { env = function() end, flags = options.config or {} })
  local self = setmetatable({
    dir = dir, work = dir .. "/work", config = cfg, requests = {}, replies = {}, sessions = {},
    store = assert(store.open(dir .. "/state")),
  }, Bench)
  self.runtime = assert(runtime.start {
    cwd = self.work, config = cfg, store = self.store, state_dir = dir .. "/state",
    config_dir = dir .. "/config", clean = true, flags = options.flags or {},
  })
  registry.as("spec", function()
    models.add {
      name = "scripted",
      stream = function(request, emit)
        self.requests[#self.requests + 1] = request
        local reply = table.remove(self.replies, 1) or { text = "done" }
        if type(reply) == "function" then
          return reply(request, emit)
        end
        for _, piece in ipairs(reply.pieces or { reply.text }) do
          emit { type = "text", text = piece }
        end
        for i, call in ipairs(reply.calls or {}) do
          emit { type = "tool_call", id = call.id or "call_" .. i, name = call[1], input = call[2], badInput = call.bad }
        end
        return {
          stop = reply.stop or (reply.calls and "tools" or "end"), usage = reply.usage, extra = reply.extra,
        }
      end,
    }
  end)
  return self
end

--- Adds a tool for this spec.
function Bench.tool(_, def)
  def.description = def.description or "for a spec"
  registry.as("spec", toolset.add, def)
end

--- Adds a rule for this spec.
function Bench.rule(_, rule)
  registry.as("spec", permission.rule, rule)
end

--- Opens a session whose model is the scripted one. options: id, ask, read_only, limits, tools.
function Bench:session(options)
  options = options or {}
  local opened = assert(session.open {
    runtime = self.runtime, id = options.id, ask = options.ask, read_only = options.read_only,
    agent = { name = "spec", model = "scripted", limits = options.limits, tools = options.tools },
  })
  table.insert(self.sessions, opened)
  return opened
end

--- Says what the model will reply, one reply a turn.
function Bench:will_reply(...)
  for _, reply in ipairs { ... } do
    table.insert(self.replies, reply)
  end
end

--- Runs a prompt and collects its events.
function Bench.prompt(_, opened, words)
  local events = {}
  local result = assert(opened:prompt(words, { on = function(event)
    events[#events + 1] = event
  end }))
  return result, events
end

--- The events of a type.
function M.of(events, type)
  local list = {}
  for _, event in ipairs(events) do
    if event.type == type then
      list[#list + 1] = event
    end
  end
  return list
end

--- Writes a file of the workspace.
function Bench:file(rel, bytes)
  assert(fs.mkdirs((self.work .. "/" .. rel):match "^(.*)/"))
  assert(fs.write(self.work .. "/" .. rel, bytes))
end

function Bench:read(rel)
  return (fs.read(self.work .. "/" .. rel))
end

--- Lets go of everything.
function Bench:close()
  registry.drop "spec"
  for _, opened in ipairs(self.sessions) do
    opened:close()
  end
  self.store:close()
  fs.remove(self.dir)
end

return M
