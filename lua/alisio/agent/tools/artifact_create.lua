--- Publishes a text the model has already.
return {
  name = "artifact_create",
  description = "Publishes a text you already have as a file the user can keep: Markdown, HTML (offline: data, "
    .. "scripts and styles inside), CSV, JSON, SVG. Needs no Python and writes nothing into the folder.",
  effect = "internal",
  input = {
    fileName = { "string", "name of the file, with its extension", minLength = 1, maxLength = 200 },
    text = { "string", "all of it" },
    title = { "string?", "what the user reads in lists", maxLength = 300 },
  },
  run = function(args, call)
    local made, message, id, fields = call.session.artifacts:create {
      fileName = args.fileName, title = args.title, text = args.text,
      provenance = { tool = "artifact_create", call = call.id, model = call.model },
    }
    if not made then
      return nil, message, id, fields
    end
    local lines = { ("Published %s as %s (%s, %d bytes)."):format(made.fileName, made.id, made.kind, made.bytes) }
    for _, warning in ipairs(message or {}) do
      lines[#lines + 1] = "warning: " .. warning
    end
    return { text = table.concat(lines, "\n"), artifacts = { made.id } }
  end,
}
