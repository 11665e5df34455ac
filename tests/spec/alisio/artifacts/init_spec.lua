local artifact = require "std.artifact"
local artifacts = require "alisio.artifacts"
local pending = require "alisio.artifacts.pending"
local data = require "alisio.data"
local fs = require "std.fs"
local json = require "std.json"
local path = require "std.path"
local task = require "std.task"
local helper = require "spec.session_helper"

describe("alisio.artifacts", function()
  local world, session, a, out

  before_each(function()
    world = helper.world()
    session = world.session()
    a = artifacts.new { session = session }
    out = world.dir .. "/out"
    assert(fs.mkdirs(out))
  end)
  after_each(function()
    world.close()
  end)

  local function put(name, bytes)
    assert(fs.write(out .. "/" .. name, bytes, { parents = true }))
  end
  local function shell(command)
    assert(os.execute("cd '" .. out .. "' && " .. command))
  end
  local function folders()
    local names = {}
    for _, entry in ipairs(fs.list(a.folder) or {}) do
      names[#names + 1] = entry.name
    end
    return names
  end
  local function manifest_of(art)
    local folder = art.path:match "^(.*)/files"
    return json.decode((fs.read(folder .. "/manifest.json")))
  end

  describe("publishing a folder", function()
    it("makes files, dashboards and archives of what is there", function()
      put("a.md", "# a\n")
      put("site/index.html", "<!doctype html><p>x")
      put("site/js/app.js", "1")
      put("tables/x.csv", "a\n1\n")
      local published = assert(a:publish_folder(out, { execution = "exec_1", model = "m" }))
      local got = {}
      for i, art in ipairs(published.artifacts) do
        got[i] = { art.fileName, art.kind, art.fileCount, art.title, art.status }
      end
      assert.same({
        { "a.md", "document", 1, "a.md", "ready" },
        { "site.zip", "dashboard", 2, "site", "ready" },
        { "tables.zip", "archive", 1, "tables", "ready" },
      }, got)
      local md, site, zip = table.unpack(published.artifacts)
      assert.equal("# a\n", (fs.read(md.path)))
      assert.equal(artifact.digest_bytes "# a\n", md.sha256)
      assert.equal("text/markdown; charset=utf-8", md.mimeType)
      assert.matches("/a%-md%-%-art_%w+/files/a%.md$", md.path)
      assert.equal("1", (fs.read(site.path .. "/js/app.js")))
      assert.equal(site.path .. "/index.html", a:page(site.id))
      assert.equal("application/zip", zip.mimeType)
      assert.equal(artifact.digest(zip.path), zip.sha256)
      assert.equal(384, fs.stat(md.path).mode)
      assert.equal(3, #folders())
      assert.equal(3, #session.events)
      assert.equal("artifact_published", session.events[1].type)
    end)

    it("writes a public manifest: hashes and provenance, no paths of this machine", function()
      put("site/index.html", "<p>x")
      put("site/b.css", "p{}")
      local art = assert(a:publish_folder(out, { model = "m", inputs = { { name = "x.csv", sha256 = "00" } } })).artifacts[1]
      local manifest = manifest_of(art)
      assert.equal(art.id, manifest.id)
      assert.equal("index.html", manifest.entry)
      assert.equal("m", manifest.provenance.model)
      assert.same({ "b.css", "index.html" }, { manifest.files[1].path, manifest.files[2].path })
      local raw = fs.read((art.path:gsub("files$", "manifest.json")))
      assert.is_nil(raw:find(world.dir, 1, true))
      assert.same(manifest.provenance, a:details(art.id).provenance)
    end)

    it("follows outputs.json", function()
      put("report.pdf", "%PDF-1.7")
      put("web/main.html", "<p>x")
      put("web/index.html", "<p>y")
      put("scratch.txt", "not listed")
      put("outputs.json", json.encode { artifacts = {
        { path = "web/", title = "  Sales\n2024 ", entry = "main.html" }, { path = "./report.pdf" },
      } })
      local published = assert(a:publish_folder(out)).artifacts
      assert.equal(2, #published)
      assert.equal("Sales 2024", published[1].title)
      assert.equal("main.html", published[1].entry)
      assert.equal("document", published[2].kind)
    end)

    it("takes nothing when outputs.json is not right", function()
      put("a.md", "x")
      put("d/b.csv", "b\n")
      for manifest, reason in pairs {
        ['{"artifacts": ['] = "bad_manifest", ["[]"] = "bad_manifest", ['{"artifacts":{}}'] = "bad_manifest",
        ['{"artifacts":[1]}'] = "bad_manifest", ['{"artifacts":[{"path":1}]}'] = "bad_manifest",
        ['{"artifacts":[{"path":"none"}]}'] = "missing", ['{"artifacts":[{"path":"../a"}]}'] = "bad_path",
        ['{"artifacts":[{"path":"/etc/passwd"}]}'] = "bad_path", ['{"artifacts":[{"path":""}]}'] = "bad_path",
        ['{"artifacts":[{"path":"a.md"},{"path":"./a.md"}]}'] = "bad_manifest",
        ['{"artifacts":[{"path":"d"},{"path":"d/b.csv"}]}'] = "bad_manifest",
        ['{"artifacts":[{"path":"d","entry":"no.html"}]}'] = "missing",
        ['{"artifacts":[{"path":"d","entry":"../a.md"}]}'] = "bad_path",
        ['{"artifacts":[{"path":"d","entry":"b.csv"}]}'] = "bad_manifest",
        ['{"artifacts":[{"path":"a.md","entry":"x"}]}'] = "bad_manifest",
        ['{"artifacts":[{"path":"outputs.json"}]}'] = "bad_manifest", ['{"artifacts":[{"path":"a.md\\u0000"}]}'] = "bad_manifest",
        [""] = "bad_manifest", ["\xff\xfe{\0}\0"] = "bad_manifest", ["null"] = "bad_manifest", ['{"artifacts":[{"path":"a.md"}]}x'] = "bad_manifest",
        ['{"artifacts":[{"path":"d\\\\b.csv"}]}'] = "missing", ['{"artifacts":[{"path":".git/a"}]}'] = "missing",
        [("["):rep(100000)] = "bad_manifest",
        ["{" .. (" "):rep(1 << 20) .. "}"] = "bad_manifest",
      } do
        put("outputs.json", manifest)
        local published, err, id, fields = a:publish_folder(out)
        assert.is_nil(published, manifest)
        assert.is_truthy(err)
        assert.equal("artifact_rejected", id)
        assert.equal(reason, fields.reason, manifest)
      end
      assert.same({}, folders())
    end)

    it("refuses the whole folder for one bad entry, and says which", function()
      put("a.md", "x")
      shell "ln -s /etc/passwd l"
      local published, err, id, fields = a:publish_folder(out)
      assert.is_nil(published)
      assert.matches("^l: ", err)
      assert.equal("artifact_rejected", id)
      assert.equal("symlink", fields.reason)
      local few = artifacts.new { session = world.session { ["analysis.limits.maxFiles"] = 1 } }
      shell "rm l; touch b"
      published, err, id, fields = few:publish_folder(out)
      assert.is_nil(published)
      assert.is_truthy(err)
      assert.equal("artifact_rejected", id)
      assert.equal("maxFiles", fields.reason)
      assert.equal(1, fields.limit)
      assert.same({}, folders())
    end)

    it("cuts the name of a folder that is too long with .zip behind it", function()
      local long = ("ñ"):rep(127) -- 254 bytes
      put(long .. "/f", "1")
      put("s" .. long .. "/index.html", "<!doctype html>")
      local published = assert(a:publish_folder(out))
      assert.equal(2, #published.artifacts)
      for _, art in ipairs(published.artifacts) do
        assert.matches("ñ%.zip$", art.fileName)
        assert.is_true(#art.fileName <= 255)
      end
    end)

    it("publishes nothing of an empty folder", function()
      local published = assert(a:publish_folder(out))
      assert.equal('{"artifacts":[],"warnings":[]}', json.encode(published))
    end)

    it("makes titles harmless", function()
      put("a.md", "x")
      put("outputs.json", json.encode { artifacts = {
        { path = "a.md", title = "<b>\27[2J\n\u{202E}x" .. ("y"):rep(5000) },
      } })
      local title = assert(a:publish_folder(out)).artifacts[1].title
      assert.is_nil(title:find "[%c]")
      assert.is_nil(title:find("\u{202E}", 1, true))
      assert.is_true(#title <= 200)
    end)

    it("goes by bytes where the name says something else", function()
      local png, odt = "\x89PNG\r\n\x1a\n", "PK\3\4" .. ("\0"):rep(26) .. "mimetypeapplication/vnd.oasis.opendocument.text"
      local office = "application/vnd.openxmlformats-officedocument."
      local download = "file application/octet-stream"
      local cases = {
        ["fake.png"] = { "<script>alert(1)</script>", download }, ["page.html"] = { png, download },
        ["zero.csv"] = { "", "spreadsheet text/csv" }, ["odd.xyz"] = { "text", download }, ["README"] = { "text", download },
        ["real.PNG"] = { png, "image image/png" }, ["a.jpg"] = { "\xff\xd8\xff\xe0", "image image/jpeg" },
        ["a.gif"] = { "GIF89a", "image image/gif" }, ["a.webp"] = { "RIFF....WEBP", "image image/webp" },
        ["jpg.png"] = { "\xff\xd8\xff\xe0", download }, ["a.pdf"] = { "<html>", download },
        ["b.pdf"] = { "%PDF-1.7", "document application/pdf" }, ["a.svg"] = { "<!-- by hand --><svg>", "image image/svg+xml" },
        ["b.svg"] = { "<html><svg>", download }, ["a.json"] = { "<!doctype html>", download },
        ["b.json"] = { "{}", "data application/json" }, ["a.csv"] = { "<html>", download }, ["b.csv"] = { "PK\3\4", download },
        ["c.csv"] = { ("\xff\xfea\0,\0b\0"), "spreadsheet text/csv" }, ["d.csv"] = { "a\xe9,b\n", "spreadsheet text/csv" },
        ["e.tsv"] = { "a\tb\n", "spreadsheet text/tab-separated-values" }, ["a.docx"] = { odt, download },
        ["b.docx"] = { "PK\3\4", "document " .. office .. "wordprocessingml.document" },
        ["a.pptx"] = { "PK\3\4", "document " .. office .. "presentationml.presentation" },
        ["a.xlsx"] = { "PK\3\4", "spreadsheet " .. office .. "spreadsheetml.sheet" }, ["b.xlsx"] = { "a,b\n", download },
        ["a.odt"] = { odt, "document application/vnd.oasis.opendocument.text" }, ["b.ods"] = { odt, download },
        ["a.md"] = { "\127ELF", download }, ["b.md"] = { "<h1>x</h1>", "document text/markdown; charset=utf-8" },
        ["a.txt"] = { "a\0b", download }, ["b.txt"] = { "a", "code text/plain; charset=utf-8" },
        ["a.py"] = { "print(1)\n", "code text/plain; charset=utf-8" }, ["a.zip"] = { "PK\5\6", "archive application/zip" },
        ["b.zip"] = { "MZ", download }, ["a.exe"] = { "MZ", download }, ["a.html"] = { "<?xml version='1.0'?><html>",
          "dashboard text/html; charset=utf-8" },
      }
      local wanted, kinds = {}, {}
      for name, case in pairs(cases) do
        put(name, case[1])
        wanted[name] = case[2]
      end
      for _, art in ipairs(assert(a:publish_folder(out)).artifacts) do
        kinds[art.fileName] = art.kind .. " " .. art.mimeType
      end
      assert.same(wanted, kinds)
    end)

    it("makes an archive of a folder whose page is none", function()
      put("site/index.html", "\x89PNG\r\n\x1a\n\0")
      put("site/a/b.txt", "b")
      local art = assert(a:publish_folder(out)).artifacts[1]
      assert.same({ "site.zip", "archive", "application/zip", 2 }, { art.fileName, art.kind, art.mimeType, art.fileCount })
      assert.is_nil(art.entry)
      assert.equal(art.sha256, artifact.digest(art.path))
      assert.equal(1, #fs.list(path.dirname(art.path)))
    end)

    it("warns of charts drawn by hand and keeps the page", function()
      put("page.html", '<!doctype html><script src="https://cdn.example/x.js"></script><svg width="300" height="200"></svg>'
        .. '<path d="M 1 1 L 2 2 A 3 3 0 0 1 4 4 Z">')
      put("good.html", '<!doctype html><script>1</script><svg viewBox="0 0 1 1"></svg><a href="https://x">x</a>')
      local published = assert(a:publish_folder(out))
      assert.equal(2, #published.artifacts)
      assert.equal(3, #published.warnings)
      for _, warning in ipairs(published.warnings) do
        assert.matches("^page.html", warning)
      end
    end)

    it("warns of pages inside a dashboard, and of nothing that only looks like one", function()
      put("site/index.html", "<p>x")
      put("site/more/b.htm", "<svg width=3></svg>")
      put("site/c.txt", "<svg width=3></svg>")
      put("notes.md", "<svg width=3></svg>")
      local warnings = assert(a:publish_folder(out)).warnings
      assert.equal(1, #warnings)
      assert.matches("^more/b.htm", warnings[1])
    end)

    it("publishes a page that could not be looked at, and says so", function()
      put("page.html", "<svg width=3></svg>")
      local engine = data.engine(session.store.state_dir)
      engine.program = "/no/such/engine"
      local published = assert(a:publish_folder(out))
      engine.program = nil
      assert.equal(1, #published.artifacts)
      assert.equal(1, #published.warnings)
      assert.matches("^page.html could not", published.warnings[1])
      assert.matches("/no/such/engine", published.warnings[1], 1, true)
    end)

    it("asks the hooks", function()
      put("a.md", "x")
      world.denied = "not today"
      local published, err, id = a:publish_folder(out)
      assert.is_nil(published)
      assert.equal("not today", err)
      assert.equal("permission_denied", id)
      assert.same({}, folders())
      assert.equal("publish", session.steps[1].point)
    end)

    it("takes all back when a record cannot be kept", function()
      put("a.md", "x")
      put("b.md", "y")
      local save, n = world.store.artifacts.save, 0
      a.store.save = function(record)
        n = n + 1
        if n == 2 then
          return nil, "disk full", "no_space"
        end
        return save(record)
      end
      local published, _, id = a:publish_folder(out)
      a.store.save = save
      assert.is_nil(published)
      assert.equal("no_space", id)
      assert.same({}, folders())
      assert.equal(0, #assert(a:list()))
    end)

    it("leaves nothing when it is stopped", function()
      for i = 1, 150 do
        put(("f%d.txt"):format(i), ("x"):rep(1000))
      end
      local t = task.spawn(function() return a:publish_folder(out) end)
      task.sleep(30)
      t:cancel()
      if not t:wait() then
        assert.same({}, folders())
        assert.equal(0, #assert(a:list()))
      end
    end)
  end)

  describe("publishing a text", function()
    it("makes one file", function()
      local art = assert(a:create { fileName = "Año.md", title = "Report", text = "# x\n", provenance = { model = "m" } })
      assert.equal("Report", art.title)
      assert.equal("Año.md", art.fileName)
      assert.equal("# x\n", (fs.read(art.path)))
      assert.equal("m", manifest_of(art).provenance.model)
      assert.equal(art.sha256, artifact.digest(art.path))
    end)

    it("refuses names that are none, and too much text", function()
      for name, reason in pairs {
        ["../x.md"] = "bad_path", ["a/b.md"] = "bad_path", [""] = "bad_path", [".x"] = "hidden", [".."] = "hidden",
        ["a\nb"] = "bad_name", ["\xff"] = "bad_name", ["x.md "] = "bad_name", ["x\0.md"] = "bad_name",
      } do
        local art, _, id, fields = a:create { fileName = name, text = "x" }
        assert.is_nil(art)
        assert.equal("artifact_rejected", id)
        assert.equal(reason, fields.reason, name)
      end
      local small = artifacts.new { session = world.session { ["analysis.limits.maxFileBytes"] = 3 } }
      assert.equal("maxFileBytes", select(4, small:create { fileName = "x.md", text = "1234" }).reason)
      assert.same({}, folders())
    end)
  end)

  describe("what was published", function()
    local art
    before_each(function()
      art = assert(a:create { fileName = "x.md", text = ("é"):rep(50000) })
    end)

    it("is listed and found in its own session only", function()
      assert.equal(art.id, assert(a:list())[1].id)
      assert.equal(art.path, a:get(art.id).path)
      local other = artifacts.new { session = world.session() }
      for _, fn in ipairs { other.get, other.read, other.delete, other.details, other.page } do
        local got, err, id, fields = fn(other, art.id)
        assert.is_nil(got)
        assert.matches(art.id, err, 1, true)
        assert.equal("not_found", id)
        assert.equal("artifact", fields.reason)
      end
    end)

    it("is read to 64 KiB and not through a character", function()
      local shown, more = a:read(art.id)
      assert.is_true(more)
      assert.is_true(#shown <= 65536 and #shown > 65500)
      assert.equal(#shown // 2, utf8.len(shown))
      local short = assert(a:create { fileName = "y.md", text = "whole" })
      shown, more = a:read(short.id)
      assert.equal("whole", shown)
      assert.is_false(more)
      local image = assert(a:create { fileName = "y.bin", text = "\0\1" })
      assert.is_nil((a:read(image.id)))
    end)

    it("is read in UTF-8 whatever it was written in", function()
      put("latin.csv", "a,b\n\xe9,\x80\x81\n")
      put("little.csv", "\xff\xfea\0,\0\xf1\0\n\0\x3d\xd8\x00\xde\x00\xd8x\0\x00\xdc")
      put("big.tsv", "\xfe\xff\0a\0\t\0b\xd8\x00")
      put("mark.md", "\u{FEFF}# x")
      put("long.csv", "\xff\xfe" .. ("\xac\x20"):rep(60000))
      local read = {}
      for _, one in ipairs(assert(a:publish_folder(out)).artifacts) do
        read[one.fileName] = table.pack(a:read(one.id))
      end
      assert.equal("a,b\né,€\u{81}\n", read["latin.csv"][1])
      assert.equal("a,ñ\n😀\u{FFFD}x\u{FFFD}", read["little.csv"][1])
      assert.equal("a\tb", read["big.tsv"][1])
      assert.equal("# x", read["mark.md"][1])
      local long = read["long.csv"]
      assert.is_true(long[2])
      assert.is_true(#long[1] <= 65536 and #long[1] > 65530)
      assert.equal(("€"):rep(#long[1] // 3), long[1])
    end)

    it("says how it may be shown, if it is not too large", function()
      local types = require "alisio.artifacts.types"
      put("site/index.html", "<p>x")
      put("a.csv", "a\n1\n")
      put("p.png", "\x89PNG\r\n\x1a\n")
      put("b.bin", "x")
      put("z/b.txt", "x")
      local shown = {}
      for _, one in ipairs(assert(a:publish_folder(out)).artifacts) do
        shown[one.fileName] = one.preview or "none"
      end
      assert.same({ ["site.zip"] = "page", ["a.csv"] = "table", ["p.png"] = "image", ["b.bin"] = "none", ["z.zip"] = "none" }, shown)
      assert.equal("markdown", a:get(art.id).preview)
      assert.equal("text", types.preview("code", "text/plain; charset=utf-8", 1 << 20))
      assert.is_nil(types.preview("code", "text/plain; charset=utf-8", (1 << 20) + 1))
      assert.equal("pdf", types.preview("document", "application/pdf", 1000))
      assert.is_nil(types.preview("image", "image/png", 1 << 30))
      assert.is_nil(types.preview("file", "application/octet-stream", 1))
    end)

    it("is copied out, never over a file unless told", function()
      assert.equal(100000, a:export(art.id, session.workspace, "deep/x.md"))
      local ok, err = a:export(art.id, session.workspace, "deep/x.md")
      assert.is_nil(ok)
      assert.matches("deep/x.md", err, 1, true)
      assert.equal(100000, a:export(art.id, session.workspace, "deep/x.md", { overwrite = true }))
      assert.is_nil((a:export(art.id, session.workspace, "../x.md")))
      assert.equal(1, session.workspace:stat("deep/x.md").links)
    end)

    it("is copied out as a ZIP when it is several files", function()
      put("site/index.html", "<p>x")
      local site = assert(a:publish_folder(out)).artifacts[1]
      assert(a:export(site.id, session.workspace, "site.zip"))
      assert.equal("application/zip", artifact.sniff((session.workspace:read "site.zip")))
      assert.equal(2, #fs.list(site.path:match "^(.*)/files$")) -- nothing is left beside
    end)

    it("is deleted with its files", function()
      assert(a:delete(art.id))
      assert.same({}, folders())
      assert.equal("not_found", select(3, a:delete(art.id)))
    end)
  end)

  describe("what was cut short", function()
    local top, art

    before_each(function()
      top = session.store.state_dir .. "/artifacts"
      art = assert(a:create { fileName = "x.md", text = "x" })
    end)

    -- What a process left that ended: a folder without anyone who holds it.
    local function left(name, lists)
      assert(fs.write(top .. "/" .. name .. "/.lock", "", { parents = true }))
      assert(fs.write(top .. "/" .. name .. "/art/files/f", "x", { parents = true }))
      if lists then
        assert(fs.write(top .. "/" .. name .. "/folders.json", type(lists) == "string" and lists or json.encode(lists)))
      end
    end
    local function names()
      local found = {}
      for _, entry in ipairs(fs.list(top)) do
        found[#found + 1] = entry.name:find "^%.publish" and entry.name or nil
      end
      return found
    end
    local function stray(id)
      local rel = path.relative(a.folder, top) .. "/old--" .. id
      assert(fs.write(top .. "/" .. rel .. "/files/f", "x", { parents = true }))
      return rel
    end

    it("goes, but for what has a record", function()
      local lost = stray "art_00000000000000000000000000"
      local other = stray "art_00000000000000000000000001"
      left(".publish-1")
      left(".publish-2", { database = session.store.path, folders = { lost, path.relative(art.path:match "^(.*)/files", top) } })
      pending.settle(session.store)
      assert.same({}, names())
      assert.same({ other:match "[^/]+$", art.path:match "([^/]+)/files" }, folders()) -- nobody spoke of the other
      assert.equal("x", (fs.read(art.path)))
    end)

    it("stays as long as somebody works on it, or another database knows more", function()
      left(".publish-held")
      left(".publish-other", { database = "/other.sqlite", folders = { path.relative(art.path:match "^(.*)/files", top) } })
      local held <close> = assert(fs.lock(top .. "/.publish-held/.lock"))
      assert.is_truthy(held)
      pending.settle(session.store)
      assert.same({ ".publish-held", ".publish-other" }, names())
    end)

    it("never goes outside, whatever the list says", function()
      assert(fs.write(world.dir .. "/keep--art_00000000000000000000000000/f", "x", { parents = true }))
      for i, lists in ipairs {
        { database = session.store.path, folders = { "../../keep--art_00000000000000000000000000" } },
        { database = session.store.path, folders = { "a/ses_1/../../../keep--art_00000000000000000000000000" } },
        { database = session.store.path, folders = { "/" } },
        { database = session.store.path, folders = { "." } },
      } do
        left(".publish-" .. i, lists)
      end
      left(".publish-5", "[1,")
      pending.settle(session.store)
      assert.is_true(fs.exists(world.dir .. "/keep--art_00000000000000000000000000/f"))
      assert.is_true(fs.exists(art.path))
      assert.equal(4, #names())
    end)

    it("is settled by the next publication where a task was cancelled", function()
      local save, began = a.store.save, false
      a.store.save = function(record)
        began = true
        task.sleep(1000)
        return save(record)
      end
      local t = task.spawn(function() return a:create { fileName = "y.md", text = "y" } end)
      repeat task.sleep(1) until began
      t:cancel()
      t:wait()
      a.store.save = save
      assert.equal(1, #names())
      assert.equal(2, #folders())
      assert(a:create { fileName = "z.md", text = "z" })
      assert.same({}, names())
      assert.equal(2, #folders())
      assert.equal(2, #assert(a:list()))
    end)

    it("is no reason not to delete on a full disk", function()
      local begin = pending.begin
      pending.begin = function() return nil, "full", "no_space", {} end
      local ok = a:delete(art.id)
      pending.begin = begin
      assert.is_true(ok)
      assert.same({}, folders())
    end)
  end)
end)
