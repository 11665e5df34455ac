-- The stubs of host.* for editors say what the modules have, no more and no less.
local asset = require "std.asset"

local function in_stub(name)
  local names = {}
  for found in assert(asset.read("lua/types/host/" .. name .. ".lua")):gmatch "\n[function ]*M%.([%w_]+)" do
    names[#names + 1] = found
  end
  table.sort(names)
  return names
end

local function in_module(name)
  local names = {}
  for found in pairs(require("host." .. name)) do
    names[#names + 1] = found
  end
  table.sort(names)
  return names
end

describe("lua/types/host", function()
  it("has a stub of every module of the host", function()
    for module in pairs(package.preload) do
      local name = module:match "^host%.(.+)$"
      if name and name ~= "test" then
        assert.are.same(in_module(name), in_stub(name), module)
      end
    end
  end)
end)
