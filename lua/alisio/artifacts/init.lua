--- The artifacts of a session: finished files in the state folder, each in a folder of its own with
--- a public manifest.json beside files/. A publication is all or nothing: it is written beside,
--- synced, and moved into place under the session's lock together with its records.
local artifact = require "std.artifact"
local clock = require "std.clock"
local fs = require "std.fs"
local json = require "std.json"
local path = require "std.path"
local text = require "std.text"
local ids = require "alisio.kernel.ids"
local paths = require "alisio.kernel.paths"
local words = require "alisio.kernel.words"
local data = require "alisio.data"
local decode = require "alisio.artifacts.decode"
local pending = require "alisio.artifacts.pending"
local plan = require "alisio.artifacts.plan"
local types = require "alisio.artifacts.types"

local M = {}

local READ_BYTES = 64 * 1024
local MAX_NAME = 200 -- bytes, of a text that is published
local PUBLIC = { "id", "title", "fileName", "kind", "mimeType", "bytes", "fileCount", "status", "sha256", "entry" }

---@class alisio.Artifacts
---@field session alisio.Session
local Artifacts = {}
Artifacts.__index = Artifacts

--- The artifacts of a session.
---@param options { session: alisio.Session }
---@return alisio.Artifacts
function M.new(options)
  local session = options.session
  return setmetatable({
    session = session,
    store = session.store.artifacts,
    folder = paths.session(session.store.state_dir, paths.workspace(session.cwd), session.id).artifacts,
  }, Artifacts)
end

--- Where the bytes are: the file, or the folder of a dashboard of several.
local function place(self, record)
  local files = path.join(self.folder, record.folder, "files")
  return record.entry and files or path.join(files, record.fileName)
end

--- What everyone is told of an artifact.
local function describe(self, record)
  local out = { path = place(self, record), created = record.created, preview = types.preview(record.kind, record.mimeType, record.bytes) }
  for _, key in ipairs(PUBLIC) do
    out[key] = record[key]
  end
  return out
end

-- Publishing ------------------------------------------------------------------------------------

--- A record for something that is about to be put into `beside`.
local function new_record(self, beside, title, file_name)
  local id = ids.new "art"
  local record = {
    id = id, session = self.session.id, title = title, fileName = file_name,
    folder = path.slug(title, 48) .. "--" .. id, created = clock.now(),
  }
  local files = path.join(beside.path, record.folder, "files")
  local ok, err, code, fields = fs.mkdirs(files)
  if not ok then
    return nil, err, code, fields
  end
  return record, files
end

local function describe_file(record, made, count, kind, mime)
  record.bytes, record.sha256, record.fileCount, record.kind, record.mimeType = made.bytes, made.sha256, count, kind, mime
  record.files = { { path = record.fileName, bytes = made.bytes, sha256 = made.sha256 } }
  return true
end

local function put_file(source, item, record, files)
  local copied, err, id, fields = source:copy(item.path, path.join(files, record.fileName))
  if not copied then
    return nil, err, id, fields
  end
  return describe_file(record, copied, 1, types.of(record.fileName, copied.mime, copied.bytes))
end

local function put_zip(source, item, record, files)
  local zipped, err, id, fields = source:zip(item.path, path.join(files, record.fileName))
  if not zipped then
    return nil, err, id, fields
  end
  return describe_file(record, zipped, item.files, "archive", "application/zip")
end

