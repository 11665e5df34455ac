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
end)
