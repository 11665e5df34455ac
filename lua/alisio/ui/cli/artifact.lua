--- `alisio artifact`: publishing finished files, and what becomes of them, without any model.
local fs = require "std.fs"
local json = require "std.json"
local path = require "std.path"
local term = require "std.term"
local text = require "std.text"
local words = require "alisio.kernel.words"
local delete_each = require "alisio.ui.cli.lib.delete"
local listing = require "alisio.ui.cli.lib.listing"
local transcript = require "alisio.ui.cli.lib.transcript"

local M = {
  name = "artifact",
  cancels = true,
  help = { en = "Publish files as artifacts, list, open, export and delete them.",
    es = "Publica archivos como artefactos; los lista, abre, exporta y borra." },
}

local said = {
  folder = { en = "Name the folder to publish.", es = "Indique la carpeta que se publica." },
  no_folder = { en = "{path} is not a folder.", es = "{path} no es una carpeta." },
  id = { en = "Name the artifact. alisio artifact list shows them.", es = "Indique el artefacto. alisio artifact list los muestra." },
  none = { en = "No artifacts yet.", es = "Todavía no hay artefactos." },
  nothing = { en = "The folder holds nothing to publish.", es = "La carpeta no contiene nada que publicar." },
  active = {
    en = "It is a page with code of its own: open it only where it cannot reach the network.",
    es = "Es una página con código propio: ábrala solo donde no alcance la red.",
  },
  no_opener = { en = "{program} is not there to open it.", es = "{program} no está para abrirlo." },
  exists = { en = "{path} is there already. --force replaces it.", es = "{path} ya existe. --force lo reemplaza." },
  part = { en = "part", es = "parte" },
  written = { en = "{path}, {size}", es = "{path}, {size}" },
  ask = { en = "Delete {title} ({id})? [y/N] ", es = "¿Borrar {title} ({id})? [s/N] " },
  kept = { en = "Artifact {id} was kept.", es = "El artefacto {id} se conservó." },
  deleted = { en = "Artifact {id} was deleted.", es = "El artefacto {id} se borró." },
}

local STATUS = {
  ready = { en = "ready", es = "listo" },
  partial = { en = "partial", es = "parcial" },
  expired = { en = "expired", es = "caducado" },
}

-- What `details` shows, in this order.
local LABELS = {
  { "id", { en = "id", es = "id" } },
  { "title", { en = "title", es = "título" } },
  { "fileName", { en = "file", es = "archivo" } },
  { "kind", { en = "kind", es = "tipo" } },
  { "mimeType", { en = "type", es = "formato" } },
  { "status", { en = "status", es = "estado" } },
  { "bytes", { en = "size", es = "tamaño" } },
  { "created", { en = "time", es = "fecha" } },
  { "sha256", { en = "sha256", es = "sha256" } },
  { "path", { en = "path", es = "ruta" } },
}

local function status_of(ctx, art)
  return STATUS[art.status] and ctx:text(STATUS[art.status]) or text.visible(art.status)
end

local function size(ctx, bytes)
  return words.bytes(ctx.locale, bytes)
end

--- The session of this folder that made an artifact.
local function maker(ctx, artifact)
  local db = ctx:store()
  local record = db and db.artifacts.get(artifact)
  local session = record and db:session(record.session)
  return session and session.cwd == ctx.cwd and session.id or nil
end

--- The artifacts of the session a command is about: the one --session names, the one that made
--- `wanted`, or the one the commands of the folder share.
local function store(ctx, args, wanted)
  local session, message, id, fields = ctx:session(not args.session and wanted and maker(ctx, wanted) or nil)
  if not session then
    return nil, message, id, fields
  end
  return session.artifacts
end

local function publish(ctx, args)
  if not args[1] then
    return nil, ctx:text(said.folder), "usage"
  end
  local folder, message, id, fields = fs.realpath(path.absolute(args[1], ctx.cwd))
  if not folder then
    return nil, message, id, fields
  end
  local there = fs.stat(folder)
  if there and there.type ~= "dir" then
    return nil, ctx:text(said.no_folder, { path = folder }), "usage"
  end
  local artifacts, published
  artifacts, message, id, fields = store(ctx, args)
  if not artifacts then
    return nil, message, id, fields
  end
  published, message, id, fields = artifacts:publish_folder(folder, { source = "folder" })
  if not published then
    return nil, message, id, fields
  elseif ctx.json then
    ctx:print(published)
    return
  end
  for _, art in ipairs(published.artifacts) do
    ctx:out(text.visible(art.path) .. "\n")
    ctx:say(("✓ %s  %s  %s  %s"):format(text.visible(art.title), art.kind, size(ctx, art.bytes), art.id))
  end
  if #published.artifacts == 0 then
    ctx:say(said.nothing)
  end
  for _, warning in ipairs(published.warnings) do
    ctx:say("! " .. warning)
  end
