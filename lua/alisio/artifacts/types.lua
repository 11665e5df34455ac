--- What a file is, by its name and its leading bytes. Where the two disagree it is a plain download.
local path = require "std.path"

local M = {}

local TEXT = { ["text/plain"] = true, ["text/html"] = true, ["text/xml"] = true, ["image/svg+xml"] = true }
local ZIP = { ["application/zip"] = true }

local function only(mime)
  return { [mime] = true }
end

-- extension = { kind, MIME type, what the leading bytes may say }
local KNOWN = {
  html = { "dashboard", "text/html; charset=utf-8", TEXT },
  md = { "document", "text/markdown; charset=utf-8", TEXT },
  pdf = { "document", "application/pdf", only "application/pdf" },
  docx = { "document", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", ZIP },
  odt = { "document", "application/vnd.oasis.opendocument.text", ZIP },
  pptx = { "document", "application/vnd.openxmlformats-officedocument.presentationml.presentation", ZIP },
  csv = { "spreadsheet", "text/csv", TEXT },
  tsv = { "spreadsheet", "text/tab-separated-values", TEXT },
  xlsx = { "spreadsheet", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ZIP },
  ods = { "spreadsheet", "application/vnd.oasis.opendocument.spreadsheet", ZIP },
  png = { "image", "image/png", only "image/png" },
  jpg = { "image", "image/jpeg", only "image/jpeg" },
  gif = { "image", "image/gif", only "image/gif" },
  webp = { "image", "image/webp", only "image/webp" },
  svg = { "image", "image/svg+xml", only "image/svg+xml" },
  json = { "data", "application/json", TEXT },
  jsonl = { "data", "application/x-ndjson", TEXT },
  zip = { "archive", "application/zip", ZIP },
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

--- Whether an artifact can be read as text.
---@param mime string
---@return boolean
function M.is_text(mime)
  return mime:find "^text/" ~= nil or mime == "application/json" or mime == "application/x-ndjson"
    or mime == "image/svg+xml"
end

return M
