local options = require "alisio.ui.cli.lib.options"

local list = {
  { name = "json", help = "" },
  { name = "max-rows", value = "N", kind = "integer", help = "" },
  { name = "title", value = "TEXT", kind = "string", help = "" },
  { name = "shell", value = "NAME", kind = "string", values = { "bash", "zsh" }, help = "" },
  { name = "input", value = "FILE", kind = "list", help = "" },
  { name = "head", value = "[N]", kind = "integer", alone = "first", help = "" },
}

local function parse(words, leading)
  local argv = {}
  for word in words:gmatch "%S+" do
    argv[#argv + 1] = word
  end
  return options.parse(argv, list, "en", leading)
end

describe("options", function()
  it("reads flags, values in both forms, lists and positionals", function()
    assert.same({ "a", "b", json = true, ["max-rows"] = 5, title = "x", input = { "1", "2" } },
      parse "a --json --max-rows 5 --title=x --input 1 b --input=2")
  end)

  it("ends at -- and takes - as a positional", function()
    assert.same({ "-", "--json" }, parse "- -- --json")
  end)

  it("lets a value begin with one dash, and with two after =", function()
    assert.equal("-", parse("--title -").title)
    assert.equal("--x", parse("--title=--x").title)
  end)

  it("leaves a value out where that is allowed, and takes no other word for it", function()
    assert.same({ "a.csv", first = true }, parse "--head a.csv")
    assert.same({ "a.csv", first = true, head = 7 }, parse "--head 7 a.csv")
    assert.same({ "a.csv", first = true, head = 7 }, parse "a.csv --head=7")
    assert.same({ "a.csv", first = true }, parse "a.csv --head")
  end)

  it("leaves what follows the first positional to others when asked to", function()
    assert.same({ "file", "--json", "x", title = "t" }, parse("--title t file --json x", true))
  end)

  it("names the nearest option", function()
    local _, message, id = parse "--max-row 5"
    assert.same({ "There is no option --max-row. Did you mean --max-rows?", "usage" }, { message, id })
    assert.equal("There is no option --zzzz.", select(2, parse "--zzzz"))
    assert.matches("%-x", select(2, parse "-x"))
  end)

  it("refuses a missing, a wrong and a needless value", function()
    assert.equal("--max-rows needs a value (N).", select(2, parse "--max-rows"))
    assert.equal("--max-rows needs a value (N).", select(2, parse "--max-rows --json"))
    assert.equal("--max-rows takes a whole number, not “many”.", select(2, parse "--max-rows many"))
    assert.equal("--max-rows takes a whole number, not “-1”.", select(2, parse "--max-rows=-1"))
    assert.equal("--shell is one of bash, zsh, not “fish”.", select(2, parse "--shell fish"))
    assert.equal("--json takes no value.", select(2, parse "--json=1"))
  end)

  it("speaks Spanish", function()
    local _, message = options.parse({ "--jsn" }, list, "es")
    assert.equal("No existe la opción --jsn. ¿Quiso decir --json?", message)
  end)
end)
