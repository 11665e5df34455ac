--- Where things lie: the two folders of the program, and the folders of a session below the state.
local fs = require "std.fs"
local path = require "std.path"

local M = {}

--- Own flag (its folder), own variable, XDG variable, a place below HOME.
local function folder(file, own, xdg, below_home, env)
  if file then
    return path.dirname(path.absolute(file, fs.cwd()))
  end
  local named = env(own)
  if named and named ~= "" then
    return path.absolute(named, fs.cwd())
  end
  local base = env(xdg)
  if base and path.is_absolute(base) then
    return path.join(base, "alisio")
  end
  return path.join(fs.home(), below_home, "alisio")
end

--- The state folder.
---@param db string?  what `--db` names
---@param env (fun(name: string): string?)?
---@return string
function M.state_dir(db, env)
  return folder(db, "ALISIO_STATE_HOME", "XDG_STATE_HOME", ".local/state", env or fs.env)
end

--- The configuration folder.
---@param config string?  what `--config` names
---@param env (fun(name: string): string?)?
---@return string
function M.config_dir(config, env)
  return folder(config, "ALISIO_CONFIG_HOME", "XDG_CONFIG_HOME", ".config", env or fs.env)
end

--- The name of a workspace in paths: its folder's name, and 12 digits that tell it from others of
--- that name.
---@param cwd string  real path
---@return string
function M.workspace(cwd)
  return path.slug(path.basename(cwd), 24) .. "-" .. require("std.artifact").digest_bytes(cwd):sub(1, 12)
end

---@class alisio.SessionFolders
---@field artifacts string
---@field jobs string
---@field datasets string

--- The folders of one session; none is made.
---@param state_dir string
---@param workspace string  of M.workspace
---@param session string
---@return alisio.SessionFolders
function M.session(state_dir, workspace, session)
  return {
    artifacts = path.join(state_dir, "artifacts", workspace, session),
    jobs = path.join(state_dir, "analysis", "jobs", workspace, session),
    datasets = path.join(state_dir, "analysis", "datasets", workspace, session),
  }
end

return M
