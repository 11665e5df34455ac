--- `alisio trust`: shows what a project folder brings under .alisio, whole, and asks.
local fs = require "std.fs"
local json = require "std.json"
local path = require "std.path"
local term = require "std.term"
local text = require "std.text"
local trust = require "alisio.kernel.trust"
local question = require "alisio.ui.cli.lib.question"

local M = {
  name = "trust",
  arguments = { en = "[FOLDER]", es = "[CARPETA]" },
  help = {
    en = "Show what a project's .alisio folder holds, and trust it.",
    es = "Muestra lo que contiene la carpeta .alisio de un proyecto, y le da confianza.",
  },
  options = {
    { name = "yes", help = { en = "Trust what is shown without asking.", es = "Da confianza a lo que se muestra sin preguntar." } },
    { name = "show", help = { en = "Only show it.", es = "Solo lo muestra." } },
    { name = "revoke", help = { en = "Take the trust back.", es = "Retira la confianza." } },
  },
}

local said = {
  none = {
    en = "{dir} has no .alisio folder: there is nothing to trust.",
    es = "{dir} no tiene una carpeta .alisio: no hay nada a lo que dar confianza.",
  },
  status = {
    trusted = { en = "trusted", es = "de confianza" },
    untrusted = { en = "not trusted", es = "sin confianza" },
    changed = { en = "changed since it was trusted", es = "cambió desde que se le dio confianza" },
  },
  meaning = {
    en = "Lua files here run with your permissions, without being asked again. config.json can only tighten limits. "
      .. "Any change to these files takes the trust away.",
    es = "Los archivos Lua se ejecutan con sus permisos, sin volver a preguntar. config.json solo puede restringir límites. "
      .. "Cualquier cambio en estos archivos retira la confianza.",
  },
  ask = { en = "Trust these {count} files? [y/N] ", es = "¿Dar confianza a estos {count} archivos? [s/N] " },
  done = { en = "{dir} is trusted.", es = "{dir} es de confianza." },
  revoked = { en = "{dir} is no longer trusted.", es = "{dir} ya no es de confianza." },
  refused = {
    en = "{dir} was not trusted. Answer yes on a terminal, or give --yes.",
    es = "{dir} quedó sin confianza. Responda que sí en una terminal o use --yes.",
  },
}

local function show(ctx, snapshot)
  for _, name in ipairs(snapshot.names) do
    ctx:out(term.color(1) and term.style(".alisio/" .. text.visible(name), "strong") .. "\n" or ".alisio/" .. text.visible(name) .. "\n")
    for line in (snapshot.files[name]:gsub("\n$", "") .. "\n"):gmatch "(.-)\r?\n" do
      ctx:out("  " .. text.visible((line:gsub("\t", "    "))) .. "\n")
    end
    ctx:out "\n"
  end
end

local function report(ctx, snapshot, status)
  local files = json.array {}
  for i, name in ipairs(snapshot.names) do
    files[i] = { path = ".alisio/" .. name, bytes = #snapshot.files[name] }
  end
  ctx:print { folder = snapshot.dir, status = status, sha256 = snapshot.sha256 or json.null, files = files }
end

--- Runs the command.
---@async
---@param ctx table
---@param args table
---@return integer? status
---@return string? message
---@return string? id
---@return table? fields
function M.run(ctx, args)
  local dir = path.absolute(args[1] or ".", ctx.cwd)
  local ok, message, id, fields = fs.mkdirs(ctx.state_dir)
  local snapshot, status
  if ok then
    snapshot, message, id, fields = trust.snapshot(dir)
  end
  if snapshot then
    status, message, id, fields = trust.status(ctx.state_dir, snapshot)
  end
  if not status then
    return nil, message, id, fields
  end
  local change, done
  if args.revoke then
    change, done, status = trust.revoke, said.revoked, snapshot.sha256 and "untrusted" or "none"
  elseif status == "none" then
    if ctx.json then
      report(ctx, snapshot, status)
    end
    ctx:say(said.none, { dir = snapshot.dir })
    return
  else
    if not ctx.json then
      show(ctx, snapshot)
      ctx:say(("%s: %s"):format(snapshot.dir, ctx:text(said.status[status])))
      ctx:say(said.meaning)
    end
    if not args.show and status ~= "trusted" then
      local asked = ctx:text(said.ask, { count = #snapshot.names })
      if not (args.yes or not ctx.json and question.confirm(asked, false)) then
        return nil, ctx:text(said.refused, { dir = snapshot.dir }), "permission_denied"
      end
      change, done, status = trust.grant, said.done, "trusted"
    end
  end
  if change then
    ok, message, id, fields = change(ctx.state_dir, snapshot)
    if not ok then
      return nil, message, id, fields
    end
    ctx:say(done, { dir = snapshot.dir })
  end
  if ctx.json then
    report(ctx, snapshot, status)
  end
end

return M
