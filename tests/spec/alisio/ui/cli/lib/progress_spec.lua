local progress = require "alisio.ui.cli.lib.progress"
local text = require "std.text"

describe("alisio.ui.cli.lib.progress", function()
  local function line(step, fields)
    local about = { name = "sales.csv", elapsed = 1000, columns = 120, locale = "en", utf8 = true, color = false }
    for key, value in pairs(fields or {}) do
      about[key] = value
    end
    return progress.line(step, about)
  end

  it("says percent, rows, speed and bytes", function()
    assert.equal("Reading sales.csv  ██████████            50%  1,204,311 rows  100 MiB/s  100 MiB of 200 MiB",
      line { bytes = 100 << 20, total = 200 << 20, rows = 1204311 })
    assert.matches("^Leyendo sales.csv.* 1%.204%.311 filas", line({ bytes = 1, total = 2, rows = 1204311 }, { locale = "es" }))
  end)

  it("counts where the end is not known", function()
    assert.equal("Reading sales.csv  7 rows  1 KiB/s", line { bytes = 1024, total = 0, rows = 7 })
    assert.equal("Reading sales.csv…", line(nil))
  end)

  it("fits every width, and nothing of a name acts", function()
    for columns = 20, 140 do
      local drawn = line({ bytes = 3 << 30, total = 4 << 30, rows = 4812044 }, { columns = columns, color = true, name = ("漢"):rep(90) })
      assert.is_true(text.width(drawn) < columns)
    end
    assert.is_nil(line({ bytes = 1, total = 2, rows = 1 }, { name = "a\27[2J" }):find("\27", 1, true))
    assert.matches("###", line({ bytes = 1, total = 2, rows = 1 }, { utf8 = false }))
  end)
end)
