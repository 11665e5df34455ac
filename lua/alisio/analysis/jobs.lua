--- Running a script: a folder of its own below the state folder, copies of its inputs, a clean
-- environment, an end for the whole process tree, and then what it left is published.
--
--   <state>/analysis/jobs/<workspace>/<session>/<exec_id>/
--     job.json                   what runs, and how it ended; written before it starts
--     script/main.py             with alisio_runtime beside it
--     input/, input/inputs.json  copies, read-only
--     work/                      its folder, HOME and TMPDIR
--     staging/                   what is published
--     logs/stdout.log, stderr.log
--
-- The script may do what it likes to this folder. So the folder is only used beneath its parent,
-- where no link is followed, and whatever is missing afterwards is an answer, not a fault.
local artifact = require "std.artifact"
local asset = require "std.asset"
local clock = require "std.clock"
local fs = require "std.fs"
local json = require "std.json"
local path = require "std.path"
local process = require "std.process"
local text = require "std.text"
local ids = require "alisio.kernel.ids"
local paths = require "alisio.kernel.paths"
local words = require "alisio.kernel.words"
local discovery = require "alisio.analysis.discovery"
local extras = require "alisio.analysis.extras"
local runtimes = require "alisio.analysis.runtimes"

local M = {}

local RUNTIME = "stdlib/python/"
local PRIVATE, READ_ONLY = 384, 256 -- 0600, 0400
local SHOWN_BYTES = 16 * 1024 -- of each stream, in the result for the model
local FLAGS = { "-E", "-s", "-B", "-u", "-X", "utf8" }
local PASSED = { "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_NUMERIC", "LC_TIME", "TZ" }

local LEFT_OUT = "\n[… %d bytes left out …]\n"
local STREAMS = { "stdout", "stderr" }

---@class alisio.JobInput
---@field name string      in input/
---@field kind "file"|"dataset"
---@field source string    the workspace path, or the dataset's id
---@field folder string    absolute folder it is copied from, private
---@field file string      its name there
---@field sha256 string
---@field bytes integer

---@class alisio.Job
---@field session table
---@field code string
---@field title string?
---@field inputs alisio.JobInput[]
---@field timeoutMs integer
---@field publishOnError boolean
---@field python alisio.Python  with install: the one that an environment is made of
---@field install alisio.ExtraSet?  what is installed before it runs
---@field runtime alisio.Runtime
---@field sha256 string    of script, inputs and runtime: what an approval is bound to

-- A name that no input before has, nor the list of them.
local function unused_name(name, taken)
  name = name:gsub("[/%c]", "_")
  local stem, ext = path.stem(name), path.ext(name)
  local unique, n = name, 1
  while taken[unique:lower()] do
    n = n + 1
    unique = ("%s_%d%s"):format(stem, n, ext)
  end
  taken[unique:lower()] = true
  return unique
end

local function dataset_input(session, id)
  local set, message, code, fields = session.data:get(id)
  if not set then
    return nil, message, code, fields
  end
  return {
    kind = "dataset", source = id, folder = path.dirname(set.path), file = path.basename(set.path),
    name = set.name .. ".sqlite",
  }
end

local function file_input(session, rel)
  local stat, message, code, fields = session.workspace:stat(rel)
  if not stat then
    return nil, message, code, fields
  elseif stat.type ~= "file" then
    return nil, rel .. " is not a file", "not_found", { object = rel }
  end
  return {
    kind = "file", source = rel, folder = session.cwd, file = rel, name = path.basename(rel),
  }
end

local function read_inputs(session, wanted)
  local inputs, taken = {}, { ["inputs.json"] = true }
  for i, want in ipairs(wanted) do
    local input, message, id, fields
    if type(want) == "table" then
      input, message, id, fields = dataset_input(session, want.datasetId)
    else
      input, message, id, fields = file_input(session, want)
    end
    if not input then
      return nil, message, id, fields
    end
    input.name = unused_name(input.name, taken)
    input.sha256, message, id, fields = artifact.digest(path.join(input.folder, input.file))
    if not input.sha256 then
      return nil, message, id, fields
    end
    inputs[i] = input
  end
  return inputs
