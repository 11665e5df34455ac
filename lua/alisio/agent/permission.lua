--- Who may do what. One order for every call: what is read-only or denied comes first, then what a
-- flag, a rule, an earlier answer or the mode allows; what is left is asked, or refused where nobody
-- can be asked. A denial is recorded and not remembered: the next call asks again.
local clock = require "std.clock"
local digest = require("std.artifact").digest_bytes
local json = require "std.json"
local words = require "alisio.kernel.words"
local hooks = require "alisio.agent.hooks"
local registry = require "alisio.agent.registry"

local M = {}

local Permission = {}
Permission.__index = Permission

local harmless = { read = true, internal = true }
local mode_allows = {
  ["read-only"] = {},
  ask = {},
  auto = { write = true },
  full = { write = true, process = true, external = true },
}

--- No flag, mode or earlier answer covers it: it is asked each time.
local ALWAYS_ASKED = "analysis.install"

--- The capability a tool's permission is about: its own, or one of its name.
---@param tool table
---@return string
function M.capability(tool)
  return tool.capability or "tool." .. tool.name
end

local rule_keys = { "tool", "capability", "effect", "where", "decide", "reason" }

--- Adds a user's rule; the first that fits decides, and a denial comes before any allowance.
---@param rule table  { tool?, capability?, effect?, where = function(input)?, decide = "allow"|"deny", reason? }
---@return fun() remove
function M.rule(rule)
  registry.check_keys("permission", rule, rule_keys, 2)
  if rule.decide ~= "allow" and rule.decide ~= "deny" then
    error('permission: decide is "allow" or "deny"', 2)
  end
  if not (rule.tool or rule.capability or rule.effect) then
    error("permission: name a tool, a capability or an effect", 2)
  end
  if rule.where ~= nil and type(rule.where) ~= "function" then
    error("permission: where is a function of the tool's input", 2)
  end
  local remove = registry.add("rule", rule, 2)
  return remove
end

-- A denial of what the tool is for holds for all it may become; an allowance is for exactly one thing.
local function fits(rule, tool, capability)
  return (not rule.tool or rule.tool == tool.name)
    and (not rule.capability or rule.capability == capability
      or rule.decide == "deny" and rule.capability == M.capability(tool))
    and (not rule.effect or rule.effect == tool.effect)
end

--- What an approval shows when the tool has no `approval` of its own: its whole input.
local function plain_approval(tool, input)
  local script = json.encode(input, { pretty = true })
  return { title = tool.name, script = script, language = "json", guarantees = {} }
end

--- What would be shown for this call, with the hash an answer is bound to.
---@param tool table
---@param input table
---@param call table
---@return table? approval  { title, script, sha256, capability, guarantees, runtime?, otherwise? = what can be done
---  instead, a sentence that a denial ends with }
---@return string? message
---@return string? id
function M.approval(tool, input, call)
  local shown
  if tool.approval then
    local message, id
    shown, message, id = tool.approval(input, call)
    if not shown then
      return nil, message, id
    end
  else
    shown = plain_approval(tool, input)
  end
  local approval = {}
  for key, value in pairs(shown) do
    approval[key] = value
  end
  approval.capability = approval.capability or M.capability(tool)
  approval.sha256 = approval.sha256 or digest(tool.name .. "\0" .. json.encode(input))
  return approval
end

--- Makes the policy of a session.
---@param options table  { config, store?, session, bus?, ask = function(request)?, flags?, read_only? }
---@return table permission
function M.new(options)
  local config, flags = options.config, options.flags or {}
  local self = setmetatable({
    config = config,
    store = options.store,
    session = options.session,
    bus = options.bus,
    ask = options.ask,
    flags = flags,
    mode = config:get "permission",
    lists = { allow = {}, deny = {} },
    not_offered = {},
    requests = 0,
  }, Permission)
  self.read_only = options.read_only or flags["read-only"] or self.mode == "read-only" or false
  for which, set in pairs(self.lists) do
    for _, name in ipairs(config:get("permissions." .. which) or {}) do
      set[name] = true
    end
  end
  return self
end

--- Where a value of the configuration came from, as a decision's source.
local function config_source(config, key)
  local origin = config:origin(key)
  return type(origin) == "string" and origin:find "^project" and "project" or "rule"
