--- `alisio setup`: a first config.json and init.lua, never over one that is there.
local asset = require "std.asset"
local fs = require "std.fs"
local json = require "std.json"
local path = require "std.path"

local M = {
  name = "setup",
  help = { en = "Write a first config.json and a commented init.lua.", es = "Escribe un primer config.json y un init.lua comentado." },
  details = {
    en = "A file that is there already is left as it is.",
    es = "Un archivo que ya existe queda como está.",
  },
  options = { "model" },
}

local said = {
  written = { en = "wrote  {path}", es = "creado  {path}" },
  kept = { en = "kept   {path}", es = "intacto {path}" },
  next = {
    en = "alisio doctor shows what works on this machine, alisio doctor --config each value and where it comes from.",
    es = "alisio doctor muestra lo que funciona en esta máquina, alisio doctor --config cada valor y de dónde viene.",
  },
}

local function config_text(model)
  return json.encode({ model = model or "offline", permission = "ask", analysis = { runtime = "auto" } }, { pretty = true }) .. "\n"
end

local function init_text(locale)
  return assert(asset.read(("lua/alisio/defaults/init%s.lua"):format(locale == "es" and ".es" or "")))
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
  local ok, message, id, fields = fs.mkdirs(ctx.config_dir)
  if not ok then
    return nil, message, id, fields
  end
  local written, kept = json.array {}, json.array {}
  local files = { { "config.json", config_text(args.model) }, { "init.lua", init_text(ctx.locale) } }
  for _, file in ipairs(files) do
    local name = path.join(ctx.config_dir, file[1])
    if fs.exists(name) then
      kept[#kept + 1] = name
    else
      ok, message, id, fields = fs.write(name, file[2], { exclusive = true, mode = 384 })
      if not ok then
        return nil, message, id, fields
      end
      written[#written + 1] = name
    end
  end
  if ctx.json then
    ctx:print { written = written, kept = kept }
    return
  end
  for _, name in ipairs(written) do
    ctx:say(said.written, { path = name })
  end
  for _, name in ipairs(kept) do
    ctx:say(said.kept, { path = name })
  end
  ctx:say(said.next)
end

return M
