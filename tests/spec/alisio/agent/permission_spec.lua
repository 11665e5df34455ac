local fs = require "std.fs"
local helper = require "spec.agent_helper"
local config = require "alisio.kernel.config"
local trust = require "alisio.kernel.trust"
local hooks = require "alisio.agent.hooks"
local permission = require "alisio.agent.permission"
local registry = require "alisio.agent.registry"

local tools = {
  read = { name = "look", effect = "read" },
  internal = { name = "note", effect = "internal" },
  write = { name = "put", effect = "write", capability = "workspace.write" },
  process = { name = "go", effect = "process", capability = "process.run" },
  external = { name = "call_out", effect = "external" },
  python = { name = "python_run", effect = "process", capability = "analysis.run" },
  install = { name = "add_packages", effect = "process", capability = "analysis.install" },
}

--- The decision and its source; a call of its own each time.
local function decide(made, tool, input, call)
  local decision, source, reason = made:decide(tool, input, call or { id = "c" })
  return { decision, source, reason }
end

local function each_tool(fn)
  for kind, tool in pairs(tools) do
    fn(kind, tool)
  end
end

describe("permission", function()
  local bench
  after_each(function()
    if bench then
      bench:close()
      bench = nil
    end
    registry.drop "spec"
  end)

  -- A policy without a face, or with one that gives an answer.
  local function policy(options)
    bench = helper.new { config = { permission = options.mode or "ask" }, flags = options.flags }
    local opened = bench:session {}
    local asked = {}
    local made = permission.new {
      config = bench.config, store = bench.store, session = opened.id, bus = opened.bus,
      flags = options.flags, read_only = options.read_only,
      ask = options.answer and function(request)
        asked[#asked + 1] = request
        return options.answer
      end,
    }
    return made, asked, opened
  end

  local function decisions(made)
    local out = {}
    each_tool(function(kind, tool)
      local decision, source = made:decide(tool, {}, { id = "c" })
      out[kind] = decision .. " " .. source
    end)
    return out
  end

  it("lets only reads and internal work through where nobody can be asked", function()
    local made = policy { mode = "ask" }
    assert.same({
      read = "allow_once mode", internal = "allow_once mode", write = "deny headless", process = "deny headless",
      external = "deny headless", python = "deny headless", install = "deny headless",
    }, decisions(made))
  end)

  it("lets writes through in mode auto, and all but installing in mode full", function()
    assert.same({
      read = "allow_once mode", internal = "allow_once mode", write = "allow_once mode", process = "deny headless",
      external = "deny headless", python = "deny headless", install = "deny headless",
    }, decisions((policy { mode = "auto" })))
    bench:close()
    assert.same({
      read = "allow_once mode", internal = "allow_once mode", write = "allow_once mode", process = "allow_once mode",
      external = "allow_once mode", python = "allow_once mode", install = "deny headless",
    }, decisions((policy { mode = "full" })))
  end)

  it("covers by a flag exactly what the flag names", function()
    local made = policy { flags = { ["allow-analysis"] = true } }
    local got = decisions(made)
    assert.equal("allow_once flag", got.python)
    assert.equal("deny headless", got.process)
    assert.equal("deny headless", got.install)
    bench:close()
    got = decisions((policy { flags = { ["allow-process"] = true } }))
    assert.equal("allow_once flag", got.python)
    assert.equal("allow_once flag", got.process)
    assert.equal("deny headless", got.write)
    assert.equal("deny headless", got.install)
    bench:close()
    got = decisions((policy { flags = { ["allow-write"] = true } }))
    assert.equal("allow_once flag", got.write)
    assert.equal("deny headless", got.process)
  end)

  it("puts read-only before flags, rules and grants", function()
    local made = policy { mode = "read-only", flags = { ["allow-write"] = true } }
    bench:rule { tool = "put", decide = "allow" }
    local got = decisions(made)
    assert.equal("deny mode", got.write)
    assert.equal("deny mode", got.external)
    assert.equal("allow_once mode", got.internal)
    assert.is_false(made:offered(tools.write))
    assert.same({}, made:withheld())
  end)

  it("gives its reasons in the language of the run", function()
    local made = policy { mode = "read-only" }
    bench.config.locale = "es"
    assert.matches("solo lectura", (select(3, made:decide(tools.write, {}))))
  end)

  it("puts a rule's denial before a flag, and its reason into the answer", function()
    local made = policy { flags = { ["allow-write"] = true } }
    bench:rule { tool = "put", where = function(input) return input.path == "secret" end, decide = "deny", reason = "no" }
    assert.same({ "deny", "rule", "no" }, decide(made, tools.write, { path = "secret" }))
    assert.equal("allow_once", (made:decide(tools.write, { path = "other" }, { id = "c" })))
  end)

  it("denies when a denying rule's condition raises, and does not allow when an allowing one does", function()
    local made = policy {}
    bench:rule { tool = "put", where = function(input) return input.path:find "x" end, decide = "allow" }
    assert.equal("deny", (made:decide(tools.write, {}, { id = "c" })))
    assert.equal("allow_once", (made:decide(tools.write, { path = "x" }, { id = "c" })))
    bench:rule { tool = "put", where = function(input) return input.nothing.here end, decide = "deny" }
    local decision, source, reason = made:decide(tools.write, { path = "x" }, { id = "c" })
    assert.same({ "deny", "rule" }, { decision, source })
    assert.matches("the rule at .+ failed: .+permission_spec.lua:%d+", reason)
  end)

  it("lets a hook refuse anything, reads too, and refuses when a hook raises", function()
    local made = policy { mode = "full" }
    registry.as("spec", hooks.before, "tool", function(step)
      if step.name == "look" then
        return hooks.deny "not in this house"
      elseif step.name == "note" then
        error "broken"
      end
    end)
    assert.same({ "deny", "hook", "not in this house" }, decide(made, tools.read, {}))
    local decision, source, reason = made:decide(tools.internal, {}, { id = "c" })
    assert.same({ "deny", "hook" }, { decision, source })
    assert.matches("broken", reason)
    assert.equal("allow_once", (made:decide(tools.write, {}, { id = "c" })))
  end)

  it("hands the tool the input as a hook changed it", function()
    local made = policy { mode = "full" }
    registry.as("spec", hooks.before, "tool", function(step)
      step.input = { path = "changed" }
    end)
    local input = { path = "given", other = 1 }
    made:decide(tools.write, input, {})
    assert.same({ path = "changed" }, input)
  end)

  it("asks with the hash of what is shown, and remembers nothing of an allow once", function()
    local made, asked = policy { answer = "allow_once" }
    assert.same({ "allow_once", "user" }, decide(made, tools.write, { path = "a" }))
    assert.equal("workspace.write", asked[1].capability)
    assert.matches("^%x+$", asked[1].sha256)
    assert.equal(64, #asked[1].sha256)
    assert.matches('"path": "a"', asked[1].script, 1, true)
    made:decide(tools.write, { path = "a" }, { id = "d" })
    assert.equal(2, #asked)
  end)

  it("asks again after a denial", function()
    local made, asked = policy { answer = "deny" }
    assert.equal("deny", (made:decide(tools.write, {}, { id = "c" })))
    assert.equal("deny", (made:decide(tools.write, {}, { id = "c" })))
    assert.equal(2, #asked)
  end)

  it("keeps a session's grant for its capability alone, after a restart too", function()
    local made, asked, opened = policy { answer = "allow_session" }
    assert.equal("allow_session", (made:decide(tools.python, { code = "1" }, { id = "c" })))
    assert.same({ "allow_session", "saved" }, decide(made, tools.python, { code = "2" }))
    assert.equal(1, #asked)
    local again = permission.new { config = bench.config, store = bench.store, session = opened.id, flags = {} }
    assert.equal("allow_session", (again:decide(tools.python, { code = "3" }, { id = "c" })))
    assert.equal("deny", (again:decide(tools.process, {}, { id = "c" })))
    local other = permission.new { config = bench.config, store = bench.store, session = "ses_other", flags = {} }
    assert.equal("deny", (other:decide(tools.python, { code = "3" }, { id = "c" })))
  end)

  it("asks again in a weaker runtime, not in a stronger one", function()
    local made, asked = policy { answer = "allow_session" }
    local runtime = "sandbox"
    local tool = {
      name = "python_run", effect = "process", capability = "analysis.run",
      approval = function() return { title = "t", script = "s", runtime = runtime, guarantees = {} } end,
    }
    made:decide(tool, {}, { id = "c" })
    made:decide(tool, {}, { id = "c" })
    assert.equal(1, #asked)
    runtime = "managed"
    made:decide(tool, {}, { id = "c" })
    assert.equal(2, #asked)
    runtime = "oci"
    made:decide(tool, {}, { id = "c" })
    assert.equal(2, #asked)
  end)

  it("decides on what would run, where that is more than the tool's own capability", function()
    local made, asked = policy { mode = "full", answer = "allow_session", flags = { ["allow-analysis"] = true } }
    local tool = {
      name = "python_run", effect = "process", capability = "analysis.run",
      approval = function()
        return { title = "t", script = "s", capability = "analysis.install", guarantees = {} }
      end,
    }
    assert.same({ "allow_session", "user" }, { table.unpack(decide(made, tool, {}), 1, 2) })
    assert.equal("analysis.install", asked[1].capability)
    assert.same({}, bench.store.grants.list())
    bench:rule { capability = "analysis.run", decide = "allow" }
    made:decide(tool, {}, { id = "c" })
    assert.equal(2, #asked)
    bench:rule { capability = "analysis.run", decide = "deny" }
    assert.same({ "deny", "rule" }, { table.unpack(decide(made, tool, {}), 1, 2) })
  end)

  it("offers what a saved grant covers where nobody can be asked, in its runtime", function()
    local made, _, opened = policy {}
    assert.is_false(made:offered(tools.python))
    assert(bench.store.grants.save { session = opened.id, capability = "analysis.run", runtime = "managed" })
    assert.is_true(made:offered(tools.python))
    assert.is_false(made:offered(tools.process))
  end)

  it("never saves leave to install, and does not offer to", function()
    local made, asked = policy { answer = "allow_session" }
    made:decide(tools.install, {}, { id = "c" })
    made:decide(tools.install, {}, { id = "c" })
    assert.equal(2, #asked)
    assert.equal(2, #asked[1].options)
    assert.same({}, bench.store.grants.list())
  end)

  it("refuses when what would run is no longer what was shown", function()
    local made = policy { answer = "allow_once" }
    local shown = 0
    local tool = {
      name = "go", effect = "process",
      approval = function()
        shown = shown + 1
        return { title = "t", script = "s", sha256 = "hash " .. shown, guarantees = {} }
      end,
    }
    local decision, source, reason = made:decide(tool, {}, { id = "c" })
    assert.same({ "deny", "user" }, { decision, source })
    assert.matches("not what was shown", reason)
  end)

  it("counts what a guard of the tool refuses as denied by a hook", function()
    local made = policy { answer = "allow_once" }
    local tool = {
      name = "python_run", effect = "process",
      approval = function() return nil, "not such scripts", "permission_denied" end,
    }
    assert.same({ "deny", "hook", "not such scripts" }, decide(made, tool, {}))
  end)

  it("passes a tool's own refusal on as an error, not as a denial", function()
    local made = policy { answer = "allow_once" }
    local tool = {
      name = "python_run", effect = "process",
      approval = function() return nil, "no Python here", "python_missing" end,
    }
    assert.same({ [2] = "no Python here", [3] = "python_missing" }, decide(made, tool, {}))
  end)

  it("counts what is not offered only where a question is missing", function()
    local made = policy {}
    each_tool(function(_, tool)
      made:offered(tool)
    end)
    assert.same({ "add_packages", "call_out", "go", "put", "python_run" }, made:withheld())
    bench:close()
    made = policy { answer = "deny" }
    each_tool(function(_, tool)
      assert.is_true(made:offered(tool))
    end)
    assert.same({}, made:withheld())
  end)

  it("offers a tool that a rule may allow", function()
    local made = policy {}
    bench:rule { tool = "put", where = function() return false end, decide = "allow" }
    assert.is_true(made:offered(tools.write))
    assert.same({ "deny", "headless" }, { table.unpack(decide(made, tools.write, {}), 1, 2) })
  end)

  it("makes every decision that lets something act, and every denial, an event", function()
    local made, _, opened = policy { flags = { ["allow-analysis"] = true } }
    local seen = {}
    opened:on(function(event)
      seen[#seen + 1] = event.type .. " " .. tostring(event.decision) .. " " .. tostring(event.source)
    end)
    made:decide(tools.read, {}, { id = "a" })
    made:decide(tools.python, {}, { id = "b" })
    made:decide(tools.write, {}, { id = "c" })
    assert.same({ "permission_resolved allow_once flag", "permission_resolved deny headless" }, seen)
  end)

  it("takes a trusted project's denials, before any flag, and no allowance of its", function()
    bench = helper.new {}
    local project, state_dir = bench.dir .. "/project", bench.dir .. "/state"
    fs.mkdirs(project .. "/.alisio")
    fs.write(project .. "/.alisio/config.json", '{ "permissions": { "deny": ["put"], "allow": ["go"] } }')
    local snapshot = assert(trust.snapshot(project))
    local function policy_of_project()
      local cfg = assert(config.load { state_dir = state_dir, project_dir = project, env = function() end })
      return permission.new {
        config = cfg, store = bench.store, session = "ses_x", flags = { ["allow-write"] = true },
      }
    end
    assert.equal("allow_once", (policy_of_project():decide(tools.write, {}, {})))
    assert(trust.grant(state_dir, snapshot))
    assert.same({ "deny", "project" }, { table.unpack(decide(policy_of_project(), tools.write, {}), 1, 2) })
    assert.same({ "deny", "headless" }, { table.unpack(decide(policy_of_project(), tools.process, {}), 1, 2) })
  end)

  it("takes the tools that the user's configuration names", function()
    bench = helper.new {}
    fs.write(bench.dir .. "/config/config.json", '{ "permissions": { "allow": ["go", "add_packages"], "deny": ["look"] } }')
    local made = permission.new {
      config = assert(config.load { config_dir = bench.dir .. "/config", env = function() end }),
      store = bench.store, session = "ses_x", flags = {},
    }
    assert.same({ "allow_once", "rule" }, decide(made, tools.process, {}))
    assert.same({ "deny", "rule" }, { table.unpack(decide(made, tools.read, {}), 1, 2) })
    assert.equal("deny", (made:decide(tools.install, {}, {})))
  end)

  it("names the key that was meant in a rule", function()
    assert.has_error(function()
      permission.rule { tol = "x", decide = "allow" }
    end, 'permission: unknown key "tol", did you mean tool?')
    assert.has_error(function()
      permission.rule { tool = "x", decide = "maybe" }
    end, 'permission: decide is "allow" or "deny"')
  end)
end)
