local fs = require "std.fs"
local task = require "std.task"

describe("std.fs", function()
  local dir

  before_each(function()
    dir = assert(fs.temp_dir("/tmp", "alisio-spec-"))
  end)
  after_each(function()
    assert(fs.remove(dir))
  end)

  local function shell(command)
    assert(os.execute("cd '" .. dir .. "' && " .. command))
  end

  local function octal(mode)
    return ("%04o"):format(mode)
  end

  describe("own paths", function()
    it("writes whole, private files and reads them back", function()
      local file = dir .. "/a.txt"
      assert(fs.write(file, "one"))
      assert(fs.write(file, "two\0\xff"))
      assert.equal("two\0\xff", (fs.read(file)))
      assert.equal("0600", octal(fs.stat(file).mode))
      assert.equal(1, #fs.list(dir))
    end)

    it("reads a part and says whether there is more", function()
      assert(fs.write(dir .. "/a", "0123456789"))
      local bytes, more = fs.read(dir .. "/a", { maxBytes = 4, offset = 2 })
      assert.equal("2345", bytes)
      assert.is_true(more)
      bytes, more = fs.read(dir .. "/a", { maxBytes = 10 })
      assert.equal("0123456789", bytes)
      assert.is_false(more)
      assert.equal("", (fs.read(dir .. "/a", { offset = 50 })))
    end)

    it("reads files whose size the system does not know", function()
      assert.matches("Name:", (fs.read "/proc/self/status"))
    end)

    it("keeps the mode of the file it replaces, unless told", function()
      shell "printf x > a; chmod 640 a"
      assert(fs.write(dir .. "/a", "y"))
      assert.equal("0640", octal(fs.stat(dir .. "/a").mode))
      assert(fs.write(dir .. "/a", "z", { mode = 384 }))
      assert.equal("0600", octal(fs.stat(dir .. "/a").mode))
    end)

    it("never replaces when told to be exclusive", function()
      assert(fs.write(dir .. "/a", "1", { exclusive = true }))
      local ok, err, id = fs.write(dir .. "/a", "2", { exclusive = true })
      assert.is_nil(ok)
      assert.matches("/a", err, 1, true)
      assert.equal("io_error", id)
      assert.equal("1", (fs.read(dir .. "/a")))
      assert.equal(1, #fs.list(dir))
    end)

    it("names what is missing", function()
      local bytes, err, id = fs.read(dir .. "/none")
      assert.is_nil(bytes)
      assert.matches("/none", err, 1, true)
      assert.equal("not_found", id)
      assert.is_false(fs.exists(dir .. "/none"))
      assert(fs.remove(dir .. "/none"))
    end)

    it("does not hang on a FIFO nor read a folder", function()
      shell "mkfifo pipe; mkdir folder"
      assert.is_nil((fs.read(dir .. "/pipe")))
      assert.is_nil((fs.read(dir .. "/folder")))
      assert.is_nil((fs.write(dir .. "/pipe", "x")))
      assert.is_nil((fs.write(dir .. "/folder", "x")))
    end)

    it("makes, lists, renames and removes", function()
      assert(fs.mkdirs(dir .. "/x/y/z"))
      assert.equal("0700", octal(fs.stat(dir .. "/x/y").mode))
      assert(fs.write(dir .. "/x/b", "bb"))
      shell "ln -s b x/a"
      local names = {}
      for _, e in ipairs(fs.list(dir .. "/x")) do
        names[#names + 1] = e.name .. ":" .. e.type
      end
      assert.same({ "a:link", "b:file", "y:dir" }, names)
      assert(fs.rename(dir .. "/x", dir .. "/w"))
      assert(fs.remove(dir .. "/w"))
      assert.same({}, fs.list(dir))
      assert.is_nil((fs.remove "/"))
    end)

    it("writes through a link of the user's", function()
      shell "mkdir real; printf old > real/f; ln -s real/f l"
      assert(fs.write(dir .. "/l", "new"))
      assert.equal("new", (fs.read(dir .. "/real/f")))
    end)
  end)

  describe("a root without links", function()
    local root
    before_each(function()
      shell "mkdir r out; printf secret > out/f; printf in > r/f; ln -s ../out r/far; ln -s f r/near"
      root = assert(fs.open_root(dir .. "/r"))
    end)
    after_each(function()
      root:close()
    end)

    it("follows no link and never leaves", function()
      for _, rel in ipairs { "far/f", "near", "../out/f", "/etc/passwd", "" } do
        assert.is_nil((root:read(rel)))
        assert.is_nil((root:write(rel, "x")))
      end
      assert.equal("secret", (fs.read(dir .. "/out/f")))
      assert.equal("in", (root:read "f"))
      assert.equal("link", root:stat("near").type)
      assert.is_nil((root:mkdir "far/new"))
      assert(root:remove "far")
      assert.is_true(fs.exists(dir .. "/out/f"))
    end)

    it("makes parents when asked", function()
      assert.is_nil((root:write("a/b/c", "x")))
      assert(root:write("a/b/c", "x", { parents = true }))
      assert.equal("x", (root:read "a/b/c"))
      assert.equal(1, root:stat("a/b/c").links)
    end)

    it("copies bytes from another root, never a link", function()
      local other <close> = assert(fs.open_root(dir .. "/out"))
      assert.equal(6, root:copy_in(other, "f", "copy", { mode = 256 }))
      assert.equal("secret", (root:read "copy"))
      assert.equal("0400", octal(root:stat("copy").mode))
      assert.is_nil((root:copy_in(root, "near", "copy2")))
      assert.is_nil((root:copy_in(other, "f", "copy", { exclusive = true })))
    end)

    it("walks in order and only where it may enter", function()
      assert(root:write("a/b/c", "x", { parents = true }))
      assert(root:write("a/d", "x"))
      local seen = {}
      for rel in fs.walk(root, nil, function(rel) return rel ~= "a/b" end) do
        seen[#seen + 1] = rel
      end
      assert.same({ "a", "a/b", "a/d", "f", "far", "near" }, seen)
    end)

    it("says so when it is closed", function()
      root:close()
      assert.error_matches(function() root:read "f" end, "closed")
    end)
  end)

  describe("a workspace", function()
    it("follows links that stay inside", function()
      shell "mkdir -p w/sub out; printf in > w/sub/f; printf out > out/f"
      shell "ln -s sub w/inner; ln -s sub/f w/l; ln -s ../out w/outer; ln -s nowhere w/dangling"
      local root <close> = assert(fs.open_root(dir .. "/w", { links = "inside" }))
      assert.equal("in", (root:read "inner/f"))
      assert.is_nil((root:read "outer/f"))
      assert.is_nil((root:write("outer/f", "x")))
      assert.is_nil((root:write("dangling", "x")))
      local ok, _, _, why = root:write("l", "new")
      if not ok then -- a system that does not tell where a link leads: nothing is written then
        assert.equal("symlink", why.reason)
        assert(root:write("sub/f", "new"))
      end
      assert.equal("new", (root:read "sub/f"))
      assert.equal("file", root:stat("l").type)
      assert(root:write("inner/deep/g", "x", { parents = true }))
      assert.equal("x", (root:read "sub/deep/g"))
      assert.equal("out", (fs.read(dir .. "/out/f")))
    end)
  end)

  describe("file handles", function()
    it("read at a place, write on, and close", function()
      local f = assert(fs.open(dir .. "/a", "x"))
      assert(f:write "hello ")
      assert(f:write "world")
      assert(f:sync())
      assert.equal("world", (f:read(6, 100)))
      assert.equal(11, f:stat().size)
      f:close()
      assert.error_matches(function() f:stat() end, "closed")
      assert.is_nil((fs.open(dir .. "/a", "x")))
      local g <close> = assert(fs.open(dir .. "/a", "a"))
      assert(g:write "!")
      assert.equal("hello world!", (fs.read(dir .. "/a")))
    end)
  end)

  describe("locks", function()
    it("say who holds them", function()
      local lock = assert(fs.lock(dir .. "/l"))
      assert(lock:write "pid 1")
      local other, err, id, fields = fs.lock(dir .. "/l")
      assert.is_nil(other)
      assert.matches("/l", err, 1, true)
      assert.equal("session_locked", id)
      assert.equal("pid 1", fields.holder)
      lock:close()
      local again <close> = assert(fs.lock(dir .. "/l"))
      assert.is_truthy(again)
    end)
  end)

  it("answers a cancelled wait and goes on", function()
    local t = task.spawn(function()
      for i = 1, 1000 do
        assert(fs.write(dir .. "/f", ("x"):rep(i)))
      end
    end)
    task.sleep(5)
    t:cancel()
    local ok, err = t:wait()
    assert.is_nil(ok)
    assert.matches("cancelled", err)
    assert(fs.write(dir .. "/f", "after"))
  end)

  it("survives memory running out #oom", function()
    assert(fs.write(dir .. "/f", "x", { mode = 384 }))
    assert(fs.read(dir .. "/f"))
    assert(fs.list(dir))
    local root <close> = assert(fs.open_root(dir))
    assert(root:stat "f")
  end)
end)