end

--- The artifacts of one session, or of all of this folder, the oldest first.
local function listed(ctx, args)
  local config, message, id, fields = ctx:config() -- it says the language
  local db, sessions
  if config then
    db, message, id, fields = ctx:store()
  end
  if db and args.session then
    local one
    one, message, id, fields = db:session(args.session)
    sessions = one and { one }
  elseif db then
    sessions, message, id, fields = db:sessions { cwd = ctx.cwd }
  end
  if not sessions then
    return nil, message, id, fields
  end
  local all = json.array {}
  for _, session in ipairs(sessions) do
    local own
    own, message, id, fields = require("alisio.artifacts").new {
      session = { id = session.id, cwd = session.cwd, store = db },
    }:list()
    if not own then
      return nil, message, id, fields
    end
    table.move(own, 1, #own, #all + 1, all)
  end
  table.sort(all, function(a, b)
    return a.created ~= b.created and a.created < b.created or a.created == b.created and a.id < b.id
  end)
  return all
end

local function list(ctx, args)
  local all, message, id, fields = listed(ctx, args)
  if not all then
    return nil, message, id, fields
  end
  listing.show(ctx, "artifacts", all, {
    none = said.none, right = { [4] = true }, whole = { true },
    heads = { en = { "id", "kind", "file", "size", "time", "title" }, es = { "id", "tipo", "archivo", "tamaño", "fecha", "título" } },
    row = function(art)
      local title = text.visible(art.title) .. (art.status ~= "ready" and " (" .. status_of(ctx, art) .. ")" or "")
      return { art.id, art.kind, text.visible(art.fileName), size(ctx, art.bytes), transcript.time(art.created), title }
    end,
  })
end

--- The artifacts, and the one a command names.
local function named(ctx, args)
  if not args[1] then
    return nil, ctx:text(said.id), "usage"
  end
  local artifacts, message, id, fields = store(ctx, args, args[1])
  if not artifacts then
    return nil, message, id, fields
  end
  local art
  art, message, id, fields = artifacts:get(args[1])
  if not art then
    return nil, message, id, fields
  end
  return artifacts, art
end

--- Pages run code: a browser that opens one as a file lets it reach the network.
local function is_active(art)
  return art.mimeType:find "^text/html" ~= nil or art.mimeType == "image/svg+xml"
end

--- Starts the desktop's program for a file and lets go of it: std.process would end it with us.
local function start_viewer(program, file)
  local quoted = "'" .. file:gsub("'", "'\\''") .. "'"
  return os.execute(("command -v %s >/dev/null 2>&1 && { %s %s >/dev/null 2>&1 </dev/null & }"):format(program, program, quoted))
end

local function open(ctx, args)
  local artifacts, art, id, fields = named(ctx, args)
  if not artifacts then
    return nil, art, id, fields
  end
  local file, message
  file, message, id, fields = artifacts:page(art.id)
  if not file then
    return nil, message, id, fields
  elseif ctx.json then
    ctx:print { artifact = art, path = file }
    return
  end
  ctx:out(text.visible(file) .. "\n")
  if is_active(art) then
    ctx:say(said.active)
  elseif term.is_tty(1) then
    local program = require("std.host").platform().os == "Darwin" and "open" or "xdg-open"
    if not start_viewer(program, file) then
      ctx:say(said.no_opener, { program = program })
    end
  end
end

local function export(ctx, args)
  local artifacts, art, id, fields = named(ctx, args)
  if not artifacts then
    return nil, art, id, fields
  end
  local target = path.absolute(args[2] or art.fileName, ctx.cwd)
  local there = fs.stat(target)
  if there and there.type == "dir" then
    target = path.join(target, art.fileName)
    there = fs.stat(target)
  end
  if there and not args.force then
    return nil, ctx:text(said.exists, { path = target }), "usage"
  end
  local made, message
  made, message, id, fields = fs.mkdirs(path.dirname(target))
  if not made then
    return nil, message, id, fields
  end
  local root <close>, message2, id2, fields2 = fs.open_root(path.dirname(target), { links = "inside" })
  if not root then
    return nil, message2, id2, fields2
  end
  local bytes
  bytes, message, id, fields = artifacts:export(art.id, root, path.basename(target), { overwrite = args.force })
  if not bytes then
    return nil, message, id, fields
  elseif ctx.json then
    ctx:print { id = art.id, path = target, bytes = bytes }
  else
    ctx:say(said.written, { path = target, size = size(ctx, bytes) })
  end
end

local function delete(ctx, args)
  if not args[1] then
    return nil, ctx:text(said.id), "usage"
  end
  local artifacts
  return delete_each(ctx, args, said, function(wanted)
    local why, code, about, art
    artifacts, why, code, about = store(ctx, args, wanted)
    if artifacts then
      art, why, code, about = artifacts:get(wanted)
    end
    return art and art.title, why, code, about
  end, function(wanted)
    return artifacts:delete(wanted)
  end)
end

local function details(ctx, args)
  local artifacts, art, id, fields = named(ctx, args)
  if not artifacts then
    return nil, art, id, fields
  end
  local all, message
  all, message, id, fields = artifacts:details(art.id)
  if not all then
    return nil, message, id, fields
  elseif ctx.json then
    ctx:print { artifact = all }
    return
  end
  local rows, shown = {}, {
    status = status_of(ctx, all), bytes = size(ctx, all.bytes), created = transcript.time(all.created),
  }
  for _, label in ipairs(LABELS) do
    local key, name = table.unpack(label)
    rows[#rows + 1] = { ctx:text(name), shown[key] or text.visible(tostring(all[key])) }
  end
  if #all.files > 1 then
    for _, file in ipairs(all.files) do
      rows[#rows + 1] = { ctx:text(said.part), ("%s  %s"):format(text.visible(file.path), size(ctx, file.bytes)) }
    end
  end
  local keys = {}
  for key in pairs(all.provenance or {}) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  for _, key in ipairs(keys) do
    local value = all.provenance[key]
    rows[#rows + 1] = { text.visible(key), text.visible(type(value) == "table" and json.encode(value) or tostring(value)) }
  end
  local width = 0
  for _, row in ipairs(rows) do
    width = math.max(width, text.width(row[1]))
  end
  for _, row in ipairs(rows) do
    ctx:out(("%s%s  %s\n"):format(row[1], (" "):rep(width - text.width(row[1])), row[2]))
  end
end

local ARTIFACT = { en = "ARTIFACT", es = "ARTEFACTO" }

M.commands = {
  {
    name = "publish", arguments = { en = "FOLDER", es = "CARPETA" },
    help = {
      en = "Publish what a folder holds, by the rules of an output folder: all of it or nothing.",
      es = "Publica lo que contiene una carpeta, con las reglas de una carpeta de salida: todo o nada.",
    },
    options = { "session" }, run = publish,
  },
  {
    name = "list",
    help = {
      en = "List the artifacts of the folder, or of one session.",
      es = "Lista los artefactos de la carpeta, o de una sesión.",
    },
    options = { "session" }, run = list,
  },
  {
    name = "open", arguments = ARTIFACT,
    help = {
      en = "Write where an artifact lies and, on a terminal, open it.",
      es = "Escribe dónde está un artefacto y, en una terminal, lo abre.",
    },
    options = { "session" }, run = open,
  },
  {
    name = "export", arguments = { en = "ARTIFACT [FILE]", es = "ARTEFACTO [ARCHIVO]" },
    help = {
      en = "Copy an artifact to a file; a dashboard of several files as a ZIP.",
      es = "Copia un artefacto en un archivo; un panel de varios archivos como ZIP.",
    },
    options = { "session", { name = "force", help = {
      en = "Replace a file that is there.", es = "Reemplaza un archivo existente." } } },
    run = export,
  },
  {
    name = "delete", arguments = { en = "ARTIFACT…", es = "ARTEFACTO…" },
    help = { en = "Delete artifacts with their files.", es = "Borra artefactos con sus archivos." },
    options = { "session", "yes" },
    run = delete,
  },
  {
    name = "details", arguments = ARTIFACT,
    help = {
      en = "Show where an artifact came from: its files, hashes and provenance.",
      es = "Muestra de dónde viene un artefacto: sus archivos, huellas y procedencia.",
    },
    options = { "session" }, run = details,
  },
}

return M
