--- Programs the model runs: their environment, limits, result, and what their approval says.
local digest = require("std.artifact").digest_bytes
local fs = require "std.fs"
local path = require "std.path"
local process = require "std.process"
local words = require "alisio.kernel.words"
local place = require "alisio.agent.place"

local M = {}

M.DEFAULT_TIMEOUT = 120000
M.MAX_TIMEOUT = 3600000
M.MAX_OUTPUT = 64 * 1024

--- Variables a program gets. A list of what goes in, since keys of services have any name.
local passed = {
  "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "PWD", "EDITOR", "VISUAL", "PAGER",
  "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME",
  "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY",
  "VIRTUAL_ENV", "PYENV_ROOT", "CONDA_PREFIX", "JAVA_HOME", "GOPATH", "GOROOT", "CARGO_HOME", "RUSTUP_HOME",
  "NVM_DIR", "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
  "SSL_CERT_FILE", "SSL_CERT_DIR", "NO_COLOR",
}

local function environment()
  local env = {}
  for _, name in ipairs(passed) do
    env[name] = fs.env(name)
  end
  return env
end

--- Fields that run_process and shell share in their input.
M.input = {
  cwd = { "string?", "folder to run in, relative to the session's" },
  timeoutMs = { "integer?", "end it after this long", minimum = 100, maximum = M.MAX_TIMEOUT },
  stdin = { "string?", "text for its standard input" },
}

--- The approval of a program.
---@param name string       tool
---@param argv string[]     what runs
---@param script string     what is shown of it
---@param input table
---@param call table
---@return table?
---@return string? message
---@return string? id
function M.approval(name, argv, script, input, call)
  for _, word in ipairs(argv) do
    if word:find("\0", 1, true) then
      return nil, "a command holds no NUL character", "usage"
    end
  end
  local rel, message, id = place.folder(call, input.cwd)
  if not rel then
    return nil, message, id
  end
  local locale = call.session.locale
  return {
    title = words.t(locale, "approval.run_command", { cwd = rel }),
    script = script .. (input.stdin and "\n\n< " .. input.stdin or ""),
    sha256 = digest(table.concat({ name, script, rel, input.stdin or "" }, "\0")),
    guarantees = { words.t(locale, "approval.your_permissions") },
  }
end

--- One stream as the model reads it; what was left out is said where it is missing.
local function section(result, name)
  local bytes, missing = result[name], result.truncated[name]
  if bytes == "" then
    return ""
  end
  if place.is_binary(bytes) then
    return ("\n[%s: %d bytes that are not text]"):format(name, #bytes + (missing or 0))
  end
  if missing then
    local head = result.headBytes[name]
    bytes = ("%s\n[cut here: %d bytes are not shown]\n%s"):format(bytes:sub(1, head), missing, bytes:sub(head + 1))
  end
  return ("\n[%s]\n%s"):format(name, (bytes:gsub("\n$", "")))
end

--- How it ended.
local function ending(result, limit_ms)
  if result.timedOut then
    return ("ended after %d ms (timeoutMs)"):format(limit_ms)
  elseif result.reason == "limit" then
    return "ended at the limit of " .. tostring(result.limit)
  elseif result.reason == "lost" then
    return "ended: what watches over it was killed"
  elseif result.code then
    return "exit status " .. result.code
  end
  return "ended by signal " .. tostring(result.signal)
end

--- The last line of a piece of output, or its end where the line is long. Looks at no more than that:
--- output comes in any amount.
---@param chunk string
---@return string? line
function M.last_line(chunk)
  local tail = chunk:sub(-400):gsub("[\r\n]+$", "")
  local line = tail:match "[^\r\n]*$"
  return line ~= "" and line:sub(1, 200) or nil
end

--- Runs a program and makes the tool's result of it.
---@async
---@param argv string[]
---@param input table
---@param call table
---@return table? result
---@return string? message
---@return string? id
function M.run(argv, input, call)
  local rel, message, id = place.folder(call, input.cwd)
  if not rel then
    return nil, message, id
  end
  local limit = input.timeoutMs or M.DEFAULT_TIMEOUT
  local result
  result, message, id = process.run {
    argv = argv,
    cwd = path.join(call.cwd, rel),
    env = environment(),
    stdin = input.stdin or "",
    timeoutMs = limit,
    maxOutputBytes = M.MAX_OUTPUT,
    on_output = function(_, chunk)
      local line = M.last_line(chunk)
      if line then
        call:progress(line)
      end
    end,
  }
  if not result then
    return nil, message, id
  end
  return {
    text = ending(result, limit) .. section(result, "stdout") .. section(result, "stderr"),
    isError = result.code ~= 0 or nil,
  }
end

return M
