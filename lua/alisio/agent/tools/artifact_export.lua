--- Copies an artifact into the workspace.
local artifact = require "std.artifact"
local words = require "alisio.kernel.words"
local place = require "alisio.agent.place"

--- The artifact and where it goes.
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
  return art, rel, there
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
    local art, rel, there = resolve(input, call)
    if not art then
      return nil, rel, there
    end
    local locale = call.session.locale
    return {
      title = there and words.t(locale, "approval.replace_file", { path = rel, size = there.size })
        or words.t(locale, "approval.export_artifact", { title = art.title, path = rel }),
      script = ("%s  %s  %d bytes  sha256 %s\n→ %s"):format(art.id, art.fileName, art.bytes, art.sha256, rel),
      sha256 = artifact.digest_bytes(table.concat({ "artifact_export", art.sha256, rel, tostring(there ~= nil) }, "\0")),
      guarantees = { words.t(locale, "approval.inside_folder") },
    }
  end,
  run = function(args, call)
    local art, rel, there, about = resolve(args, call)
    if not art then
      return nil, rel, there, about
    end
    local bytes, message, id, fields = call.session.artifacts:export(art.id, call.workspace, rel,
      { overwrite = args.overwrite })
    if not bytes then
      return nil, message, id, fields
    end
    return ("Wrote %s, %d bytes."):format(rel, bytes)
  end,
}
