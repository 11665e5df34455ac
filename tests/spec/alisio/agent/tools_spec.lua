local fs = require "std.fs"
local helper = require "spec.agent_helper"
local place = require "alisio.agent.place"
local program = require "alisio.agent.program"

describe("the tools of the folder", function()
  local bench, opened
  before_each(function()
    bench = helper.new { flags = { ["allow-write"] = true, ["allow-process"] = true } }
    opened = bench:session()
  end)
  after_each(function()
    bench:close()
  end)

  -- Calls a tool through a run; gives its status and text.
  local function call(name, input)
    bench:will_reply { calls = { { name, input } } }
    local _, events = bench:prompt(opened, "go")
    local done = helper.of(events, "tool_completed")[1]
    return done.status, done.output[1] and done.output[1].text, done
  end

  it("never leave the folder: by .., by an absolute path, by a link", function()
    fs.write(bench.dir .. "/outside.txt", "secret words")
    assert(os.execute(("ln -s ../outside.txt '%s/link.txt' && ln -s .. '%s/up'"):format(bench.work, bench.work)))
    for _, path in ipairs { "../outside.txt", bench.dir .. "/outside.txt", "link.txt", "up/outside.txt", "a/../../outside.txt", "/etc/passwd" } do
      local status, text = call("read_file", { path = path })
      assert.not_equal("ok", status, path)
      assert.is_nil(text:find("secret words", 1, true))
      status = call("write_file", { path = path, content = "broken", overwrite = true })
      assert.not_equal("ok", status, path)
      status = call("search_text", { text = "secret", path = path })
      assert.not_equal("ok", status, path)
    end
    assert.equal("secret words", (fs.read(bench.dir .. "/outside.txt")))
    local _, text = call("search_text", { text = "secret" })
    assert.matches("no line holds it", text)
    local status = call("shell", { command = "pwd", cwd = "up" })
    assert.not_equal("ok", status)
  end)

  it("leave Alisio's own folders alone where the folder is the home of both, by a link too", function()
    fs.write(bench.dir .. "/config/credentials.json", "the key")
    assert(os.execute(("ln -s config '%s/link'"):format(bench.dir)))
    bench.runtime.cwd = bench.dir
    opened = bench:session()
    for _, file in ipairs { "config/credentials.json", "link/credentials.json", "./config/../config/credentials.json" } do
      local status, text = call("read_file", { path = file })
      assert.equal("denied", status, file)
      assert.is_nil(text:find("the key", 1, true))
      assert.equal("denied", (call("write_file", { path = file, content = "x", overwrite = true })))
    end
    assert.equal("denied", (call("write_file", { path = "config/init.lua", content = "x" })))
    assert.equal("denied", (call("write_file", { path = "state/trust.json", content = "{}" })))
    assert.equal("denied", (call("shell", { command = "cat credentials.json", cwd = "config" })))
    assert.matches("no line holds it", select(2, call("search_text", { text = "the key" })))
    local _, listed = call("list_files", {})
    assert.is_nil(listed:find("credentials", 1, true))
    assert.matches("not entered: .*config", listed)
    -- Who works in such a folder has chosen it.
    bench.runtime.cwd = bench.dir .. "/config"
    opened = bench:session()
    assert.equal("ok", (call("read_file", { path = "credentials.json" })))
  end)

  it("give one line to a file, whatever its name holds", function()
    bench:file("a\nb.txt", "word")
    assert.equal("a\\u000ab.txt  4 bytes", select(2, call("list_files", {})))
    assert.equal("a\\u000ab.txt:1: word", select(2, call("search_text", { text = "word" })))
  end)

  it("take an absolute path that is beneath the folder", function()
    bench:file("sub/a.txt", "inside")
    local status, text = call("read_file", { path = bench.work .. "/sub/a.txt" })
    assert.equal("ok", status)
    assert.matches("inside", text)
  end)

  describe("read_file", function()
    it("gives the hash of the file and parts by line", function()
      bench:file("a.txt", "one\ntwo\nthree\nfour\n")
      local _, text = call("read_file", { path = "a.txt" })
      assert.matches("sha256 " .. require("std.artifact").digest_bytes "one\ntwo\nthree\nfour\n", text)
      assert.matches("\none\ntwo\nthree\nfour\n$", text)
      _, text = call("read_file", { path = "a.txt", line = 2, lines = 2 })
      assert.matches("lines 2 to 3; there is more\ntwo\nthree\n$", text)
    end)

    it("says that it cut a long file, and that a binary one is binary", function()
      bench:file("long.txt", ("0123456789abcde\n"):rep(10000))
      local _, text = call("read_file", { path = "long.txt" })
      assert.matches("there is more", text)
      assert.is_true(#text < 70000)
      bench:file("b.bin", "\0\1\2")
      local status
      status, text = call("read_file", { path = "b.bin" })
      assert.equal("error", status)
      assert.matches("binary file of 3 bytes", text)
    end)

    it("names what is missing", function()
      local status, text = call("read_file", { path = "nope.txt" })
      assert.equal("error", status)
      assert.matches("nope.txt", text)
      status, text = call("read_file", { path = "." })
      assert.equal("error", status)
      assert.matches("folder", text)
    end)
  end)

  it("list_files lists by glob, leaves .git out and says so, and says when it cut", function()
    bench:file("a.csv", "x")
    bench:file("sub/b.csv", "xy")
    bench:file("sub/c.txt", "x")
    bench:file(".git/config", "x")
    local _, text = call("list_files", { glob = "*.csv" })
    assert.matches("a%.csv  1 bytes\nsub/b%.csv  2 bytes", text)
    assert.is_nil(text:find("c.txt", 1, true))
    assert.matches("not entered: %.git", text)
    for i = 1, 600 do
      assert(fs.write(("%s/f%03d.txt"):format(bench.work, i), ""))
    end
    _, text = call("list_files", {})
    assert.matches("cut: %d+ of 60%d entries", text)
  end)

  it("search_text finds literally, with accents and case on request", function()
    bench:file("a.txt", "a.b\naxb\nCafé Olé\n")
    local _, text = call("search_text", { text = "a.b" })
    assert.equal("a.txt:1: a.b", text)
    _, text = call("search_text", { text = "cafe ole", ignoreCase = true })
    assert.equal("a.txt:3: Café Olé", text)
    bench:file("many.txt", ("hit\n"):rep(500))
    _, text = call("search_text", { text = "hit" })
    assert.matches("cut: 300 of 500 lines", text)
  end)

  it("write_file makes folders, and replaces only when told to", function()
    assert.equal("ok", (call("write_file", { path = "new/deep/a.txt", content = "one" })))
    assert.equal("one", bench:read "new/deep/a.txt")
    local status, text = call("write_file", { path = "new/deep/a.txt", content = "two" })
    assert.equal("error", status)
    assert.matches("overwrite", text)
    assert.equal("one", bench:read "new/deep/a.txt")
    assert.equal("ok", (call("write_file", { path = "new/deep/a.txt", content = "two", overwrite = true })))
    assert.equal("two", bench:read "new/deep/a.txt")
  end)

  it("write_file replaces only the file that the question was about", function()
    bench:file("a.txt", "old")
    local def = require "alisio.agent.tools.write_file"
    local input = { path = "a.txt", content = "new", overwrite = true }
    local context = { session = opened, workspace = opened.workspace, cwd = opened.cwd }
    context.granted = { sha256 = def.approval(input, context).sha256 }
    bench:file("a.txt", "another")
    local result, message, id = def.run(input, context)
    assert.is_nil(result)
    assert.equal("permission_denied", id)
    assert.matches("changed", message)
    assert.equal("another", bench:read "a.txt")
  end)

  describe("edit_file", function()
    local sha
    before_each(function()
      bench:file("a.txt", "red green red blue\n")
      sha = require("std.artifact").digest_bytes "red green red blue\n"
    end)

    it("replaces what stands exactly once", function()
      assert.equal("ok", (call("edit_file", { path = "a.txt", sha256 = sha, old = "green", new = "%1 grey" })))
      assert.equal("red %1 grey red blue\n", bench:read "a.txt")
    end)

    it("changes nothing when it stands twice, not at all, or in another file than was read", function()
      for _, case in ipairs {
        { { old = "red", new = "x", sha256 = sha }, "more than once" },
        { { old = "pink", new = "x", sha256 = sha }, "does not stand" },
        { { old = "green", new = "x", sha256 = ("0"):rep(64) }, "read it again" },
      } do
        case[1].path = "a.txt"
        local status, text = call("edit_file", case[1])
        assert.equal("error", status)
        assert.matches(case[2], text)
      end
      assert.equal("red green red blue\n", bench:read "a.txt")
    end)

    it("sees overlapping matches", function()
      bench:file("o.txt", "aaa")
      local status = call("edit_file", {
        path = "o.txt", sha256 = require("std.artifact").digest_bytes "aaa", old = "aa", new = "b",
      })
      assert.equal("error", status)
    end)
  end)

  describe("programs", function()
    it("give status and both outputs", function()
      local status, text = call("run_process", { argv = { "/bin/sh", "-c", "echo out; echo err >&2; exit 3" } })
      assert.equal("error", status)
      assert.equal("exit status 3\n[stdout]\nout\n[stderr]\nerr", text)
      status, text = call("shell", { command = "cat", stdin = "given" })
      assert.equal("ok", status)
      assert.equal("exit status 0\n[stdout]\ngiven", text)
    end)

    it("take no shell between: an argument is one argument", function()
      local _, text = call("run_process", { argv = { "printf", "%s|", "a b", "$HOME", ";ls" } })
      assert.matches("a b|%$HOME|;ls|", text)
    end)

    it("run in the folder named, without the secrets of the environment", function()
      bench:file("sub/x", "")
      local _, text = call("shell", { command = "pwd; env", cwd = "sub" })
      assert.matches(bench.work:gsub("%p", "%%%0") .. "/sub", text)
      assert.is_nil(text:find("ALISIO_", 1, true))
    end)

    it("end at their limit and say so, and cut what is too long", function()
      local status, text = call("shell", { command = "sleep 60", timeoutMs = 150 })
      assert.equal("error", status)
      assert.matches("ended after 150 ms", text)
      text = select(2, call("shell", { command = "yes | head -c 1000000" }))
      assert.matches("cut here: 934464 bytes are not shown", text)
      assert.is_true(#text < 150000)
    end)

    it("say that output is not text", function()
      local _, text = call("shell", { command = "head -c 10 /dev/zero" })
      assert.matches("10 bytes that are not text", text)
    end)

    it("name the program that is missing", function()
      local status, text = call("run_process", { argv = { "/no/such/program" } })
      assert.equal("error", status)
      assert.matches("/no/such/program", text)
    end)
  end)

  it("refuse a command that is not all shown or has no folder, before anyone is asked", function()
    for name, input in pairs {
      shell = { command = "echo shown\0; rm -rf x" }, run_process = { argv = { "echo", "a\0b" } },
    } do
      local status, text = call(name, input)
      assert.equal("error", status)
      assert.matches("NUL", text)
    end
    bench:will_reply { calls = { { "shell", { command = "ls", cwd = "none" } } } }
    local _, events = bench:prompt(opened, "go")
    assert.same({}, helper.of(events, "permission_resolved"))
  end)

  it("say when what watches over them was killed", function()
    local status, text = call("shell", { command = "kill -9 $PPID; sleep 5" })
    assert.equal("error", status)
    assert.matches("what watches over it was killed", text)
  end)

  it("find the last line of any output at once", function()
    assert.equal("two", program.last_line "one\ntwo\r\n\n")
    assert.is_nil(program.last_line "\n\r\n")
    local before = os.clock()
    assert.equal(200, #program.last_line((("x"):rep(65000) .. "\n"):rep(3) .. ("y"):rep(65000)))
    assert.is_true(os.clock() - before < 0.5)
  end)

  it("match globs that could be tried in endless ways", function()
    local before = os.clock()
    assert.is_false(place.matches(("*a"):rep(60) .. "b", ("a"):rep(250)))
    assert.is_false(place.matches(("**/"):rep(60) .. "b", ("a/"):rep(200) .. "a"))
    assert.is_true(os.clock() - before < 2)
  end)

  it("match globs", function()
    assert.is_false(place.matches("**/a.lua", "sub/ba.lua"))
    assert.is_true(place.matches("**/a.lua", "a.lua"))
    assert.is_true(place.matches("**/a.lua", "x/y/a.lua"))
    assert.is_true(place.matches("sub/**", "sub/x/y"))
    assert.is_true(place.matches("?.md", "ñ.md"))
    assert.is_true(place.matches("[x]*", "[x]y"))
    assert.is_false(place.matches("*.csv", "a.csv.gz"))
    assert.is_true(place.matches("*", ""))
    assert.is_true(place.matches("*.csv", "sub/a.csv"))
    assert.is_true(place.matches("sub/**/*.lua", "sub/x/y/a.lua"))
    assert.is_true(place.matches("sub/**/*.lua", "sub/a.lua"))
    assert.is_false(place.matches("sub/*.lua", "sub/x/a.lua"))
    assert.is_true(place.matches("a?.t+t", "ab.t+t"))
  end)
end)
