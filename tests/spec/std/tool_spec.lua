-- What does not depend on the gate, which is set once in a process; the rest is in test_tool.c.
local tool = require "std.tool"

local function definition(name)
  return {
    name = name, description = "For the specs.", effect = "read", input = {},
    run = function()
      return "ran"
    end,
  }
end

describe("std.tool", function()
  after_each(function()
    tool.remove "spec_tool"
    tool.remove "spec_other"
  end)

  it("keeps definitions by name, without what runs them #oom", function()
    tool.remove "spec_tool"
    tool.register(definition "spec_tool")
    local def = tool.get "spec_tool"
    assert.equal("For the specs.", def.description)
    assert.is_nil(def.run)
    tool.remove "spec_tool"
    assert.is_nil(tool.get "spec_tool")
  end)

  it("lists them by name #oom", function()
    tool.remove "spec_tool"
    tool.remove "spec_other"
    tool.register(definition "spec_tool")
    tool.register(definition "spec_other")
    local names = {}
    for _, def in ipairs(tool.list()) do
      names[#names + 1] = def.name:match "^spec_.*"
    end
    assert.are.same({ "spec_other", "spec_tool" }, names)
  end)

  it("refuses a call that no policy answers for #oom", function()
    tool.remove "spec_tool"
    tool.register(definition "spec_tool")
    local result, message, id = tool.call("spec_tool", {}, {})
    assert.is_nil(result)
    assert.is_string(message)
    assert.equal("permission_denied", id)
  end)
end)
