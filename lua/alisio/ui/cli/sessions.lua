--- `alisio sessions`: what was said before, to read, keep and remove.
local fs = require "std.fs"
local json = require "std.json"
local path = require "std.path"
local term = require "std.term"
local text = require "std.text"
local delete_each = require "alisio.ui.cli.lib.delete"
local listing = require "alisio.ui.cli.lib.listing"
local transcript = require "alisio.ui.cli.lib.transcript"

local M = {
  name = "sessions",
  help = { en = "List, show, export and delete sessions.", es = "Lista, muestra, exporta y borra sesiones." },
}

local said = {
  none = { en = "No sessions yet.", es = "Todavía no hay sesiones." },
  id = { en = "Name the session. alisio sessions list shows them.", es = "Indique la sesión. alisio sessions list las muestra." },
  exists = { en = "{path} is there already. Name another file.", es = "{path} ya existe. Indique otro archivo." },
  written = { en = "{path}, {count} events", es = "{path}, {count} eventos" },
  ask = { en = "Delete session {id} ({title}) with its files? [y/N] ", es = "¿Borrar la sesión {id} ({title}) con sus archivos? [s/N] " },
  kept = { en = "Session {id} was kept.", es = "La sesión {id} se conservó." },
  deleted = { en = "Session {id} was deleted.", es = "La sesión {id} se borró." },
  no_grants = { en = "Nothing was allowed for a whole session.", es = "No se permitió nada para una sesión entera." },
  grant = {
    en = "Name the permission, or a session for all of its. alisio sessions grants shows them.",
    es = "Indique el permiso, o una sesión para todos los suyos. alisio sessions grants los muestra.",
  },
  revoked = { en = "{capability} is asked about again in {session}.", es = "{capability} se vuelve a preguntar en {session}." },
  untitled = { en = "untitled", es = "sin título" },
  commands = { en = "data and artifact commands", es = "órdenes data y artifact" },
}

local function title_of(ctx, session)
  return session.title ~= "" and session.title or ctx:text(session.kind == "cli" and said.commands or said.untitled)
end

local function list(ctx, args)
  local store, message, id, fields = ctx:store()
  if not store then
    return nil, message, id, fields
  end
  local sessions
  sessions, message, id, fields = store:sessions { limit = args.limit, kind = args.kind }
  if not sessions then
    return nil, message, id, fields
  end
  listing.show(ctx, "sessions", sessions, {
    none = said.none, whole = { true, true },
    heads = {
      en = { "id", "last used", "kind", "title", "folder" }, es = { "id", "último uso", "tipo", "título", "carpeta" },
    },
    row = function(session)
      return {
        session.id, transcript.time(session.updated), session.kind, text.visible(title_of(ctx, session)),
        text.visible(session.cwd),
      }
    end,
  })
end

--- The store, for a command that has to be given a name.
local function store_for(ctx, args, missing)
  if not args[1] then
    return nil, ctx:text(missing), "usage"
  end
  return ctx:store()
end

--- The session a command names, with its events.
local function load(ctx, args)
  local store, message, id, fields = store_for(ctx, args, said.id)
  if not store then
    return nil, message, id, fields
  end
  local session, events
  session, message, id, fields = store:session(args[1])
  if not session then
    return nil, message, id, fields
  end
  events, message, id, fields = store:events(session.id)
  if not events then
    return nil, message, id, fields
  end
  return session, events
end

local function show(ctx, args)
  local session, events, id, fields = load(ctx, args)
  if not session then
    return nil, events, id, fields
  elseif ctx.json then
    ctx:print { session = session, events = json.array(events) }
    return
  end
  local page = transcript.markdown(session, events, ctx.locale)
  ctx:out(text.markdown(page, { width = term.is_tty(1) and term.size(1) or 100, color = term.color(1) }))
end

