--- Reads a text artifact of the session.
return {
  name = "artifact_read",
  description = "Reads a text artifact of this session, at most 64 KiB of it.",
  effect = "read",
  input = { artifactId = { "string", "its id, art_…" } },
  run = function(args, call)
    local shown, more, id, fields = call.session.artifacts:read(args.artifactId)
    if not shown then
      return nil, more, id, fields
    elseif more then
      return ("%s\n(truncated: only its beginning, %d bytes of text)"):format(shown, #shown)
    end
    return shown
  end,
}
