package.path = "?.lua;" .. package.path
local generate = require "docs.generate"

describe("documents made from tables", function()
  it("are current", function()
    assert.equal("", table.concat(generate.stale(), ", "), "run: build/alisio script docs/generate.lua")
  end)

  it("list every key in an init.lua that loads", function()
    for _, name in ipairs { "lua/alisio/defaults/init.lua", "lua/alisio/defaults/init.es.lua" } do
      local file <close> = assert(io.open(name))
      local text = file:read "a"
      -- Uncommented, the keys are a table that setup accepts.
      local keys = text:match "\n  %-%- keys\n(.-)\n  %-%- end of keys\n"
      local body = keys:gsub("\n?  %-%- (%s*)%-%-[^\n]*", ""):gsub("  %-%- ", "")
      local values = assert(load("return {" .. body .. "}"))()
      assert.equal(120000, values.analysis.limits.timeoutMs)
      local cfg = assert(require("alisio.kernel.config").load { env = function() end })
      assert(cfg:setup(values))
      assert(load(text, "=" .. name, "t"))
    end
  end)
end)
