--- The table view: a screen that moves over the rows of a dataset's sheets, sorts and filters them. Here
--- stand the terminal and the tasks; state.lua knows the keys, frame.lua draws, pages.lua fetches.
local process = require "std.process"
local task = require "std.task"
local term = require "std.term"
local state = require "alisio.ui.cli.lib.pager.state"

local M = {}

--- Writes the lines that differ from those on the screen. A line never wraps: terminals may count the
--- width of a character otherwise than we do.
local function paint(lines, before)
  local out = {}
  for i = 1, math.max(#lines, #before) do
    if lines[i] ~= before[i] then
      out[#out + 1] = ("\27[%d;1H\27[2K%s"):format(i, lines[i] or "")
    end
  end
  if #out == 0 then
    return true
  end
  return term.write("\27[?7l" .. table.concat(out) .. "\27[?7h")
end

--- Tasks that end with the block that made them. What one of them raises is kept in `raised`, and rings.
local function new_crew(ring)
  local crew = {}
  function crew.spawn(fn)
    for i = #crew, 1, -1 do
      if crew[i]:over() then
        table.remove(crew, i)
      end
    end
    crew[#crew + 1] = task.spawn(function()
      local ok, why = xpcall(fn, function(err)
        return err == "cancelled" and err or debug.traceback(err, 2)
      end)
      if not ok and why ~= "cancelled" then
        crew.raised = why
        ring()
      end
    end)
    return crew[#crew]
  end
  return setmetatable(crew, { __close = function()
    for _, running in ipairs(crew) do
      running:cancel()
    end
    for _, running in ipairs(crew) do
      running:wait()
    end
  end })
end

--- Shows a dataset on the terminal until the user leaves it.
---@async
---@param options { source: table, described: table, locale: string, sheet: integer? }  sheet: to begin with
---@return true? done
---@return string? err
---@return string? id
---@return table? fields
function M.run(options)
  local handle <close>, err, id, fields = term.raw(0, { signals = false, screen = 1 })
  if not handle then
    return nil, err, id, fields
  end
  local bell, typed, shown = task.channel(1), {}, {}
  local function ring()
    bell:try_send(true)
  end
  local crew <close> = new_crew(ring)
  local p = state.new {
    source = options.source, described = options.described, locale = options.locale, color = term.color(1), utf8 = term.utf8(),
    spawn = crew.spawn, ring = ring,
  }
  crew.spawn(function()
    while true do
      local key = term.read_key(handle)
      if not key then -- the terminal is gone
        p.done = true
        ring()
        return
      end
      typed[#typed + 1] = key
      ring()
    end
  end)
  local signals <close> = process.signals { "WINCH", "CONT" }
  crew.spawn(function()
    while signals:wait() do
      shown = {}
      p.resized = true
      ring()
    end
  end)
  p:resize(term.size(1))
  p.at = options.sheet or 1
  p.view = p.views[p.at]
  p:start()
  repeat
    if p.resized then
      p.resized = nil
      p:resize(term.size(1))
      term.write "\27[2J"
    end
    local lines = p:lines()
    local written
    written, err, id, fields = paint(lines, shown)
    if not written then
      return nil, err, id, fields
    end
    shown = lines
    bell:receive()
    if crew.raised then
      error(crew.raised, 0)
    end
    local pressed = typed
    typed = {}
    for _, key in ipairs(pressed) do
      p:key(key)
    end
  until p.done
  return true
end

return M
