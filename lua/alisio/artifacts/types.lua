--- What a file is, by its name and its leading bytes. Where the two disagree it is a plain download.
local path = require "std.path"

local M = {}

local ODF = "application/vnd.oasis.opendocument."

local function only(...)
  local set = {}
  for _, mime in ipairs { ... } do
    set[mime] = true
  end
  return set
end

local TEXT = only("text/plain", "text/html", "text/xml", "image/svg+xml")
local PLAIN = only "text/plain" -- what markup is not
local ZIP = only "application/zip"
local ANY_ZIP = only("application/zip", ODF .. "text", ODF .. "spreadsheet", ODF .. "presentation")

-- extension = { kind, MIME type, what the leading bytes may say }
local KNOWN = {
  html = { "dashboard", "text/html; charset=utf-8", TEXT },
  md = { "document", "text/markdown; charset=utf-8", TEXT },
  pdf = { "document", "application/pdf", only "application/pdf" },
  docx = { "document", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", ZIP },
  odt = { "document", ODF .. "text", only("application/zip", ODF .. "text") },
  pptx = { "document", "application/vnd.openxmlformats-officedocument.presentationml.presentation", ZIP },
  csv = { "spreadsheet", "text/csv", PLAIN },
  tsv = { "spreadsheet", "text/tab-separated-values", PLAIN },
  xlsx = { "spreadsheet", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ZIP },
  ods = { "spreadsheet", ODF .. "spreadsheet", only("application/zip", ODF .. "spreadsheet") },
  png = { "image", "image/png", only "image/png" },
  jpg = { "image", "image/jpeg", only "image/jpeg" },
  gif = { "image", "image/gif", only "image/gif" },
  webp = { "image", "image/webp", only "image/webp" },
  svg = { "image", "image/svg+xml", only "image/svg+xml" },
  json = { "data", "application/json", PLAIN },
  jsonl = { "data", "application/x-ndjson", PLAIN },
  zip = { "archive", "application/zip", ANY_ZIP },
}
KNOWN.htm, KNOWN.markdown, KNOWN.jpeg = KNOWN.html, KNOWN.md, KNOWN.jpg

-- Text and code: shown as it is written.
for ext in ([[bash bat c cfg conf cpp css go h ini ipynb java js log lua mjs php pl ps1 py r rb rs sh
    sql toml ts txt xml yaml yml]]):gmatch "%S+" do
  KNOWN[ext] = { "code", "text/plain; charset=utf-8", TEXT }
end

--- The kind and MIME type of a file.
---@param name string
---@param sniffed string?  what std.artifact.sniff said of its bytes
---@param bytes integer    its size; an empty file is what its name says
---@return "dashboard"|"document"|"spreadsheet"|"image"|"data"|"code"|"archive"|"file" kind
---@return string mime
function M.of(name, sniffed, bytes)
  local known = KNOWN[path.ext(name):lower():sub(2)]
  if known and (bytes == 0 or known[3][sniffed or ""]) then
    return known[1], known[2]
  end
  return "file", "application/octet-stream"
end

-- How a face may show a file itself, by its type, and the largest it should: beyond it stays a download.
local PREVIEWS = {
  { "^text/html", "page", 32 << 20 },
  { "^text/csv", "table", 100 << 20 },
  { "^text/tab%-separated", "table", 100 << 20 },
  { "spreadsheet", "table", 100 << 20 },
  { "^image/", "image", 32 << 20 },
  { "^application/pdf", "pdf", 64 << 20 },
  { "^text/markdown", "markdown", 1 << 20 },
  { "^text/", "text", 1 << 20 },
  { "json", "text", 1 << 20 },
}

--- How an artifact may be shown.
---@param kind string
---@param mime string
---@param bytes integer
---@return "page"|"table"|"image"|"pdf"|"markdown"|"text"|nil  nil: only to be downloaded
function M.preview(kind, mime, bytes)
  for _, preview in ipairs(kind ~= "file" and kind ~= "archive" and PREVIEWS or {}) do
    local pattern, form, max = table.unpack(preview)
    if mime:find(pattern) then
      return bytes <= max and form or nil
    end
  end
end

--- Whether an artifact can be read as text.
---@param mime string
---@return boolean
function M.is_text(mime)
  return mime:find "^text/" ~= nil or mime == "application/json" or mime == "application/x-ndjson"
    or mime == "image/svg+xml"
end

return M
