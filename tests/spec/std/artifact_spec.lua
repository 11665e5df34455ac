local artifact = require "std.artifact"
local fs = require "std.fs"

describe("std.artifact", function()
  local dir

  before_each(function()
    dir = assert(fs.temp_dir("/tmp", "alisio-spec-"))
    assert(fs.mkdirs(dir .. "/out/site"))
    assert(fs.write(dir .. "/out/a.md", "# a\n"))
    assert(fs.write(dir .. "/out/site/index.html", "<!doctype html>"))
  end)
  after_each(function()
    assert(fs.remove(dir))
  end)

  it("digests", function()
    local abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert.equal(abc, artifact.digest_bytes "abc")
    assert(fs.write(dir .. "/abc", "abc"))
    assert.equal(abc, artifact.digest(dir .. "/abc"))
    local hex, err, id = artifact.digest(dir .. "/none")
    assert.is_nil(hex)
    assert.matches("/none", err, 1, true)
    assert.equal("not_found", id)
  end)

  it("lists, reads, copies and zips", function()
    local source <close> = assert(artifact.scan(dir .. "/out"))
    local paths = {}
    for _, item in ipairs(source:list()) do
      paths[#paths + 1] = item.path .. (item.dir and "/" or "=" .. item.bytes)
    end
    assert.same({ "a.md=4", "site/", "site/index.html=15" }, paths)
    assert.equal("# a\n", source:read "a.md")
    local copied = assert(source:copy("a.md", dir .. "/copy"))
    assert.same({ bytes = 4, mime = "text/plain", sha256 = artifact.digest_bytes "# a\n" }, copied)
    local zipped = assert(source:zip("site", dir .. "/site.zip"))
    assert.equal("application/zip", artifact.sniff((fs.read(dir .. "/site.zip"))))
    assert.equal(zipped.sha256, artifact.digest(dir .. "/site.zip"))
    assert.error_matches(function() source:read "site" end, "no file")
  end)

  it("refuses with the reason and the path", function()
    assert(os.execute("ln -s a.md '" .. dir .. "/out/site/l'"))
    local source, err, id, fields = artifact.scan(dir .. "/out")
    assert.is_nil(source)
    assert.matches("site/l", err, 1, true)
    assert.equal("artifact_rejected", id)
    assert.equal("symlink", fields.reason)
    assert.equal("site/l", fields.object)
    assert(fs.remove(dir .. "/out/site/l"))
    local _, _, _, over = artifact.scan(dir .. "/out", { maxFileBytes = 10 })
    assert.equal("maxFileBytes", over.reason)
  end)

  it("says which names may be kept #oom", function()
    assert.equal("café.md", artifact.name "cafe\u{301}.md")
    for name, reason in pairs {
      [".x"] = "hidden", [".."] = "hidden", [""] = "bad_name", ["a/b"] = "bad_name", ["a\0b"] = "bad_name", ["a "] = "bad_name",
      ["\xff"] = "bad_name", ["a\nb"] = "bad_name", [("n"):rep(256)] = "bad_name",
    } do
      assert.same({ nil, reason }, { artifact.name(name) })
    end
  end)

  it("hands out only what it listed", function()
    local source <close> = assert(artifact.scan(dir .. "/out"))
    assert(fs.write(dir .. "/out/a.md", "# b\n"))
    local copied, _, id = source:copy("a.md", dir .. "/copy")
    assert.is_nil(copied)
    assert.equal("artifact_rejected", id)
    assert.is_false(fs.exists(dir .. "/copy"))
  end)

  it("survives memory running out #oom", function()
    local source <close> = assert(artifact.scan(dir .. "/out"))
    assert(#source:list() == 3 and source:read "a.md")
    fs.remove(dir .. "/copy")
    assert(source:copy("a.md", dir .. "/copy"))
  end)

  it("may be closed while it works", function()
    local task = require "std.task"
    local source = assert(artifact.scan(dir .. "/out"))
    local t = task.spawn(function() return source:read "a.md" end)
    task.sleep(0)
    source:close()
    t:wait()
    assert.error_matches(function() source:list() end, "closed")
  end)
end)
