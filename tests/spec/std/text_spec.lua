local text = require "std.text"

describe("std.text", function()
  it("counts the columns a reader sees", function()
    for s, columns in pairs {
      [""] = 0, abc = 3, ["ñandú"] = 5, ["日本"] = 4, ["e\u{301}"] = 1, ["👍🏽"] = 2,
      ["👨‍👩‍👧"] = 2, ["\27[1mab\27[0m"] = 2, ["\xff"] = 1,
    } do
      assert.equal(columns, text.width(s), s)
    end
  end)

  it("repairs what is no UTF-8", function()
    assert.equal("ñandú", text.repair "ñandú")
    assert.equal("a\u{FFFD}b\u{FFFD}", text.repair "a\xffb\xc3")
  end)

  it("cuts with a mark", function()
    assert.equal("abc", text.truncate("abc", 3))
    assert.equal("ab…", text.truncate("abcd", 3))
    assert.equal("日…", text.truncate("日本語", 4))
    assert.equal("", text.truncate("abc", 0))
    assert.equal("\27[1ma…\27[0m", text.truncate("\27[1mabc\27[0m", 2))
  end)

  it("wraps at spaces and where it must", function()
    assert.same({ "one two", "three" }, text.wrap("one two three", 8))
    assert.same({ "abcd", "ef" }, text.wrap("abcdef", 4))
    assert.same({ "日本", "語" }, text.wrap("日本語", 5))
    assert.same({ "a", "", "b" }, text.wrap("a\n\nb", 5))
    assert.same({ "" }, text.wrap("", 5))
    assert.same({ "\27[1mab\27[0m", "\27[1mcd\27[0m" }, text.wrap("\27[1mab cd\27[0m", 3))
    for _, line in ipairs(text.wrap(("word and anotherlongword "):rep(40), 11)) do
      assert.is_true(text.width(line) <= 11)
    end
  end)

  it("shows what would act", function()
    assert.equal("a\\u001b[2J\\u202e\\u2501", text.visible "a\27[2J\u{202E}━")
    assert.equal("\\x9b\\u{e0041}", text.visible "\x9b\u{E0041}")
    assert.equal("a\\u000ab", text.visible "a\nb")
    assert.equal("a\n\tb", text.visible("a\n\tb", true))
    assert.equal("ñ日👨‍👩‍👧", text.visible "ñ日👨‍👩‍👧")
  end)

  it("folds, composes and checks", function()
    assert.equal("ano", text.fold "Año")
    assert.equal("\u{F1}", text.normalize "n\u{303}")
    assert.is_nil(text.normalize "\xff")
    assert.is_nil(text.fold "\xff")
    assert.is_true(text.valid "ñ")
    assert.is_false(text.valid "\xc3")
    assert.equal("a", text.cut("añb", 2))
  end)

  it("draws Markdown", function()
    local page = text.markdown([[
# Title
Some **bold** [link](http://x.y).

- one
  - two
3. three

> said

| a | b |
|---|--:|
| x | 12 |

```
code
```
]], { width = 40 })
    assert.equal([[
Title

Some bold link (http://x.y).

• one
  • two

3.  three

│ said

a   b
─────
x  12

  code
]], page)
  end)

  it("lets no escape sequence of Markdown through", function()
    local page = text.markdown("# \27[31mred\n\n`\27]0;t\7`\n\n[\u{202E}x](\27[1m)\n\n|a|\n|---|\n|\27[2J|", { color = true })
    assert.is_nil(page:gsub("\27%[[%d;]*m", ""):find("\27", 1, true))
    assert.is_nil(page:find("\27[31m", 1, true))
    assert.is_nil(page:find("\u{202E}", 1, true))
  end)

  it("shows a table as it is written when it would grow too large", function()
    local hostile = "|" .. ("a|"):rep(80) .. "\n|" .. ("---|"):rep(80) .. "\n" .. ("|\n"):rep(5000)
    assert.equal(hostile, text.markdown(hostile))
  end)

  it("survives memory running out #oom", function()
    text.markdown("# a\n\n- **b** `c`\n\n|x|\n|---|\n|y|", { width = 30 })
    text.wrap("a b c", 2)
    text.fold "Ñ"
  end)
end)