local function export(ctx, args)
  local session, events, id, fields = load(ctx, args)
  if not session then
    return nil, events, id, fields
  end
  local bytes
  if ctx.json then
    bytes = json.encode { session = session, events = json.array(events) } .. "\n"
  else
    bytes = transcript.markdown(session, events, ctx.locale)
  end
  if not args.out then
    ctx:out(bytes)
    return
  end
  local file = path.absolute(args.out, ctx.cwd)
  if fs.exists(file) then
    return nil, ctx:text(said.exists, { path = file }), "usage"
  end
  local ok, message
  ok, message, id, fields = fs.write(file, bytes, { exclusive = true, mode = 384 })
  if not ok then
    return nil, message, id, fields
  end
  ctx:say(said.written, { path = file, count = #events })
end

local function delete(ctx, args)
  local store, message, id, fields = store_for(ctx, args, said.id)
  if not store then
    return nil, message, id, fields
  end
  return delete_each(ctx, args, said, function(wanted)
    local session, why, code, about = store:session(wanted)
    return session and title_of(ctx, session), why, code, about
  end, function(wanted)
    return store:delete_session(wanted)
  end)
end

--- What was answered with "allow for this session" and still holds.
local function grants(ctx, args)
  local store, message, id, fields = ctx:store()
  local found = store
  if store and args[1] then
    found, message, id, fields = store:session(args[1])
  end
  if found then
    found, message, id, fields = store.grants.list(args[1])
  end
  if not found then
    return nil, message, id, fields
  end
  listing.show(ctx, "grants", found, {
    none = said.no_grants, whole = { true, true, true },
    heads = { en = { "id", "since", "session", "allows", "runtime" }, es = { "id", "desde", "sesión", "permite", "entorno" } },
    row = function(grant)
      return {
        grant.id, transcript.time(grant.created), grant.session, text.visible(grant.capability),
        text.visible(grant.runtime or ""),
      }
    end,
  })
end

--- The grants a word names: one by its id, or all of a session.
local function named_grants(store, word)
  if word:find "^ses_" then
    local session, message, id, fields = store:session(word)
    if not session then
      return nil, message, id, fields
    end
    return store.grants.list(word)
  end
  local grant, message, id, fields = store.grants.get(word)
  return grant and { grant }, message, id, fields
end

local function revoke(ctx, args)
  local store, message, id, fields = store_for(ctx, args, said.grant)
  if not store then
    return nil, message, id, fields
  end
  local revoked = json.array {}
  for _, word in ipairs(args) do
    local found
    found, message, id, fields = named_grants(store, word)
    for _, grant in ipairs(found or {}) do
      found, message, id, fields = store.grants.revoke(grant.id)
      if not found then
        break
      end
      revoked[#revoked + 1] = grant.id
      if not ctx.json then
        ctx:say(said.revoked, { capability = grant.capability, session = grant.session })
      end
    end
    if not found then
      return nil, message, id, fields
    end
  end
  if ctx.json then
    ctx:print { revoked = revoked }
  end
end

local SESSION = { en = "SESSION", es = "SESIÓN" }

M.commands = {
  {
    name = "list",
    help = { en = "List sessions, the last used first.", es = "Lista las sesiones, la última usada primero." },
    options = {
      { name = "limit", value = "N", kind = "integer", help = { en = "At most so many.", es = "Como máximo tantas." } },
      { name = "kind", value = "KIND", kind = "string", help = {
        en = "Only sessions of this kind: run, cli, script, embed.", es = "Solo sesiones de este tipo: run, cli, script, embed." } },
    },
    run = list,
  },
  {
    name = "show", arguments = SESSION,
    help = { en = "Show what happened in a session.", es = "Muestra lo que ocurrió en una sesión." },
    run = show,
  },
  {
    name = "export", arguments = SESSION,
    help = {
      en = "Write a session as Markdown, with --json all its events.",
      es = "Escribe una sesión como Markdown, con --json todos sus eventos.",
    },
    options = {
      { name = "out", value = "FILE", kind = "string", help = {
        en = "Write to this file, which must be new, and not to standard output.",
        es = "Escribe en este archivo, que debe ser nuevo, y no en la salida estándar." } },
    },
    run = export,
  },
  {
    name = "delete", arguments = { en = "SESSION…", es = "SESIÓN…" },
    help = {
      en = "Delete sessions with their datasets, jobs and artifacts.",
      es = "Borra sesiones con sus datos, trabajos y artefactos.",
    },
    options = { "yes" },
    run = delete,
  },
  {
    name = "grants", arguments = { en = "[SESSION]", es = "[SESIÓN]" },
    help = {
      en = "List what was allowed for a whole session.",
      es = "Lista lo que se permitió para una sesión entera.",
    },
    run = grants,
  },
  {
    name = "revoke", arguments = { en = "GRANT|SESSION…", es = "PERMISO|SESIÓN…" },
    help = {
      en = "Take such a permission back, or all of a session: it is asked about again.",
      es = "Retira un permiso así, o todos los de una sesión: se vuelve a preguntar.",
    },
    run = revoke,
  },
}

return M