end

--- Why something is denied, in the language of the run.
function Permission:say(why, fields)
  return words.t(self.config.locale, "denied." .. why, fields)
end

function Permission:flag_covers(tool, capability)
  local flags = self.flags
  return (tool.effect == "write" and flags["allow-write"])
    or (tool.effect == "process" and flags["allow-process"])
    or (capability == "analysis.run" and flags["allow-analysis"])
    or false
end

local function denied_by_rule(tool, input, capability)
  for _, entry in ipairs(registry.list "rule") do
    local rule = entry.value
    if rule.decide == "deny" and fits(rule, tool, capability) then
      local ok, hit = true, true
      if rule.where and input then
        ok, hit = pcall(rule.where, input)
      elseif rule.where then
        hit = false
      end
      if not ok then
        return ("the rule at %s failed: %s"):format(entry.where, tostring(hit))
      elseif hit then
        return rule.reason or "a rule denies it (" .. entry.where .. ")"
      end
    end
  end
end

--- Whether a rule allows; without an input, whether one could.
local function allowed_by_rule(tool, input, capability)
  for _, entry in ipairs(registry.list "rule") do
    local rule = entry.value
    if rule.decide == "allow" and fits(rule, tool, capability) then
      if not rule.where or not input then
        return true
      end
      local ok, hit = pcall(rule.where, input)
      if ok and hit then
        return true
      end
    end
  end
  return false
end

--- Whether an answer for one runtime holds in another: a stricter runtime needs no new question.
local strength = { managed = 1, sandbox = 2, oci = 2 }
local function runtime_covers(granted, now)
  return granted == now or granted == nil and now == nil
    or (strength[granted] or math.huge) < (strength[now] or 0)
end

--- A saved grant that covers what would run; without an approval, one that could.
function Permission:saved(capability, approval)
  if not self.store then
    return nil
  end
  for _, grant in ipairs(self.store.grants.list(self.session) or {}) do
    if grant.capability == capability and (not approval or runtime_covers(grant.runtime, approval.runtime)) then
      return grant
    end
  end
end

--- The decision without asking. Without an approval it is the one that the tool could get.
---@param tool table
---@param input table?
---@param approval table?  what would run; its capability may be more than the tool's own
---@return string? decision  "allow_once", "deny", or nil: it must be asked
---@return string? source
---@return string? reason
function Permission:settle(tool, input, approval)
  local capability = approval and approval.capability or M.capability(tool)
  if self.read_only and not harmless[tool.effect] then
    return "deny", self.flags["read-only"] and "flag" or "mode", self:say "read_only"
  end
  local reason = denied_by_rule(tool, input, capability)
  if reason then
    return "deny", "rule", reason
  end
  if self.lists.deny[tool.name] then
    return "deny", config_source(self.config, "permissions.deny"), self:say("listed", { tool = tool.name })
  end
  if harmless[tool.effect] then
    return "allow_once", "mode"
  elseif capability == ALWAYS_ASKED then
    return nil
  elseif self:flag_covers(tool, capability) then
    return "allow_once", "flag"
  elseif self.lists.allow[tool.name] or allowed_by_rule(tool, input, capability) then
    return "allow_once", "rule"
  elseif self:saved(capability, approval) then
    return "allow_session", "saved"
  elseif mode_allows[self.mode][tool.effect] then
    return "allow_once", "mode"
  end
end

--- Whether the model is told of a tool. One that would only be asked about, where nobody can be, is
-- left out and counted in `not_offered`; one that can never run is simply absent.
---@param tool table
---@return boolean
function Permission:offered(tool)
  local decision = self:settle(tool)
  if decision == "deny" then
    return false
  elseif decision == nil and not self.ask then
    self.not_offered[tool.name] = true
    return false
  end
  return true
end

--- Forgets what the run before was not offered.
function Permission:begin()
  self.not_offered = {}
end

--- Runs the hooks in front of the call. What they change in the input is changed in place.
local function ask_hooks(tool, input, call)
  local step = { name = tool.name, effect = tool.effect, input = input, callId = call and call.id }
  local ok, reason = hooks.run("tool", step)
  if not ok then
    return nil, reason
  end
  if step.input ~= input then
    for key in pairs(input) do
      input[key] = nil
    end
    for key, value in pairs(step.input) do
      input[key] = value
    end
  end
  return true