end

local function approval_hash(job)
  local inputs = json.array {}
  for i, input in ipairs(job.inputs) do
    inputs[i] = { name = input.name, sha256 = input.sha256 }
  end
  return artifact.digest_bytes(json.encode {
    code = job.code, inputs = inputs, runtime = job.runtime.name, holds = job.runtime.found,
    python = job.python.executable, version = job.python.version, install = job.install and job.install.sha256,
  })
end

-- What Python reads has to be what a person was shown: line ends are as Python takes them, and neither
-- of the first two lines names another encoding (PEP 263), in which comments can hide statements.
local function as_shown(code)
  local shown = code:gsub("\r\n?", "\n")
  local first, second = shown:match "^([^\n]*)\n?([^\n]*)"
  for _, line in ipairs { first, second } do
    local encoding = line:match "^[ \t\f]*#.-coding[:=][ \t]*([-_.%w]+)"
    if encoding and encoding:lower():gsub("[-_]", "") ~= "utf8" then
      return nil, encoding
    end
  end
  return shown
end

--- What a request would run: the hooks in front of Python have spoken, the inputs are there and
-- hashed, the interpreter is found. Nothing is written.
---@async
---@param session table   an agent session
---@param request table   { code, title?, inputs? = (workspace path | { datasetId })[], timeoutMs?, publishOnError?,
---  extras? = ("analysis" | "science")[] }
---@return alisio.Job? job
---@return string? message
---@return string? id      python_missing, runtime_unavailable, not_found, permission_denied, io_error
---@return table? fields
function M.plan(session, request)
  local step = {
    code = request.code, title = request.title, inputs = request.inputs or {}, timeoutMs = request.timeoutMs,
    extras = request.extras or {},
  }
  local allowed, reason = session:before("python", step)
  if not allowed then
    return nil, reason, "permission_denied"
  end
  local code, encoding = as_shown(step.code)
  if not code then
    return nil, words.t(session.locale, "python.encoding", { encoding = encoding }), "permission_denied"
  end
  local config = session.config
  local runtime, message, id, fields = runtimes.choose(config, session.locale)
  if not runtime then
    return nil, message, id, fields
  end
  local python
  python, message, id, fields = discovery.find {
    configured = config:get "analysis.python", state_dir = session.runtime.state_dir, locale = session.locale,
  }
  if not python then
    return nil, message, id, fields
  end
  local wanted = extras.wanted(step.extras)
  local prepared = wanted and extras.find(session.runtime.state_dir, python, wanted)
  local limit = config:get "analysis.limits.timeoutMs"
  local job = {
    session = session, code = code, title = step.title, python = prepared or python, runtime = runtime,
    install = wanted and not prepared and extras.set(wanted) or nil,
    timeoutMs = math.min(step.timeoutMs or limit, limit), publishOnError = request.publishOnError or false,
  }
  job.inputs, message, id, fields = read_inputs(session, step.inputs)
  if not job.inputs then
    return nil, message, id, fields
  end
  job.sha256 = approval_hash(job)
  return job
end

