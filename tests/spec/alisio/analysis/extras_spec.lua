local fs = require "std.fs"
local json = require "std.json"
local extras = require "alisio.analysis.extras"
local pips = require "alisio.analysis.pip"

describe("alisio.analysis.extras", function()
  local PACKAGES = {
    analysis = { "pandas", "numpy", "matplotlib", "openpyxl", "python-docx", "reportlab", "plotly", "jinja2" },
    science = {
      "pandas", "numpy", "matplotlib", "openpyxl", "python-docx", "reportlab", "plotly", "jinja2", "scipy", "statsmodels",
      "scikit-learn",
    },
  }

  -- The versions of each package, sorted, with where they are for.
  local function pins(name)
    local list = {}
    for _, requirement in ipairs(pips.requirements(extras.set(name).text)) do
      list[requirement.name] = list[requirement.name] or {}
      table.insert(list[requirement.name], requirement.version .. ";" .. (requirement.marker or ""))
    end
    return list
  end

  it("pins every package with the hashes of its files", function()
    for name, packages in pairs(PACKAGES) do
      local set = extras.set(name)
      assert.same(packages, set.packages)
      assert.is_true(set.downloadBytes > 50e6 and set.downloadBytes < 200e6)
      local all = pips.requirements(set.text)
      assert.is_true(#all > #packages)
      local hashes = 0
      for _, requirement in ipairs(all) do
        assert.is_true(requirement.hashes > 0, requirement.name)
        hashes = hashes + requirement.hashes
      end
      assert.equal(select(2, set.text:gsub("%-%-hash=sha256:%x+", "")), hashes)
      local pinned = pins(name)
      for _, package in ipairs(packages) do
        assert.is_table(pinned[package], package)
      end
    end
  end)

  it("pins in science what analysis does", function()
    local science = pins "science"
    for name, versions in pairs(pins "analysis") do
      assert.same(versions, science[name], name)
    end
  end)

  it("takes the larger of two sets", function()
    assert.is_nil(extras.wanted(nil))
    assert.is_nil(extras.wanted {})
    assert.equal("analysis", extras.wanted { "analysis" })
    assert.equal("science", extras.wanted { "science", "analysis" })
    assert.equal("science", extras.wanted { "analysis", "science" })
  end)

  it("believes only a record that fits its folder, its lock file and a Python that is there", function()
    local dir <close> = setmetatable({ path = assert(fs.temp_dir("/tmp", "alisio-extras-")) }, {
      __close = function(self) fs.remove(self.path) end,
    })
    local python = { executable = "/usr/bin/python3", basePrefix = "/usr", version = "3.11.2", path = {} }
    local function made(name, change)
      -- The folder's name is made of the set and the Python; a fake of it is found by the same rule.
      local folder = extras.place(dir.path, python, extras.set(name))
      assert(fs.mkdirs(folder .. "/bin"))
      local program = folder .. "/bin/python"
      assert(fs.write(program, "", { mode = 448 }))
      local record = { v = 1, extras = name, lock = extras.set(name).sha256, python = { executable = program, extras = name } }
      for key, value in pairs(change or {}) do
        record[key] = value
      end
      assert(fs.write(folder .. "/alisio.json", json.encode(record)))
      return program, folder
    end
    assert.is_nil(extras.find(dir.path, python, "analysis"))
    local program, folder = made "science"
    assert.equal(program, extras.find(dir.path, python, "science").executable)
    assert.equal(program, extras.find(dir.path, python, "analysis").executable)
    assert.is_nil(extras.find(dir.path, { executable = "/other/python3", basePrefix = "/usr", version = "3.11.2" }, "science"))
    for _, change in ipairs { { v = 2 }, { lock = "0" }, { python = 7 }, { python = { executable = "/bin/sh" } } } do
      made("science", change)
      assert.is_nil(extras.find(dir.path, python, "science"))
    end
    made "science"
    assert(fs.remove(folder .. "/bin/python"))
    assert.is_nil(extras.find(dir.path, python, "science"))
    made "science"
    assert.equal("analysis", extras.find(dir.path, python, (made "analysis") and "analysis").extras)
  end)

  it("reads what a lock file pins", function()
    local all = pips.requirements("# made\nA_b.C==1.0 ; python_version < '3.11' \\\n    --hash=sha256:00 \\\n    --hash=sha256:11\n"
      .. "# packages: x\nd==2 \\\n    --hash=sha256:22\n")
    assert.equal(2, #all)
    assert.same({ "a-b-c", "1.0", "python_version < '3.11'", 2 }, { all[1].name, all[1].version, all[1].marker, all[1].hashes })
    assert.equal("d==2 \\\n    --hash=sha256:22\n", all[2].text)
    assert.is_nil(all[2].marker)
  end)
end)
