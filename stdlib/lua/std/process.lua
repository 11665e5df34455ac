--- Programs. Each runs in a session of its own under a supervisor, which ends it with everything it
--- has started, wherever that went: when the program is over, on a kill, a time-out or a cancel, and
--- when this process dies.
local raw = require "host.proc"
local signal = require "host.signal"

local M = {}

--- Whether what a program starts is ended with it wherever it went. Where not (macOS), a process that
--- left the program's process group is missed.
---@type boolean
M.ends_orphans = raw.orphans

local DEFAULT_OUTPUT = 1024 * 1024
local GRACE_MS = 50 -- what an unjailed program gets between SIGTERM and SIGKILL

---@class std.process.Limits
---@field memoryBytes? integer  address space of each process
---@field openFiles? integer    of each process
---@field processes? integer    of all together, counted 50 times a second
---@field cpuMs? integer        of each process, in whole seconds
---@field fileBytes? integer    largest file written

---@class std.process.Jail
---@field limits? std.process.Limits
---@field mark? string  "NAME=value" of its env that nothing else has: finds what killed its supervisor
---@field sandbox? std.process.Sandbox

--- What a program can reach: these places and nothing else. No socket but pairs, no process outside, no
--- privilege. Where a layer is missing or a place is not there, the program does not start.
---@class std.process.Sandbox
---@field read? string[]       files and folders, absolute, that it reads and runs
---@field write? string[]      that it reads and changes, and does not run
---@field memory? string[]     folders in memory of its own; with namespaces only
---@field namespaces? boolean  in a system of its own, which holds nothing but these places

---@class std.process.Options
---@field argv string[]      the program (without a slash: found by PATH) and its arguments
---@field cwd? string        its folder; this process's own without it
---@field env? table<string, string>  its whole environment; this process's own without it
---@field timeoutMs? integer
---@field jail? std.process.Jail  limits, no core files, no new privileges, and no grace at its end

---@class std.process.Result
---@field code? integer      exit code; nil when a signal ended it
---@field signal? integer
---@field reason string      exited, signaled, timeout, stopped, limit, or lost: its supervisor was killed
---@field limit? string      with limit: processes, cpuMs or fileBytes
---@field timedOut boolean
---@field ended integer      processes of its own that were still alive when it was over
---@field left boolean       one of them could not be ended
---@field durationMs integer
---@field usage { userMs: integer, systemMs: integer, maxRssBytes: integer, processes: integer }

---@class std.process.Child
---@field pid? integer
local Child = {}

function Child:__index(key)
  if key == "pid" then
    return self.handle:pid()
  end
  return Child[key]
end