end

--- Decides on a call, asking when it must; every decision that lets something act, and every
-- denial, is an event with its source.
---@async
---@param tool table
---@param input table
---@param call table
---@return string? decision  "allow_once", "allow_session" or "deny"; nil when the tool itself cannot run
---@return string source      with nil: why it cannot
---@return string? reason     with nil: the error's id
---@return table? approval    what was decided on, with its hash
function Permission:decide(tool, input, call)
  self.requests = self.requests + 1
  local request_id = ("req_%d_%d"):format(clock.now(), self.requests)
  local result = { requestId = request_id, callId = call and call.id, capability = M.capability(tool) }
  local function done(decision, source, reason, approval)
    if decision == "deny" and (source == "user" or source == "headless") and approval.otherwise then
      reason = (reason and reason .. ". " or "") .. approval.otherwise
    end
    if decision == "deny" or not harmless[tool.effect] then
      result.decision, result.source, result.reason = decision, source, reason
      result.sha256 = approval and approval.sha256
      local stored, message, id = true, nil, nil
      if self.bus then
        stored, message, id = self.bus:emit("permission_resolved", result)
      end
      if not stored then -- a decision that would be forgotten lets nothing through
        return nil, message, id
      end
    end
    return decision, source, reason, approval
  end

  if self.read_only and not harmless[tool.effect] then
    return done("deny", self.flags["read-only"] and "flag" or "mode", self:say "read_only")
  end
  local ok, hook_reason = ask_hooks(tool, input, call)
  if not ok then
    return done("deny", "hook", hook_reason)
  end
  if harmless[tool.effect] then
    return done(self:settle(tool, input))
  end
  local approval, message, id = M.approval(tool, input, call)
  if not approval and id == "permission_denied" then -- a guard of the tool's own: it stands in front like a hook
    return done("deny", "hook", message)
  elseif not approval then
    return nil, message, id
  end
  result.capability = approval.capability
  local decision, source, reason = self:settle(tool, input, approval)
  if decision then
    return done(decision, source, reason, approval)
  elseif not self.ask then
    return done("deny", "headless", self:say "no_one", approval)
  end
  local asked, by, why, shown = self:question(tool, input, call, approval, request_id)
  if not asked then
    return nil, by, why
  end
  return done(asked, by, why, shown)
end

--- Asks, and binds the answer to what was shown.
function Permission:question(tool, input, call, approval, request_id)
  local ok, reason = hooks.run("permission", {
    name = tool.name, input = input, capability = approval.capability, title = approval.title,
  })
  if not ok then
    return "deny", "hook", reason, approval
  end
  local request = {
    requestId = request_id,
    callId = call and call.id,
    capability = approval.capability,
    title = approval.title,
    script = approval.script,
    language = approval.language,
    sha256 = approval.sha256,
    guarantees = json.array(approval.guarantees or {}),
    options = json.array {
      { id = "allow_once", label = words.t(self.config.locale, "approval.allow_once") },
      { id = "allow_session", label = words.t(self.config.locale, "approval.allow_session") },
      { id = "deny", label = words.t(self.config.locale, "approval.deny") },
    },
  }
  if approval.capability == ALWAYS_ASKED then
    table.remove(request.options, 2)
  end
  if self.bus then
    local stored, message, id = self.bus:emit("permission_requested", request)
    if not stored then
      return nil, message, id
    end
  end
  local decision, why = self.ask(request)
  if decision ~= "allow_once" and decision ~= "allow_session" then
    return "deny", "user", why or self:say "user", approval
  end
  local now = M.approval(tool, input, call)
  if not now or now.sha256 ~= approval.sha256 then
    return "deny", "user", self:say "changed", approval
  end
  if decision == "allow_session" and approval.capability ~= ALWAYS_ASKED then
    local grant, message, id = self.store.grants.save {
      session = self.session, capability = approval.capability, runtime = approval.runtime,
    }
    if not grant then
      return nil, message, id
    end
  end
  return decision, "user", nil, approval
end

--- The tools that were not offered because nobody could be asked, sorted.
---@return string[]
function Permission:withheld()
  local names = {}
  for name in pairs(self.not_offered) do
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

return M