local function put_text(bytes, record, files)
  local ok, err, id, fields = fs.write(path.join(files, record.fileName), bytes, { mode = 384 })
  if not ok then
    return nil, err, id, fields
  end
  local made = { bytes = #bytes, sha256 = artifact.digest_bytes(bytes) }
  return describe_file(record, made, 1, types.of(record.fileName, artifact.sniff(bytes), #bytes))
end

--- The files of a folder of the scan, by their paths in it.
local function files_below(source, folder)
  local list = {}
  for _, item in ipairs(source:list()) do
    if not item.dir and item.path:sub(1, #folder + 1) == folder .. "/" then
      list[#list + 1] = item.path:sub(#folder + 2)
    end
  end
  return list
end

local function sync_folders(files, paths_in_it)
  local folders = { [files] = true }
  for _, rel in ipairs(paths_in_it) do
    local folder = path.dirname(path.join(files, rel))
    while not folders[folder] do
      folders[folder] = true
      folder = path.dirname(folder)
    end
  end
  for folder in pairs(folders) do
    local ok, err, id, fields = fs.sync(folder)
    if not ok then
      return nil, err, id, fields
    end
  end
  return true
end

--- A dashboard of several files keeps its folder; its hash is that of the list of its files' hashes.
--- Where its page is none by its bytes, it is an archive like any other folder.
local function put_site(source, item, record, files)
  local below, list, lines, bytes = files_below(source, item.path), {}, {}, 0
  for i, rel in ipairs(below) do
    local copied
    local ok, err, id, fields = fs.mkdirs(path.dirname(path.join(files, rel)))
    if ok then
      copied, err, id, fields = source:copy(path.join(item.path, rel), path.join(files, rel))
    end
    if not copied then
      return nil, err, id, fields
    elseif rel == item.entry and types.of(rel, copied.mime, copied.bytes) ~= "dashboard" then
      ok, err, id, fields = fs.remove(files)
      if ok then
        ok, err, id, fields = fs.mkdirs(files)
      end
      if not ok then
        return nil, err, id, fields
      end
      return put_zip(source, item, record, files)
    end
    list[i] = { path = rel, bytes = copied.bytes, sha256 = copied.sha256 }
    lines[i] = copied.sha256 .. "  " .. rel .. "\n"
    bytes = bytes + copied.bytes
  end
  local ok, err, id, fields = sync_folders(files, below)
  if not ok then
    return nil, err, id, fields
  end
  record.bytes, record.fileCount, record.files, record.entry = bytes, #list, list, item.entry
  record.sha256 = artifact.digest_bytes(table.concat(lines))
  record.kind, record.mimeType = "dashboard", "text/html; charset=utf-8"
  return true
end

local PUT = { file = put_file, zip = put_zip, site = put_site }

--- Writes the manifest and brings the artifact's folder to the disk.
local function seal(beside, record, provenance)
  local manifest = { v = 1, created = clock.iso(record.created), files = json.array(record.files), provenance = provenance }
  for _, key in ipairs(PUBLIC) do
    manifest[key] = record[key]
  end
  record.provenance = provenance
  local folder = path.join(beside.path, record.folder)
  local ok, err, id, fields = fs.write(path.join(folder, "manifest.json"), json.encode(manifest, { pretty = true }) .. "\n",
    { mode = 384 })
  if ok then
    ok, err, id, fields = fs.sync(path.join(folder, "files"))
  end
  return ok, err, id, fields
end

--- Moves what is prepared into place and records it, all or none.
local function commit(self, beside, records)
  local moved, finals = {}, {}
  for i, record in ipairs(records) do
    finals[i] = path.join(self.folder, record.folder)
  end
  local ok, err, id, fields = fs.mkdirs(self.folder)
  if ok then
    ok, err, id, fields = beside:expect(finals)
  end
  if not ok then
    return nil, err, id, fields
  end
  beside.uncertain = true -- where this is cancelled, records may be on their way
  ok, err, id, fields = self.session:write(function()
    for i, record in ipairs(records) do
      moved[i] = finals[i] -- even where only the folder around it cannot be synced
      local done, why, code, about = fs.rename(path.join(beside.path, record.folder), finals[i])
      if not done then
        return nil, why, code, about
      end
    end
    return self.session.store.db:transaction(function()
      for _, record in ipairs(records) do
        local saved, why, code, about = self.store.save(record)
        if not saved then
          return nil, why, code, about
        end
      end
      return true
    end)
  end)
  local gone = true
  for _, folder in ipairs(ok and {} or moved) do
    gone = fs.remove(folder) and gone
  end
  beside.uncertain = not gone
  return ok and true, err, id, fields
end

--- Asks the hooks, which may change titles, or refuse.
local function ask_hooks(self, planned)
  local shown = {}
  for i, item in ipairs(planned) do
    shown[i] = { title = item.title, fileName = item.fileName, path = item.path }
  end
  local step = { artifacts = shown, session = self.session.id }
  local ok, reason = self.session:before("publish", step)
  if not ok then
    return nil, reason or "refused", "permission_denied", { object = "publish", detail = reason }
  end
  for i, item in ipairs(planned) do
    item.title = plan.title(shown[i] and shown[i].title) or item.title
  end
  return true
end

local function announce(self, records)
  local out = json.array()
  for i, record in ipairs(records) do
    out[i] = describe(self, record)
  end
  self.session:write(function()
    for _, described in ipairs(out) do
      self.session.bus:emit("artifact_published", { artifact = described })
    end
    return true
  end)
  return out
end

--- What is to be said of a published page. The engine looks at it: it is nobody's we know.
local function lint(self, record, file)
  local locale, name = self.session.locale, text.visible(file.path)
  local full = path.join(self.folder, record.folder, "files", file.path)
  local found, err = data.engine(self.session.store.state_dir):lint(full)
  if not found then
    return { words.t(locale, "lint.not_looked_at", { file = name, reason = err }) }
  end
  for i, id in ipairs(found) do
    found[i] = words.t(locale, "lint." .. id, { file = name })
  end
  return found
end

local function warnings_of(self, records)
  local warnings = json.array()
  for _, record in ipairs(records) do
    for _, file in ipairs(record.kind == "dashboard" and record.files or {}) do
      if file.path:lower():find "%.html?$" then
        local found = lint(self, record, file)
        table.move(found, 1, #found, #warnings + 1, warnings)
      end
    end
  end
  return warnings
end

--- Publishes what is planned, all or nothing; `put` writes the files of one and describes them.
local function publish(self, planned, provenance, put)
  local ok, err, id, fields = ask_hooks(self, planned)
  if not ok then
    return nil, err, id, fields
  end
  pending.settle(self.session.store)
  local beside <close>, err2, id2, fields2 = pending.begin(self.session.store)
  if not beside then
    return nil, err2, id2, fields2
  end
  local records = {}
  for i, item in ipairs(planned) do
    local record, files
    record, files, id, fields = new_record(self, beside, item.title, item.fileName)
    if not record then
      return nil, files, id, fields
    end
    record.status = provenance.status or "ready"
    record.execution = provenance.execution
    ok, err, id, fields = put(item, record, files)
    if ok then
      ok, err, id, fields = seal(beside, record, provenance)
    end
    if not ok then
      fields.object = id == "no_space" and item.path or fields.object
      return nil, err, id, fields
    end
    records[i] = record
  end
  ok, err, id, fields = commit(self, beside, records)
  if not ok then
    return nil, err, id, fields
  end
  return { artifacts = announce(self, records), warnings = warnings_of(self, records) }
end

--- Publishes what a folder holds, by the rules of an output folder: all of it or nothing.
---@async
---@param folder string  absolute; must not be a link itself
---@param provenance? table  for the manifest: no paths, no code. `status` "partial" marks the artifacts
---@return { artifacts: table[], warnings: string[] }? published
---@return string? err
---@return string? id      artifact_rejected with fields.reason, permission_denied, …
---@return table? fields
function Artifacts:publish_folder(folder, provenance)
  local config = self.session.config
  local limits = {
    maxFiles = config:get "analysis.limits.maxFiles",
    maxFileBytes = config:get "analysis.limits.maxFileBytes",
    maxOutputBytes = config:get "analysis.limits.maxOutputBytes",
  }
  local source <close>, err, id, fields = artifact.scan(folder, limits)
  if not source then
    fields.limit = limits[fields.reason]
    return plan.refusal(err, id, fields)
  end
  local planned
  planned, err, id, fields = plan.make(source, limits.maxFiles)
  if not planned then
    return nil, err, id, fields
  elseif #planned == 0 then
    return { artifacts = json.array(), warnings = json.array() }
  end
  return publish(self, planned, provenance or {}, function(item, record, files)
    return PUT[item.form](source, item, record, files)
  end)
end

--- A name for a file that is published, composed.
local function file_name(name)
  if name:find("/", 1, true) or name == "" or #name > MAX_NAME then
    return plan.reject("bad_path", text.visible(name), "is not the name of one file")
  end
  local composed, reason = artifact.name(name)
  if not composed then
    return plan.reject(reason, text.visible(name), "is not a name that can be kept")
  end
  return composed
end

--- Publishes a text.
---@async
---@param given { fileName: string, title: string?, text: string, provenance: table? }
---@return table? artifact
---@return string[]|string|nil warnings_or_err
---@return string? id
---@return table? fields
function Artifacts:create(given)
  local name, err, id, fields = file_name(given.fileName)
  if not name then
    return nil, err, id, fields
  end
  local limit = self.session.config:get "analysis.limits.maxFileBytes"
  if #given.text > limit then
    err, id, fields = select(2, plan.reject("maxFileBytes", name, "larger than analysis.limits.maxFileBytes"))
    fields.limit = limit
    return nil, err, id, fields
  end
  local item = { title = plan.title(given.title) or name, fileName = name, path = name }
  local published
  published, err, id, fields = publish(self, { item }, given.provenance or {}, function(_, record, files)
    return put_text(given.text, record, files)
  end)
  if not published then
    return nil, err, id, fields
  end
  return published.artifacts[1], published.warnings
end

-- Using -----------------------------------------------------------------------------------------

local function record_of(self, id)
  local record, err, code, fields = self.store.get(id)
  if not record and code ~= "not_found" then
    return nil, err, code, fields
  elseif not record or record.session ~= self.session.id then
    return nil, "there is no artifact " .. id .. " in this session", "not_found", { object = id, reason = "artifact" }
  end
  return record
end

--- The artifacts of the session, oldest first.
---@async
---@return table[]? artifacts
---@return string? err
---@return string? id
---@return table? fields
function Artifacts:list()
  local records, err, id, fields = self.store.list(self.session.id)
  if not records then
    return nil, err, id, fields
  end
  local out = json.array()
  for i, record in ipairs(records) do
    out[i] = describe(self, record)
  end
  return out
end

--- One artifact of the session.
---@async
---@param id string
---@return table? artifact
---@return string? err
---@return string? id     "not_found"
---@return table? fields
function Artifacts:get(id)
  local record, err, code, fields = record_of(self, id)
  if not record then
    return nil, err, code, fields
  end
  return describe(self, record)
end

--- All that is known of an artifact: its files, and where it came from.
---@async
---@param id string
---@return table? details
---@return string? err
---@return string? id
---@return table? fields
function Artifacts:details(id)
  local record, err, code, fields = record_of(self, id)
  if not record then
    return nil, err, code, fields
  end
  local out = describe(self, record)
  out.files, out.provenance = json.array(record.files), record.provenance
  return out
end

--- The file to show: the artifact itself, or the page of a dashboard of several files.
---@async
---@param id string
---@return string? file
---@return string? err
---@return string? id
---@return table? fields
function Artifacts:page(id)
  local record, err, code, fields = record_of(self, id)
  if not record then
    return nil, err, code, fields
  end
  local file = place(self, record)
  return record.entry and path.join(file, record.entry) or file
end

--- Reads a text artifact, in UTF-8 whatever its encoding.
---@async
---@param id string
---@param max_bytes? integer  65536 when left out
---@return string? text     cut at a character
---@return boolean|string truncated
---@return string? id
---@return table? fields
function Artifacts:read(id, max_bytes)
  local record, err, code, fields = record_of(self, id)
  if not record then
    return nil, err, code, fields
  elseif not types.is_text(record.mimeType) then
    return nil, record.fileName .. ": is not a text", "usage", { detail = record.fileName .. " is not a text" }
  end
  local file, bytes, more
  file, err, code, fields = self:page(id)
  if not file then
    return nil, err, code, fields
  end
  max_bytes = max_bytes or READ_BYTES
  bytes, more, code, fields = fs.read(file, { maxBytes = max_bytes })
  if not bytes then
    return nil, more, code, fields
  end
  local decoded = decode.text(bytes, more)
  return text.cut(decoded, max_bytes), more or #decoded > max_bytes
end

--- Copies an artifact into a folder, as `rel` beneath it; a dashboard of several files as a ZIP.
---@async
---@param id string
---@param root std.fs.Root
---@param rel string
---@param options? { overwrite: boolean? }  without it an existing file is left alone
---@return integer? bytes
---@return string? err
---@return string? id
---@return table? fields
function Artifacts:export(id, root, rel, options)
  local record, err, code, fields = record_of(self, id)
  if not record then
    return nil, err, code, fields
  end
  local how = { parents = true, exclusive = not (options and options.overwrite) }
  if not record.entry then
    local folder <close>, err2, code2, fields2 = fs.open_root(path.dirname(place(self, record)))
    if not folder then
      return nil, err2, code2, fields2
    end
    return root:copy_in(folder, record.fileName, rel, how)
  end
  local source <close>, err3, code3, fields3 = artifact.scan(place(self, record))
  if not source then
    return nil, err3, code3, fields3
  end
  local beside <close>, err5, code5, fields5 = pending.begin(self.session.store)
  if not beside then
    return nil, err5, code5, fields5
  end
  local zipped
  zipped, err, code, fields = source:zip("", path.join(beside.path, "site.zip"))
  if not zipped then
    return nil, err, code, fields
  end
  local folder <close>, err4, code4, fields4 = fs.open_root(beside.path)
  if not folder then
    return nil, err4, code4, fields4
  end
  return root:copy_in(folder, "site.zip", rel, how)
end

--- Deletes an artifact with its files.
---@async
---@param id string
---@return boolean? ok
---@return string? err
---@return string? id
---@return table? fields
function Artifacts:delete(id)
  return self.session:write(function()
    local record, err, code, fields = record_of(self, id)
    if not record then
      return nil, err, code, fields
    end
    local folder = path.join(self.folder, record.folder)
    -- What cannot be noted on a full disk must go all the same.
    local work <close> = pending.begin(self.session.store)
    if work and work:expect { folder } then
      work.uncertain = true
    end
    -- The record first: a folder without one goes in the end, a record without its files would be a lie.
    local ok
    ok, err, code, fields = self.store.delete(id)
    if ok then
      ok, err, code, fields = fs.remove(folder)
    end
    if work then
      work.uncertain = not ok
    end
    return ok, err, code, fields
  end)
end

return M