local function environment_list(env)
  if not env then
    return nil
  end
  local list = {}
  for name, value in pairs(env) do
    if type(name) ~= "string" or name == "" or name:find("=", 1, true) then
      error("not the name of a variable: " .. tostring(name), 4)
    end
    list[#list + 1] = name .. "=" .. value
  end
  table.sort(list)
  return list
end

local function start(opts, stdin)
  local jail = opts.jail
  return raw.spawn {
    argv = opts.argv, cwd = opts.cwd, env = environment_list(opts.env), stdin = stdin,
    timeoutMs = opts.timeoutMs, graceMs = not jail and GRACE_MS or nil,
    limits = jail and (jail.limits or {}), mark = jail and jail.mark, sandbox = jail and jail.sandbox,
  }
end

--- Starts a program whose input, output and end the caller sees to. As a `<close>` variable it ends
--- with the block, and so it does when the child is forgotten.
---@param opts std.process.Options
---@return std.process.Child? child
---@return string? err
---@return string? id  "not_found" for a missing folder; a missing program is told by `wait`
function M.spawn(opts)
  local handle, err, id, fields = start(opts, true)
  if not handle then
    return nil, err, id, fields
  end
  return setmetatable({ handle = handle }, Child)
end

--- Waits for output. What nobody reads makes the program wait.
---@async
---@return "stdout"|"stderr"|nil stream  nil when both are at their end
---@return string? chunk                 bytes as they came, at most 64 KiB
function Child:read()
  local stream, chunk = self.handle:read()
  if not stream then
    return nil
  end
  return stream == 1 and "stdout" or "stderr", chunk
end

--- Writes to the program's input, and waits until it is taken.
---@async
---@param bytes string
---@return boolean? ok
---@return string? err
---@return string? id  io_error when nobody reads any more
function Child:write(bytes)
  return self.handle:write(bytes)
end

--- Ends the program's input.
function Child:close_stdin()
  self.handle:close_stdin()
end

--- Ends the program and all it has started; `wait` tells when that is done.
function Child:kill()
  self.handle:stop()
end

--- Waits until the program and all it has started are over. Output that was not read is dropped.
---@async
---@return std.process.Result? result
---@return string? err  the program could not be started
---@return string? id   not_found, io_error
function Child:wait()
  while self:read() do end
  local r, err, id, fields = self.handle:wait()
  if not r then
    return nil, err, id, fields
  end
  return {
    code = r.code, signal = r.signal, reason = r.reason, limit = r.limit,
    timedOut = r.reason == "timeout", ended = r.ended, left = r.left, durationMs = r.wallMs,
    usage = {
      userMs = r.userMs, systemMs = r.systemMs, maxRssBytes = r.maxRssBytes, processes = r.processes,
    },
  }
end

function Child:__close()
  self.handle:stop()
  self.handle:wait()
end

-- The first and the last half of a stream that may be longer than what is kept.
local Kept = {}
Kept.__index = Kept

local function new_kept(max)
  local head = (max + 1) // 2
  return setmetatable({
    head = {}, head_room = head, tail = {}, first = 1, last = 0, tail_bytes = 0,
    tail_max = max - head, total = 0,
  }, Kept)
end

function Kept:add(chunk)
  self.total = self.total + #chunk
  if self.head_room > 0 then
    local part = chunk:sub(1, self.head_room)
    self.head[#self.head + 1] = part
    self.head_room = self.head_room - #part
    chunk = chunk:sub(#part + 1)
  end
  if chunk == "" then
    return
  end
  self.last = self.last + 1
  self.tail[self.last] = chunk
  self.tail_bytes = self.tail_bytes + #chunk
  while self.first < self.last and self.tail_bytes - #self.tail[self.first] >= self.tail_max do
    self.tail_bytes = self.tail_bytes - #self.tail[self.first]
    self.tail[self.first] = nil
    self.first = self.first + 1
  end
end

-- What is kept, how many bytes of it are the beginning, and how many are missing behind those.
function Kept:result()
  local head = table.concat(self.head)
  local tail = table.concat(self.tail, "", self.first, self.last)
  if #tail > self.tail_max then
    tail = self.tail_max > 0 and tail:sub(-self.tail_max) or ""
  end
  return head .. tail, #head, self.total - #head - #tail
end

---@class std.process.RunOptions : std.process.Options
---@field stdin? string            its input; empty without it
---@field maxOutputBytes? integer  of each stream: its first and last half are kept; 1 MiB without it
---@field on_output? fun(stream: "stdout"|"stderr", chunk: string)  hears everything as it comes

---@class std.process.Output : std.process.Result
---@field stdout string
---@field stderr string
---@field truncated { stdout: integer|false, stderr: integer|false }  bytes left out in the middle
---@field headBytes { stdout: integer, stderr: integer }  where they are missing

--- Runs a program to its end.
---@async
---@param opts std.process.RunOptions
---@return std.process.Output? result
---@return string? err  it could not be started
---@return string? id   not_found, io_error
function M.run(opts)
  local handle, err, id, fields = start(opts, opts.stdin ~= nil)
  if not handle then
    return nil, err, id, fields
  end
  local child <close> = setmetatable({ handle = handle }, Child)
  local max = opts.maxOutputBytes or DEFAULT_OUTPUT
  local kept = { stdout = new_kept(max), stderr = new_kept(max) }
  if opts.stdin then
    local ok
    ok, err, id, fields = handle:feed(opts.stdin)
    if not ok then
      return nil, err, id, fields
    end
  end
  for stream, chunk in Child.read, child do
    kept[stream]:add(chunk)
    if opts.on_output then
      opts.on_output(stream, chunk)
    end
  end
  local result
  result, err, id, fields = child:wait()
  if not result then
    return nil, err, id, fields
  end
  result.truncated, result.headBytes = {}, {}
  for stream, all in pairs(kept) do
    local text, head, missing = all:result()
    result[stream] = text
    result.headBytes[stream] = head
    result.truncated[stream] = missing > 0 and missing
  end
  return result
end

--- The environment of this process.
---@return table<string, string>
function M.environment()
  return raw.environ()
end

---@class std.process.Signals
---@field wait fun(self: std.process.Signals): string?  the next signal's name; nil once it is closed
---@field close fun(self: std.process.Signals)

--- Catches signals to this process: while the handle is open they do nothing else.
---@param names string[]  of HUP, INT, QUIT, TERM, USR1, USR2, WINCH, CONT, TSTP
---@return std.process.Signals signals  closes as a `<close>` variable, too
function M.signals(names)
  return signal.open(names)
end

return M