--- What holds for such a job on this machine, and what does not, in words.
---@param job alisio.Job
---@return string[]
function M.guarantees(job)
  local locale, config = job.session.locale, job.session.config
  local names = {}
  for i, input in ipairs(job.inputs) do
    names[i] = input.kind == "file" and input.source or input.name
  end
  local list = runtimes.words(job.runtime, locale)
  for _, sentence in ipairs {
    words.t(locale, "python.runs_on", { version = job.python.version, inputs = #names > 0 and names or nil }),
    words.t(locale, "python.clean_environment"),
    words.t(locale, "python.time", { time = job.timeoutMs }),
    words.t(locale, "python.limits", {
      memory = config:get "analysis.limits.memoryBytes", file = config:get "analysis.limits.writeBytes",
    }),
  } do
    list[#list + 1] = sentence
  end
  local set = job.install
  if set then
    table.insert(list, 1, words.t(locale, "python.installs", { size = set.downloadBytes, packages = set.packages }))
    table.insert(list, 2, words.t(locale, "python.installs_where"))
  end
  if process.ends_orphans then
    list[#list + 1] = words.t(locale, "python.processes", { count = config:get "analysis.limits.processes" })
  end
  return list
end

-- A new file that need not survive a power cut: the job would not, either.
local function write_new(root, rel, bytes)
  local file, message, id, fields = root:open(rel, "x")
  if not file then
    return nil, message, id, fields
  end
  local _ <close> = file
  return file:write(bytes)
end

local function pretty(value)
  return json.encode(value, { pretty = true }) .. "\n"
end

-- The job as job.json keeps it.
local function describe(job)
  local inputs = json.array {}
  for i, input in ipairs(job.inputs) do
    inputs[i] = {
      name = input.name, kind = input.kind, source = input.source, sha256 = input.sha256, bytes = input.bytes,
    }
  end
  local granted = job.granted or {}
  return {
    v = 1, id = job.id, session = job.session.id, workspace = job.session.cwd, title = job.title,
    status = "running", startedAt = clock.now(), timeoutMs = job.timeoutMs, publishOnError = job.publishOnError,
    runtime = {
      name = job.runtime.name, holds = job.runtime.found, python = job.python.version,
      executable = job.python.executable, extras = job.python.extras,
    },
    scriptSha256 = artifact.digest_bytes(job.code), inputs = inputs,
    approval = { sha256 = job.sha256, decision = granted.decision, source = granted.source },
  }
end

local function copy_input(root, job, input)
  local source, message, id, fields = fs.open_root(input.folder, { links = "inside" })
  if not source then
    return nil, message, id, fields
  end
  local _ <close> = source
  local rel = path.join(job.id, "input", input.name)
  input.bytes, message, id, fields = root:copy_in(source, input.file, rel, { mode = READ_ONLY })
  if not input.bytes then
    return nil, message, id, fields
  end
  local digest
  digest, message, id, fields = artifact.digest(path.join(job.parent, rel))
  if not digest then
    return nil, message, id, fields
  elseif digest ~= input.sha256 then
    return nil, words.t(job.session.locale, "python.input_changed", { name = input.source }), "permission_denied"
  end
  return true
end

local function write_script(root, job)
  local ok, message, id, fields = root:mkdir(path.join(job.id, "script/alisio_runtime"))
  if ok then
    ok, message, id, fields = write_new(root, path.join(job.id, "script/main.py"), job.code)
  end
  for _, name in ipairs(asset.list(RUNTIME .. "alisio_runtime/")) do
    if not ok then
      break
    end
    ok, message, id, fields = write_new(root, path.join(job.id, "script", name:sub(#RUNTIME + 1)), asset.read(name))
  end
  return ok, message, id, fields
end

-- Everything the script will find; nothing has run yet.
local function prepare(root, job)
  local ok, message, id, fields
  for _, folder in ipairs { "input", "work", "staging", "logs" } do
    ok, message, id, fields = root:mkdir(path.join(job.id, folder))
    if not ok then
      return nil, message, id, fields
    end
  end
  for _, input in ipairs(job.inputs) do
    ok, message, id, fields = copy_input(root, job, input)
    if not ok then
      return nil, message, id, fields
    end
  end
  job.record = describe(job)
  ok, message, id, fields = write_new(root, path.join(job.id, "input/inputs.json"), pretty { inputs = job.record.inputs })
  if ok then
    ok, message, id, fields = write_script(root, job)
  end
  if ok then
    ok, message, id, fields = write_new(root, path.join(job.id, "job.json"), pretty(job.record))
  end
  return ok, message, id, fields
end

local function environment(job)
  local work = path.join(job.dir, "work")
  local env = {
    PATH = fs.env "PATH" or "/usr/local/bin:/usr/bin:/bin",
    HOME = work, TMPDIR = work, MPLBACKEND = "Agg",
    ALISIO_OUTPUT_DIR = path.join(job.dir, "staging"), ALISIO_INPUT_DIR = path.join(job.dir, "input"),
    ALISIO_WORK_DIR = work, ALISIO_EXECUTION_ID = job.id,
  }
  for _, name in ipairs(PASSED) do
    env[name] = fs.env(name)
  end
  return env
end

-- A stream for the log: where bytes are missing, it says how many.
local function whole(r, stream, mark)
  local bytes, missing = r[stream], r.truncated[stream]
  if not missing then
    return bytes
  end
  local head = r.headBytes[stream]
  return bytes:sub(1, head) .. mark:format(missing) .. bytes:sub(head + 1)
end

-- The last line of what came, as progress.
local function tell(call, chunk)
  local line = chunk:match "([^\r\n]+)[\r\n]*$"
  if line then
    call:progress(line:sub(-200))
  end
end

-- What is printed goes into the logs as it comes: the first half of what is kept of it. The rest is
-- known when it is over.
local Logs = {}
Logs.__index = Logs

local function open_logs(root, job, max)
  local logs = setmetatable({ root = root, files = {}, rel = {}, written = {}, room = (max + 1) // 2 }, Logs)
  for _, stream in ipairs(STREAMS) do
    local rel = path.join(job.id, "logs", stream .. ".log")
    local file, message, id, fields = root:open(rel, "x")
    if not file then
      logs:close()
      return nil, message, id, fields
    end
    logs.files[stream], logs.rel[stream], logs.written[stream] = file, rel, 0
  end
  return logs
end

function Logs:add(stream, chunk)
  local part = chunk:sub(1, self.room - self.written[stream])
  if part ~= "" and self.files[stream]:write(part) then
    self.written[stream] = self.written[stream] + #part
  end
end

-- Whole again where the script removed or changed one.
function Logs:finish(r)
  for _, stream in ipairs(STREAMS) do
    local bytes, rel = whole(r, stream, LEFT_OUT), self.rel[stream]
    self.files[stream]:write(bytes:sub(self.written[stream] + 1))
    local stat, own = self.root:stat(rel), self.files[stream]:stat()
    if not (stat and own and stat.ino == own.ino and stat.size == #bytes) then
      self.root:remove(rel)
      local ok, message = self.root:write(rel, bytes, { mode = PRIVATE, parents = true })
      if not ok then
        return nil, message
      end
    end
  end
  return true
end

function Logs:close()
  for _, file in pairs(self.files) do
    file:close()
  end
end

Logs.__close = Logs.close

local function execute(job, call, logs)
  local options = job.runtime.kind.start({
    dir = job.dir, workspace = job.session.cwd, python = job.python, flags = FLAGS, env = environment(job),
    id = job.id, config = job.session.config, timeoutMs = job.timeoutMs,
  }, job.runtime.found)
  options.timeoutMs = job.timeoutMs
  options.maxOutputBytes = job.session.config:get "analysis.limits.logBytes"
  options.on_output = function(stream, chunk)
    logs:add(stream, chunk)
    if call then
      tell(call, chunk)
    end
  end
  return process.run(options)
end

local function status_of(r)
  if r.reason == "timeout" then
    return "timed_out"
  elseif r.reason == "stopped" then
    return "cancelled"
  elseif r.reason == "limit" or r.reason == "lost" then
    return r.reason
  end
  return r.code == 0 and "succeeded" or "failed"
end

local function write_record(root, job)
  job.record.endedAt = clock.now()
  return root:write(path.join(job.id, "job.json"), pretty(job.record), { mode = PRIVATE, parents = true })
end

-- The first and last part of a stream, for the model.
local function excerpt(r, stream)
  local bytes = whole(r, stream, LEFT_OUT)
  if bytes == "" then
    return nil
  elseif bytes:find("\0", 1, true) then
    return ("[%s: %d bytes that are not text]"):format(stream, #bytes + (r.truncated[stream] or 0))
  end
  if #bytes > SHOWN_BYTES then
    local half = SHOWN_BYTES // 2
    bytes = bytes:sub(1, half) .. LEFT_OUT:format(#bytes - 2 * half) .. bytes:sub(-half)
  end
  -- Characters may be cut in two, or be of another encoding.
  return ("[%s]\n%s"):format(stream, (text.repair(bytes):gsub("\n+$", "")))
end

-- How it ended, for the model: English, as all that models read.
local function headline(job, r, status)
  local ran = ("Python %s ran for %.1f s"):format(job.python.version, r.durationMs / 1000)
  if status == "timed_out" then
    return ("%s and was ended at its time limit (%d ms). Nothing was published."):format(ran, job.timeoutMs)
  elseif status == "limit" then
    return ("%s and was ended at a limit (analysis.limits.%s). Nothing was published.")
      :format(ran, r.limit == "cpuMs" and "timeoutMs" or r.limit == "fileBytes" and "writeBytes" or r.limit)
  elseif status == "lost" then
    return ("%s and ended the process that watches over it. Nothing was published.%s")
      :format(ran, r.left and " One of its processes may still be running." or "")
  elseif status == "cancelled" then
    return ran .. " and was stopped. Nothing was published."
  elseif r.signal then
    return ("%s and was ended by signal %d."):format(ran, r.signal)
  end
  return ("%s, exit status %d."):format(ran, r.code)
end

-- What the manifest tells of where an artifact comes from: no code, no path of this machine.
local function provenance(job, status)
  local session, inputs = job.session, json.array {}
  for i, input in ipairs(job.inputs) do
    inputs[i] = { name = input.name, kind = input.kind, sha256 = input.sha256, bytes = input.bytes }
  end
  return {
    tool = "python_run", execution = job.id, status = status ~= "succeeded" and "partial" or nil,
    title = job.title, model = session.run and session.run.model or session.model,
    runtime = { name = job.runtime.name, python = job.python.version, extras = job.python.extras }, inputs = inputs,
    scriptSha256 = job.record.scriptSha256,
  }
end

--- Publishes what the script left. The folder must still be what was made for it.
---@return table? published  { artifacts, warnings }; nil and nothing else where there is nothing
---@return string? message
---@return string? id
---@return table? fields
local function publish(root, job, status)
  local rel = path.join(job.id, "staging")
  local stat = root:stat(rel)
  if not stat or stat.type ~= "dir" then
    return nil, words.t(job.session.locale, "python.no_output_folder"), "artifact_rejected"
  end
  if #(root:list(rel) or {}) == 0 then
    return nil
  end
  return job.session.artifacts:publish_folder(path.join(job.parent, rel), provenance(job, status))
end

-- The end of a run in lines, for the model.
local function report(job, r, status, published, refusal)
  local lines = { headline(job, r, status) }
  if r.ended > 0 then
    lines[#lines + 1] = ("%d processes it had left running were ended."):format(r.ended)
  end
  if refusal then
    lines[#lines + 1] = "Nothing was published: " .. refusal
  elseif r.left and r.reason ~= "lost" then
    lines[#lines + 1] = "One of its processes could not be ended, so nothing was published."
  elseif status == "failed" and not job.publishOnError then
    lines[#lines + 1] = "Nothing was published."
  end
  for _, art in ipairs(published.artifacts) do
    lines[#lines + 1] = ("Published %s: %s (%s, %d bytes)%s"):format(art.id, art.fileName, art.kind, art.bytes,
      status == "succeeded" and "" or ", marked Partial")
  end
  for _, warning in ipairs(published.warnings) do
    lines[#lines + 1] = "warning: " .. warning
  end
  return lines
end

local function finish(root, job, r, logs)
  local status, record = status_of(r), job.record
  local kept, not_kept = logs:finish(r)
  local published, refusal, id, fields
  if not r.left and (status == "succeeded" or status == "failed" and job.publishOnError) then
    published, refusal, id, fields = publish(root, job, status)
  end
  published = published or { artifacts = {}, warnings = {} }
  local artifacts = json.array {}
  for i, art in ipairs(published.artifacts) do
    artifacts[i] = art.id
  end
  record.status, record.code, record.signal, record.limit = status, r.code, r.signal, r.limit
  record.usage, record.artifacts = r.usage, artifacts
  record.publication = refusal and { error = id, message = refusal, reason = fields and fields.reason } or nil
  local why = refusal and words.failure(job.session.locale, refusal, id, fields)
  local lines = report(job, r, status, published, why)
  local recorded, not_recorded = write_record(root, job)
  if not (kept and recorded) then
    lines[#lines + 1] = "What is known of this run was not kept: " .. (not_kept or not_recorded)
  end
  lines[#lines + 1] = excerpt(r, "stdout")
  lines[#lines + 1] = excerpt(r, "stderr")
  return {
    text = table.concat(lines, "\n"), artifacts = artifacts, executionId = job.id,
    isError = (status ~= "succeeded" or refusal ~= nil or r.left) or nil,
  }
end

-- Installs what the job asked for and was allowed to.
local function install(job, call)
  if not job.install then
    return true
  end
  local python, message, id, fields = extras.install {
    state_dir = job.session.runtime.state_dir, python = job.python, name = job.install.name, locale = job.session.locale,
    progress = call and function(line)
      call:progress(line:sub(1, 200))
    end,
  }
  job.python = python or job.python
  return python ~= nil, message, id, fields
end

--- Runs a job once. It is never run again by itself: job.json says "running" until it is over, and
-- goes on saying so when this process dies.
---@async
---@param job alisio.Job
---@param call? table     hears of progress
---@param granted? table  the decision it runs by: { decision, source, sha256 }
---@return table? result  { text, artifacts, executionId, isError? }
---@return string? message
---@return string? id
---@return table? fields
function M.run(job, call, granted)
  local session = job.session
  if granted and granted.sha256 and granted.sha256 ~= job.sha256 then
    return nil, words.t(session.locale, "python.changed"), "permission_denied"
  end
  job.granted = granted
  local ok, message, id, fields = install(job, call)
  if not ok then
    return nil, message, id, fields
  end
  job.id = ids.new "exec"
  job.parent = paths.session(session.runtime.state_dir, paths.workspace(session.cwd), session.id).jobs
  ok, message, id, fields = fs.mkdirs(job.parent)
  if ok then
    job.parent, message, id, fields = fs.realpath(job.parent) -- a sandbox has no links that lead there
  end
  if not job.parent or not ok then
    return nil, message, id, fields
  end
  job.dir = path.join(job.parent, job.id)
  local root
  root, message, id, fields = fs.open_root(job.parent)
  if not root then
    return nil, message, id, fields
  end
  local _ <close> = root
  ok, message, id, fields = prepare(root, job)
  if not ok then
    root:remove(job.id)
    return nil, message, id, fields
  end
  local logs
  logs, message, id, fields = open_logs(root, job, session.config:get "analysis.limits.logBytes")
  if not logs then
    root:remove(job.id)
    return nil, message, id, fields
  end
  local _ <close> = logs
  job.record.status = "cancelled" -- unless it comes to another end
  local _ <close> = setmetatable({}, { __close = function()
    if not job.record.endedAt then
      write_record(root, job)
    end
  end })
  local r
  r, message, id, fields = execute(job, call, logs)
  if not r then
    job.record.status = "failed"
    if not fs.exists(job.python.executable) then
      local gone = { detail = words.t(session.locale, "python.gone", { object = job.python.executable }) }
      return nil, words.error(session.locale, "python_missing", gone), "python_missing", gone
    end
    return nil, message, id, fields
  end
  return finish(root, job, r, logs)
end

return M
