--- What one process holds once for all its sessions: configuration, store, the tools behind the
-- door, and what the user's Lua added.
local tool = require "std.tool"
local pending = require "alisio.artifacts.pending"
local toolset = require "alisio.agent.toolset"
local user = require "alisio.agent.user"

local M = {}

local Runtime = {}
Runtime.__index = Runtime

local gated = false

--- The gate of the door: the policy of the session a call belongs to. A call without one is refused.
local function gate(step)
  local call = step.call
  local permission = call and call.permission
  if not permission then
    return nil, "no session answers for this call", "permission_denied"
  end
  local decision, source, reason, approval = permission:decide(step.tool, step.input, call)
  if decision == nil then
    return nil, source, reason
  elseif decision == "deny" then
    return nil, reason or "denied", "permission_denied"
  end
  call.granted = { decision = decision, source = source, sha256 = approval and approval.sha256 }
  return true
end

--- Registers the tools of the agent and loads the user's Lua. Once a process.
---@async
---@param options table  { cwd, config, store, state_dir, config_dir, clean = bool?, flags? }
---@return table? runtime
---@return string? message
---@return string? id
function M.start(options)
  local self = setmetatable({
    cwd = options.cwd,
    config = options.config,
    store = options.store,
    state_dir = options.state_dir,
    config_dir = options.config_dir,
    flags = options.flags or {},
    warnings = {},
  }, Runtime)
  if not gated then
    gated = true
    tool.set_gate(gate)
    toolset.register()
  end
  if self.store and not self.flags["read-only"] then
    pending.settle(self.store)
  end
  user.context(self)
  if not options.clean then
    local ok, message, id = user.load(self.config_dir, self.warnings, self.config.project)
    if not ok then
      return nil, message, id
    end
  end
  toolset.withdraw(self.config)
  return self
end

return M
