--- What of an output folder becomes which artifact: outputs.json where there is one, else every
--- top-level file, a folder with index.html as one dashboard, any other folder as a ZIP.
local json = require "std.json"
local path = require "std.path"
local text = require "std.text"
local words = require "alisio.kernel.words"

local M = {}

local MANIFEST <const> = "outputs.json"
local MAX_MANIFEST = 1 << 20
local MAX_TITLE = 200 -- bytes
local MAX_NAME = 255  -- bytes, of a file

---@class alisio.PlannedArtifact
---@field path string      in the folder
---@field title string
---@field form "file"|"site"|"zip"
---@field fileName string
---@field entry string?    of a site: the page to open
---@field files integer

--- What a function returns to refuse a publication.
---@param reason string  sub-reason of artifact_rejected
---@param object string
---@param detail string
---@return nil, string err, string id, table fields
function M.reject(reason, object, detail)
  return nil, object .. ": " .. detail, "artifact_rejected", { reason = reason, object = object, detail = detail }
end

-- Refuses outputs.json; say: key of the words, with what they need.
local function reject_manifest(say, fields)
  fields = fields or {}
  local detail = words.t("en", "detail." .. say, fields)
  fields.reason, fields.object, fields.detail, fields.say = "bad_manifest", MANIFEST, detail, say
  return nil, MANIFEST .. ": " .. detail, "artifact_rejected", fields
end

--- One line that can be shown: no control, format or bidi characters, bounded.
---@param title any
---@return string?  nil when nothing is left
function M.title(title)
  if type(title) ~= "string" or not text.valid(title) then
    return nil
  end
  local out = {}
  for _, code in utf8.codes(title) do
    local char = utf8.char(code)
    local shown = text.visible(char) == char or code == 0x2501 -- the rule an approval draws is harmless here
    out[#out + 1] = shown and char or " "
  end
  local line = table.concat(out):gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")
  if #line > MAX_TITLE then
    line = text.cut(line, MAX_TITLE - #"…") .. "…"
  end
  return line ~= "" and line or nil
end

--- Files below a folder of the scan, and the items by path.
local function index(items)
  local by_path, below = {}, {}
  for _, item in ipairs(items) do
    by_path[item.path] = item
    if not item.dir then
      local folder = path.dirname(item.path)
      while folder ~= "." do
        below[folder] = (below[folder] or 0) + 1
        folder = path.dirname(folder)
      end
    end
  end
  return by_path, below
end

local function plan_item(item, below, title, entry)
  local base = path.basename(item.path)
  if not item.dir then
    return { path = item.path, title = title or base, form = "file", fileName = base, files = 1 }
  end
  return {
    path = item.path, title = title or base, form = entry and "site" or "zip",
    fileName = text.cut(base, MAX_NAME - #".zip") .. ".zip",
    entry = entry, files = below[item.path],
  }
end

local function by_rule(items, by_path, below)
  local plan = {}
  for _, item in ipairs(items) do
    if not item.path:find("/", 1, true) then
      local page = item.dir and by_path[item.path .. "/index.html"]
      plan[#plan + 1] = plan_item(item, below, nil, page and not page.dir and "index.html" or nil)
    end
  end
  return plan
end

--- A path of outputs.json as the scan has it, or why not.
local function declared_path(entry, n)
  local given = entry.path
  if type(given) ~= "string" then
    return reject_manifest("no_path", { n = n })
  end
  local normal = text.normalize(given)
  if not normal or given:find "%z" then
    return reject_manifest("not_a_path", { n = n })
  end
  local rel = path.clean(normal)
  if path.is_absolute(given) or rel == "." or rel == ".." or rel:sub(1, 3) == "../" then
    return M.reject("bad_path", text.visible(given), "leads out of the folder")
  end
  return rel
end

local function declared_entry(item, entry, by_path)
  if entry.entry == nil or entry.entry == json.null then
    local page = by_path[item.path .. "/index.html"]
    return page and not page.dir and "index.html" or nil
  end
  if type(entry.entry) ~= "string" or not item.dir then
    return reject_manifest "entry_of_a_file"
  end
  local rel = path.clean(text.normalize(entry.entry) or "")
  local page = by_path[item.path .. "/" .. rel]
  if path.is_absolute(entry.entry) or rel:sub(1, 2) == ".." then
    return M.reject("bad_path", text.visible(entry.entry), "leads out of the folder")
  elseif not page or page.dir then
    return M.reject("missing", path.join(item.path, rel), "is not there")
  elseif not rel:lower():find "%.html?$" then
    return reject_manifest "entry_no_page"
  end
  return rel
end

--- Whether one path lies in the other, or is it.
local function overlaps(a, b)
  return a == b or a:sub(1, #b + 1) == b .. "/" or b:sub(1, #a + 1) == a .. "/"
end

local function by_manifest(manifest, by_path, below, max)
  if type(manifest) ~= "table" or json.is_array(manifest) or not json.is_array(manifest.artifacts) then
    return reject_manifest "no_list"
  elseif #manifest.artifacts > max then
    return reject_manifest "long_list"
  end
  local plan = {}
  for n, entry in ipairs(manifest.artifacts) do
    if type(entry) ~= "table" or json.is_array(entry) then
      return reject_manifest("not_an_object", { n = n })
    end
    local rel, err, id, fields = declared_path(entry, n)
    if not rel then
      return nil, err, id, fields
    end
    local item = by_path[rel]
    if rel == MANIFEST then
      return reject_manifest "lists_itself"
    elseif not item then
      return M.reject("missing", text.visible(rel), "is listed in outputs.json and is not there")
    end
    for _, other in ipairs(plan) do
      if overlaps(other.path, rel) then
        return reject_manifest("listed_twice", { path = rel })
      end
    end
    local page
    page, err, id, fields = declared_entry(item, entry, by_path)
    if err then
      return nil, err, id, fields
    end
    plan[n] = plan_item(item, below, M.title(entry.title), page)
  end
  return plan
end

--- Why a folder was refused, where what is wrong with it is wrong with outputs.json.
---@param err string
---@param id string
---@param fields table
---@return nil, string err, string id, table fields
function M.refusal(err, id, fields)
  if fields.reason == "empty" and fields.object == MANIFEST then
    return reject_manifest "a_folder"
  end
  return nil, err, id, fields
end

--- Plans the artifacts of a scanned folder.
---@async
---@param source std.artifact.Source
---@param max integer  artifacts at most
---@return alisio.PlannedArtifact[]? plan
---@return string? err
---@return string? id      artifact_rejected
---@return table? fields
function M.make(source, max)
  local items = source:list()
  local by_path, below = index(items)
  local manifest = by_path[MANIFEST]
  if not manifest then
    return by_rule(items, by_path, below)
  elseif manifest.dir then
    return reject_manifest "a_folder"
  elseif manifest.bytes > MAX_MANIFEST then
    return reject_manifest "larger_than_1_mib"
  end
  local bytes, err, id, fields = source:read(MANIFEST)
  if not bytes then
    return nil, err, id, fields
  end
  local read
  read, err = json.decode((bytes:gsub("^\u{FEFF}", "")), { maxDepth = 16 })
  if read == nil then
    return M.reject("bad_manifest", MANIFEST, err)
  end
  return by_manifest(read, by_path, below, max)
end

return M
