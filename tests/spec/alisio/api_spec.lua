local asset = require "std.asset"
local fs = require "std.fs"
local helper = require "spec.agent_helper"
local alisio = require "alisio"
local registry = require "alisio.agent.registry"
local user = require "alisio.agent.user"

describe("the public API", function()
  it("has every name in the stubs for editors, and no other", function()
    local stubs = asset.read "lua/types/alisio.lua"
    for name in pairs(alisio) do
      assert.truthy(stubs:find("function alisio." .. name .. "(", 1, true) or stubs:find("alisio." .. name .. " = {", 1, true),
        name)
    end
    for name in stubs:gmatch "\nfunction alisio%.([%w_]+)%(" do
      assert.is_function(alisio[name])
    end
  end)

  describe("reads the user's files:", function()
    local bench, config_dir, warnings
    before_each(function()
      bench = helper.new()
      config_dir, warnings = bench.dir .. "/config", {}
      user.context(bench.runtime)
    end)
    after_each(function()
      registry.drop "init.lua"
      registry.drop "plugin one"
      registry.drop "plugin two"
      bench:close()
    end)

    local function load(files)
      for name, text in pairs(files) do
        local file = config_dir .. "/" .. name
        fs.mkdirs(file:match "^(.*)/")
        fs.write(file, text)
      end
      return user.load(config_dir, warnings)
    end

    it("init.lua sets, adds tools and hooks, and requires from lua/", function()
      assert(load {
        ["lua/mine.lua"] = "return { turns = 3 }",
        ["init.lua"] = [[
          local alisio = require "alisio"
          alisio.setup { agent = { limits = { turns = require("mine").turns } } }
          alisio.tool { name = "mine", description = "d", effect = "read", run = function() return "x" end }
          alisio.before("tool", function() end)]],
      })
      assert.equal(3, bench.config:get "agent.limits.turns")
      assert.same({ "init", config_dir .. "/init.lua:2" }, { bench.config:origin "agent.limits.turns" })
      assert.is_table(require("std.tool").get "mine")
      assert.equal(config_dir .. "/init.lua:4", alisio.hooks()[1].where)
    end)

    it("an init.lua that runs on, or takes all memory, is stopped, whatever it catches", function()
      local seconds, kib = user.TOP_LEVEL_SECONDS, user.TOP_LEVEL_KIB
      user.TOP_LEVEL_SECONDS = 0.2
      for _, text in ipairs { "while true do end", "while true do pcall(function() while true do end end) end" } do
        local ok, message = load { ["init.lua"] = text }
        assert.is_nil(ok)
        assert.matches("init.lua:1: the top level", message)
      end
      user.TOP_LEVEL_SECONDS, user.TOP_LEVEL_KIB = 60, collectgarbage "count" + 64 * 1024
      assert.matches("MiB", select(2, load { ["init.lua"] = "local t = {} while true do t[#t + 1] = ('x'):rep(10000) .. #t end" }))
      user.TOP_LEVEL_SECONDS, user.TOP_LEVEL_KIB = seconds, kib
      assert.matches("init.lua: raised nil", select(2, load { ["init.lua"] = "error()" }))
      assert.matches("init.lua: ", select(2, load { ["init.lua"] = string.dump(function() end) }))
    end)

    it("a broken init.lua names its file and line and leaves nothing behind", function()
      local ok, message, id = load { ["init.lua"] = [[
        require("alisio").tool { name = "half", description = "d", effect = "read", run = function() end }
        local x = nil .. 1]] }
      assert.is_nil(ok)
      assert.equal("config_invalid", id)
      assert.matches("init.lua:2: ", message)
      assert.is_nil(require("std.tool").get "half")
      assert.matches("init.lua:1:", select(2, load { ["init.lua"] = "this is not Lua" }))
      assert.is_nil((load { ["init.lua"] = "\27Lua" }))
    end)

    it("the top level cannot wait, and is told what to do", function()
      local _, message = load { ["init.lua"] = '\nrequire("std.task").sleep(1)' }
      assert.matches("init.lua:2: ", message)
      assert.matches("session_opened", message)
      _, message = load { ["init.lua"] = 'coroutine.yield(1)' }
      assert.matches("session_opened", message)
    end)

    it("a plugin that fails takes its own additions away, and the others stay", function()
      assert(load {
        ["plugins/one/init.lua"] = [[
          require("alisio").tool { name = "first", description = "d", effect = "read", run = function() end }]],
        ["plugins/two/init.lua"] = [[
          require("alisio").tool { name = "second", description = "d", effect = "read", run = function() end }
          require("alisio").tool { name = "first", description = "d", effect = "read", run = function() end }]],
      })
      assert.is_table(require("std.tool").get "first")
      assert.is_nil(require("std.tool").get "second")
      assert.equal(1, #warnings)
      assert.matches("plugin two is not loaded: .*two/init.lua:2: .*first", warnings[1])
    end)

    it("a project's init.lua runs only when trusted, and as the bytes that were trusted", function()
      local project = {
        dir = bench.work, status = "untrusted",
        files = { ["init.lua"] = 'require("alisio").tool { name = "theirs", description = "d", effect = "read", run = print }' },
      }
      assert(user.load(config_dir, warnings, project))
      assert.is_nil(require("std.tool").get "theirs")
      project.status = "trusted"
      bench:file(".alisio/init.lua", "error 'another file by now'")
      assert(user.load(config_dir, warnings, project))
      assert.is_table(require("std.tool").get "theirs")
      registry.drop "project"
      assert.same({}, warnings)
      project.files["init.lua"] = "\nerror 'broken'"
      assert(user.load(config_dir, warnings, project))
      assert.matches("project's init.lua is not loaded: .*%.alisio/init.lua:2: broken", warnings[1])
    end)

    it("analysis switched off takes its tools away, also from init.lua", function()
      local tool = require "std.tool"
      local toolset = require "alisio.agent.toolset"
      tool.register { name = "data_spec", description = "d", effect = "read", input = {}, run = print }
      toolset.withdraw(bench.config)
      assert.is_table(tool.get "data_inspect")
      assert(load { ["init.lua"] = 'require("alisio").setup { analysis = { enabled = false } }' })
      toolset.withdraw(bench.config)
      assert.is_nil(tool.get "data_inspect")
      assert.is_table(tool.get "read_file")
      tool.remove "data_spec"
      toolset.register()
    end)

    it("mistakes are told at the caller's line with the nearest name", function()
      for code, words in pairs {
        ['alisio.setup { modle = "x" }'] = "model",
        ['alisio.tool { name = "x", description = "d", efect = "read", run = print }'] = "did you mean effect",
        ['alisio.tool { name = "X y", description = "d", effect = "read", run = print }'] = "lower%-case",
        ['alisio.tool { name = "x", description = "d", effect = "reed", run = print }'] = "one of external",
        ['alisio.tool { name = "x", description = "d", effect = "read", run = print, input = { a = "strng" } }'] = "string",
        ['alisio.tool { name = "read_file", description = "d", effect = "read", run = print }'] = "already",
        ['alisio.on("run_startd", print)'] = "did you mean run_started",
        ['alisio.before("tol", print)'] = "did you mean tool",
        ['alisio.on("log")'] = "function",
        ['alisio.permission { tool = "x", decide = "no" }'] = "allow",
        ['alisio.model { name = "x" }'] = "stream",
        ['alisio.agent { name = "x", tols = {} }'] = "did you mean tools",
      } do
        local ok, message = load { ["init.lua"] = 'local alisio = require "alisio"\n' .. code }
        assert.is_nil(ok, code)
        assert.matches("init.lua:2: ", message)
        assert.matches(words, message)
      end
    end)
  end)

  describe("as its page shows it:", function()
    local task = require "std.task"
    local bench
    before_each(function()
      bench = helper.new()
      bench:file("north.csv", "region,total\nN,5\nS,7\nN,4\n")
      bench:file("south.csv", "region,total\nE,1\n")
      user.context(bench.runtime)
    end)
    after_each(function()
      user.session():close()
      user.on_demand()
      user.context(nil)
      registry.drop "page"
      bench:close()
    end)

    it("a script opens files side by side, and all is started once", function()
      local starts = 0
      user.context(nil)
      user.on_demand(function()
        starts = starts + 1
        task.sleep(5)
        return bench.runtime
      end)
      local sets = assert(task.map({ "north.csv", "south.csv" }, alisio.dataset.open))
      assert.same({ 1, 3, 1 }, { starts, sets[1].rows, sets[2].rows })
      local seen = {}
      for row in sets[1]:query "SELECT region, sum(total) AS total FROM data GROUP BY 1 ORDER BY 2 DESC" do
        seen[#seen + 1] = row.region .. row.total
      end
      assert.same({ "N9", "S7" }, seen)
      local set, message, id = alisio.dataset.open "west.csv"
      assert.same({ nil, "not_found" }, { set, id })
      assert.matches("west.csv", message)
      assert.has_error(function() sets[1]:query "DELETE FROM data" end)
    end)

    it("a start that fails is told to all who wait, and tried again", function()
      local fails = true
      user.context(nil)
      user.on_demand(function()
        task.sleep(5)
        if fails then
          return nil, "not today", "config_invalid"
        end
        return bench.runtime
      end)
      local told = assert(task.map({ 1, 2 }, function()
        return select(2, alisio.dataset.open "north.csv")
      end))
      assert.same({ "not today", "not today" }, told)
      fails = false
      assert.equal(3, assert(alisio.dataset.open "north.csv").rows)
    end)

    it("another agent, with a model of one's own", function()
      registry.as("page", alisio.model, {
        name = "echo",
        stream = function(request, emit)
          emit { type = "text", text = "You said: " .. request.messages[#request.messages].text }
          return { stop = "end", usage = { inputTokens = 0, outputTokens = 0 } }
        end,
      })
      local critic = alisio.agent {
        name = "critic", system = "You look for mistakes in numbers.", tools = { "data_query" }, model = "echo",
        limits = { turns = 8 },
      }
      local heard = {}
      local run = critic:run("Check it", {
        on = function(event) heard[#heard + 1] = event.type == "message_delta" and event.text or nil end,
      })
      assert.same({ "completed", 0, "You said: Check it" }, { run.status, run.usage.outputTokens, table.concat(heard) })
    end)

    it("a rule, a hook and a listener", function()
      local published
      registry.as("page", function()
        alisio.permission {
          tool = "write_file", where = function(input) return input.path:find "^reports/" end, decide = "allow",
        }
        alisio.before("tool", function(call)
          if call.name == "artifact_list" then
            return alisio.deny "not in this house"
          end
        end)
        alisio.on("artifact_published", function(event) published = event.artifact.path end)
      end)
      bench:will_reply({ calls = {
        { "write_file", { path = "reports/a.md", content = "A" } }, { "write_file", { path = "b.md", content = "B" } },
        { "artifact_list", {} }, { "artifact_create", { fileName = "c.md", text = "C" } },
      } }, { text = "done" })
      local _, events = bench:prompt(bench:session(), "go")
      local statuses = {}
      for i, event in ipairs(helper.of(events, "tool_completed")) do
        statuses[i] = event.status
      end
      assert.same({ "ok", "denied", "denied", "ok" }, statuses)
      assert.same({ "A", nil }, { bench:read "reports/a.md", (bench:read "b.md") })
      assert.equal("C", (fs.read(published)))
    end)
  end)
end)
