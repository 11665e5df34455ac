--- A session as the modules below the agent see it: a real store in a folder of its own.
local fs = require "std.fs"
local schema = require "alisio.kernel.config_schema"
local store = require "alisio.kernel.store"

local M = {}

local function default(key)
  for _, entry in ipairs(schema) do
    if entry.key == key then
      return entry.default
    end
  end
  error("no key " .. key)
end

--- Makes a folder with a state and a workspace in it.
---@return table world  { dir, work, store, session(settings?), close() }
function M.world()
  local dir = assert(fs.realpath(assert(fs.temp_dir("/tmp", "alisio-spec-"))))
  local world = { dir = dir, work = dir .. "/work" }
  assert(fs.mkdirs(world.work))
  world.store = assert(store.open(dir .. "/state"))
  function world.session(settings)
    local session = {
      id = assert(world.store:create_session { kind = "run", cwd = world.work }),
      runtime = { state_dir = dir .. "/state", config_dir = dir .. "/config" },
      cwd = world.work, store = world.store, locale = "en", events = {}, steps = {},
      workspace = assert(fs.open_root(world.work, { links = "inside" })),
      config = { get = function(_, key)
        local value = settings and settings[key]
        if value ~= nil then
          return value
        end
        return default(key)
      end },
      write = function(_, fn) return fn() end,
    }
    session.bus = { emit = function(_, type, fields)
      table.insert(session.events, { type = type, fields = fields })
      return true
    end }
    function session.before(_, point, step)
      table.insert(session.steps, { point = point, step = step })
      if world.denied then
        return nil, world.denied
      end
      return true
    end
    return session
  end
  function world.put(name, bytes)
    assert(fs.write(world.work .. "/" .. name, bytes, { parents = true }))
    return world.work .. "/" .. name
  end
  function world.close()
    world.store:close()
    assert(fs.remove(dir))
  end
  return world
end

return M
