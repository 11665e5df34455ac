--- Lists what the session has published.
return {
  name = "artifact_list",
  description = "Lists the artifacts of this session: id, kind, file name, size, title.",
  effect = "read",
  input = {},
  run = function(_, call)
    local list, message, id = call.session.artifacts:list()
    if not list then
      return nil, message, id
    elseif #list == 0 then
      return "No artifacts yet."
    end
    local lines = {}
    for i, art in ipairs(list) do
      lines[i] = ("%s  %s  %s  %d bytes  %s%s"):format(art.id, art.kind, art.fileName, art.bytes, art.title,
        art.status ~= "ready" and " (" .. art.status .. ")" or "")
    end
    return table.concat(lines, "\n")
  end,
}
