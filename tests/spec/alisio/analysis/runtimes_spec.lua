local config = require "alisio.kernel.config"
local runtimes = require "alisio.analysis.runtimes"

-- A machine that has these layers.
local function machine(layers)
  package.loaded["alisio.analysis.layers"] = { find = function() return layers end }
  package.loaded["alisio.analysis.runtimes.sandbox"] = nil
end

local function asks_for(runtime)
  return assert(config.load { env = function() end, flags = { ["analysis.runtime"] = runtime } })
end

local FULL = { landlock = 7, seccomp = true, namespaces = true }

local function with(changes)
  local layers = setmetatable({}, { __index = FULL })
  for key, value in pairs(changes) do
    layers[key] = value
  end
  return layers
end

describe("alisio.analysis.runtimes", function()
  local loaded = package.loaded["alisio.analysis.layers"]

  after_each(function()
    package.loaded["alisio.analysis.layers"] = loaded
    package.loaded["alisio.analysis.runtimes.sandbox"] = nil
  end)

  it("takes what the user chose", function()
    machine(FULL)
    assert.equal("managed", assert(runtimes.choose(asks_for(nil), "en")).name)
    assert.equal("sandbox", assert(runtimes.choose(asks_for "sandbox", "en")).name)
    local auto = assert(runtimes.choose(asks_for "auto", "en"))
    assert.equal("sandbox", auto.name)
    assert.is_nil(auto.instead)
  end)

  it("refuses the sandbox when a layer is missing, and names it; auto says so and takes less", function()
    for missing, layers in pairs {
      ["no Landlock"] = { landlock = 0 },
      ["has version 2, and 3"] = { landlock = 2 },
      ["has version 5, and 6"] = { landlock = 5, namespaces = false },
      ["no seccomp"] = { seccomp = false },
      ["cannot be asked"] = { error = "cannot be asked" },
    } do
      machine(with(layers))
      local runtime, message, id = runtimes.choose(asks_for "sandbox", "en")
      assert.is_nil(runtime)
      assert.equal("runtime_unavailable", id)
      assert.matches(missing, message, 1, true)
      assert.matches("Nothing was run", message, 1, true)
      local auto = assert(runtimes.choose(asks_for "auto", "en"))
      assert.equal("managed", auto.name)
      local said = runtimes.words(auto, "en")
      assert.matches("^! .*sandbox", said[1])
      assert.matches(missing, said[1], 1, true)
      assert.matches("^! .*your permissions", said[2])
    end
  end)

  it("goes without namespaces where Landlock keeps signals apart, and says what is then seen", function()
    machine(with { namespaces = false, noNamespaces = "Operation not permitted" })
    local runtime = assert(runtimes.choose(asks_for "sandbox", "en"))
    local said = table.concat(runtimes.words(runtime, "en"), "\n")
    assert.matches("! It can see names, sizes and dates", said, 1, true)
    assert.matches("Operation not permitted", said, 1, true)
    machine(FULL)
    said = table.concat(runtimes.words(assert(runtimes.choose(asks_for "sandbox", "en")), "en"), "\n")
    assert.is_nil(said:find("names, sizes", 1, true))
    machine(with { landlock = 5 }) -- namespaces keep signals apart, too
    assert.is_truthy(runtimes.choose(asks_for "sandbox", "en"))
  end)

  it("has words in both languages", function()
    machine(with { namespaces = false, noNamespaces = "x" })
    for _, name in ipairs(runtimes.NAMES) do
      local runtime = assert(runtimes.get(name, asks_for(name), "es"))
      assert.not_same(runtimes.words(runtime, "en"), runtimes.words(runtime, "es"))
    end
  end)
end)
