--- Copies an artifact into the workspace.
local digest = require("std.artifact").digest_bytes
local words = require "alisio.kernel.words"
local place = require "alisio.agent.place"

--- The artifact, where it goes, and the file that it replaces.
local function resolve(args, call)
  local art, message, id, fields = call.session.artifacts:get(args.artifactId)
  if not art then
    return nil, message, id, fields
  end
  local rel
  rel, message, id = place.relative(call, args.path or art.fileName)
  if not rel then
    return nil, message, id
  elseif rel == "." then
    return nil, "path names the file to write, not the folder", "usage"
  end
  local there = call.workspace:stat(rel)
  if there and there.type == "dir" then
    return nil, rel .. " is a folder", "usage"
  elseif there and not args.overwrite then
    return nil, rel .. " is there already; set overwrite to replace it", "io_error"
  end
  local old
  old, message, id = place.present(call, rel)
  if message then
    return nil, message, id
  end
  return art, rel, old
end

--- What an answer is bound to: the artifact, the place, and the file that would be replaced.
local function identity(art, rel, old)
  return digest(table.concat({ "artifact_export", art.sha256, rel, old and old.sha256 or "" }, "\0"))
end

return {
  name = "artifact_export",
  description = "Copies an artifact of this session into the folder. Never over an existing file unless "
    .. "`overwrite` says so. A dashboard of several files is written as a ZIP.",
  effect = "write",
  capability = "workspace.write",
  input = {
    artifactId = { "string", "its id, art_…" },
    path = { "string?", "where to, relative to the folder; the artifact's own name when left out" },
    overwrite = { "boolean?", "replace a file that is there" },
  },
  approval = function(input, call)
    local art, rel, old, fields = resolve(input, call)
    if not art then
      return nil, rel, old, fields
    end
    local locale = call.session.locale
    return {
      title = old and words.t(locale, "approval.replace_file", { path = rel, size = old.size })
        or words.t(locale, "approval.export_artifact", { title = art.title, path = rel }),
      script = ("%s  %s  %d bytes  sha256 %s\n→ %s"):format(art.id, art.fileName, art.bytes, art.sha256, rel),
      sha256 = identity(art, rel, old),
      guarantees = { words.t(locale, "approval.inside_folder") },
    }
  end,
  run = function(args, call)
    local art, rel, old, about = resolve(args, call)
    if not art then
      return nil, rel, old, about
    elseif call.granted and call.granted.sha256 ~= identity(art, rel, old) then
      return nil, rel .. " changed since the question was answered", "permission_denied"
    end
    local bytes, message, id, fields = call.session.artifacts:export(art.id, call.workspace, rel,
      { overwrite = args.overwrite })
    if not bytes then
      return nil, message, id, fields
    end
    return ("Wrote %s, %d bytes."):format(rel, bytes)
  end,
}
