local artifact = require "std.artifact"
local fs = require "std.fs"
local json = require "std.json"
local process = require "std.process"
local task = require "std.task"
local helper = require "spec.agent_helper"
local discovery = require "alisio.analysis.discovery"
local jobs = require "alisio.analysis.jobs"
local paths = require "alisio.kernel.paths"

local python = discovery.find {}
local chosen = { ["analysis.python"] = python and python.executable } -- not searched in every new state folder

local function needs_python()
  return not python and pending "no Python 3.10 on this machine"
end

describe("alisio.analysis.jobs", function()
  local bench, session

  before_each(function()
    bench = helper.new { config = chosen }
    session = bench:session()
  end)

  after_each(function()
    bench:close()
  end)

  local function folder(id)
    return paths.session(bench.dir .. "/state", paths.workspace(session.cwd), session.id).jobs .. (id and "/" .. id or "")
  end

  local function record(id)
    return json.decode((assert(fs.read(folder(id) .. "/job.json"))))
  end

  -- The one job there is, when its result cannot tell.
  local function only_job()
    local list = assert(fs.list(folder()))
    assert.equal(1, #list)
    return list[1].name
  end

  local function run(code, more)
    local request = { code = code }
    for key, value in pairs(more or {}) do
      request[key] = value
    end
    local job = assert(jobs.plan(session, request))
    return jobs.run(job)
  end

  local function out(result)
    return result.text:match "%[stdout%]\n(.*)$"
  end

  it("runs what is shown: no other encoding, no line end that only Python sees", function()
    if needs_python() then return end
    for _, head in ipairs {
      "# coding: utf-7", "# -*- coding: unicode_escape -*-", "#!/usr/bin/python3\n# vim: fileencoding=latin-1", "x = 1\r# coding=utf_7",
    } do
      local job, message, id = jobs.plan(session, { code = head .. "\nprint('sales')\n# +AAoAcAByAGkAbgB0ACgAMQAp-" })
      assert.is_nil(job)
      assert.equal("permission_denied", id)
      assert.matches("UTF%-8", message)
    end
    local job = assert(jobs.plan(session, { code = "# coding: UTF-8\r\n# sums\rprint('shown')" }))
    assert.equal("# coding: UTF-8\n# sums\nprint('shown')", job.code)
    assert.equal("shown", out(jobs.run(job)))
  end)

  it("runs a script in a folder of its own and keeps what happened", function()
    if needs_python() then return end
    local result = assert(run("print('hello')\nimport sys; print('oops', file=sys.stderr)", { title = "Greeting" }))
    assert.is_nil(result.isError)
    assert.matches("exit status 0", result.text, 1, true)
    assert.matches("[stdout]\nhello\n[stderr]\noops", result.text, 1, true)
    local dir = folder(result.executionId)
    assert.equal("hello\n", fs.read(dir .. "/logs/stdout.log"))
    assert.equal("oops\n", fs.read(dir .. "/logs/stderr.log"))
    local kept = record(result.executionId)
    assert.equal("succeeded", kept.status)
    assert.equal(0, kept.code)
    assert.equal("Greeting", kept.title)
    assert.equal(result.executionId, kept.id)
    assert.equal(python.version, kept.runtime.python)
    assert.is_true(kept.endedAt >= kept.startedAt)
    for _, name in ipairs { "", "/job.json", "/script", "/script/main.py", "/input", "/work", "/staging", "/logs/stdout.log" } do
      local stat = assert(fs.stat(dir .. name))
      assert.equal(0, stat.mode & 63, name) -- nobody else's
    end
  end)

  it("says running before it runs", function()
    if needs_python() then return end
    local result = assert(run "import os; print(open('../job.json').read())")
    assert.equal("running", json.decode(out(result)).status)
  end)

  it("gives the environment and the flags of a job, and nothing else", function()
    if needs_python() then return end
    local result = assert(run [[
import json, os, sys
print(json.dumps({"env": dict(os.environ), "cwd": os.getcwd(), "flags": [sys.flags.ignore_environment,
    sys.flags.no_user_site, sys.flags.dont_write_bytecode, sys.flags.utf8_mode], "write_through": sys.stdout.write_through,
    "stdin": sys.stdin.read(), "fds": sorted(os.listdir("/proc/self/fd"), key=int) if os.path.exists("/proc/self/fd") else [],
    "argv": sys.argv, "session": os.getsid(0) == os.getpid()}))]])
    local seen = json.decode(out(result))
    local dir = assert(fs.realpath(folder(result.executionId)))
    local env = seen.env
    assert.equal(dir .. "/staging", env.ALISIO_OUTPUT_DIR)
    assert.equal(dir .. "/input", env.ALISIO_INPUT_DIR)
    assert.equal(dir .. "/work", env.ALISIO_WORK_DIR)
    assert.equal(dir .. "/work", env.HOME)
    assert.equal(dir .. "/work", env.TMPDIR)
    assert.equal(dir .. "/work", seen.cwd)
    assert.equal(result.executionId, env.ALISIO_EXECUTION_ID)
    assert.equal("Agg", env.MPLBACKEND)
    local allowed = {
      PATH = true, LANG = true, LANGUAGE = true, TZ = true, HOME = true, TMPDIR = true, MPLBACKEND = true,
      ALISIO_OUTPUT_DIR = true, ALISIO_INPUT_DIR = true, ALISIO_WORK_DIR = true, ALISIO_EXECUTION_ID = true,
    }
    for name in pairs(env) do
      assert.is_true(allowed[name] or name:find "^LC_" ~= nil, name)
    end
    assert.are.same({ 1, 1, 1, 1 }, seen.flags)
    assert.is_true(seen.write_through)
    assert.equal("", seen.stdin)
    assert.is_true(#seen.fds == 0 or #seen.fds == 4) -- 3 is the folder that is listed
    assert.are.same({ dir .. "/script/main.py" }, seen.argv)
    assert.is_true(seen.session)
  end)

  it("copies the inputs, read-only, and lists them", function()
    if needs_python() then return end
    bench:file("sub/sales.csv", "a,b\n1,2\n")
    bench:file("other/sales.csv", "x\n")
    bench:file("inputs.json", "{}")
    local result = assert(run([[
from alisio_runtime import datasets, input_dir
import json
print(json.dumps([sorted(p.name for p in input_dir().iterdir()), datasets.inputs(),
                  (input_dir() / "sales.csv").read_text()]))]],
      { inputs = { "sub/sales.csv", "other/sales.csv", "inputs.json" } }))
    local names, listed, text = table.unpack(json.decode(out(result)))
    assert.are.same({ "inputs.json", "inputs_2.json", "sales.csv", "sales_2.csv" }, names)
    assert.equal("a,b\n1,2\n", text)
    assert.equal("sales.csv", listed[1].name)
    assert.equal("sub/sales.csv", listed[1].source)
    assert.equal("file", listed[1].kind)
    assert.equal(8, listed[1].bytes)
    assert.equal(artifact.digest_bytes "a,b\n1,2\n", listed[1].sha256)
    assert.equal(256, fs.stat(folder(result.executionId) .. "/input/sales.csv").mode)
    assert.equal("a,b\n1,2\n", bench:read "sub/sales.csv")
  end)

  it("copies a dataset, which the script reads", function()
    if needs_python() then return end
    bench:file("sales.csv", "region,total\nEast,1.5\nWest,2.5\n")
    local set = assert(session.data:open "sales.csv")
    local id = (set.dataset or set).id
    local result = assert(run([[
from alisio_runtime import datasets
db = datasets.open("sales")
print(db.execute("SELECT sum(total) FROM data").fetchone()[0], [c["type"] for c in datasets.columns("sales")])
try:
    db.execute("DELETE FROM data")
except Exception as error:
    print(error)]], { inputs = { { datasetId = id } } }))
    assert.equal("4.0 ['text', 'real']\nattempt to write a readonly database", out(result))
  end)

  it("refuses what is not there before anything is written", function()
    if needs_python() then return end
    for _, inputs in ipairs { { "nothing.csv" }, { "." }, { { datasetId = "ds_00000000000000000000000000" } } } do
      local job, message, id = jobs.plan(session, { code = "1", inputs = inputs })
      assert.is_nil(job)
      assert.is_string(message)
      assert.equal("not_found", id)
    end
    assert.is_nil(fs.stat(folder()))
  end)

  it("publishes what the script left", function()
    if needs_python() then return end
    local result = assert(run([[
from alisio_runtime import html, output_dir, outputs, svg
chart = svg.bar(["a", "b"], [1, 2], title="T")
html.write("index.html", "Sales", chart)
(output_dir() / "summary.md").write_text("# S\n")
outputs.declare("index.html", title="Sales dashboard")]], { title = "Sales" }))
    assert.equal(2, #result.artifacts)
    local dashboard = assert(session.artifacts:get(result.artifacts[1]))
    assert.equal("Sales dashboard", dashboard.title)
    assert.equal("dashboard", dashboard.kind)
    assert.equal("ready", dashboard.status)
    assert.matches("Published " .. dashboard.id, result.text, 1, true)
    local manifest = assert(fs.read(dashboard.path:match "^(.*)/files/" .. "/manifest.json"))
    local provenance = json.decode(manifest).provenance
    assert.equal(result.executionId, provenance.execution)
    assert.equal(python.version, provenance.runtime.python)
    assert.is_nil(manifest:find(bench.dir, 1, true))
    assert.is_nil(manifest:find(python.executable, 1, true))
    assert.are.same(result.artifacts, record(result.executionId).artifacts)
  end)

  it("publishes nothing when it fails, unless it was told to", function()
    if needs_python() then return end
    local code = "from alisio_runtime import output_dir\n(output_dir() / 'a.md').write_text('x')\nraise SystemExit(3)"
    local result = assert(run(code))
    assert.is_true(result.isError)
    assert.are.same({}, result.artifacts)
    assert.matches("exit status 3.\nNothing was published.", result.text, 1, true)
    assert.equal("failed", record(result.executionId).status)
    result = assert(run(code, { publishOnError = true }))
    assert.is_true(result.isError)
    assert.equal("partial", assert(session.artifacts:get(result.artifacts[1])).status)
    assert.matches("marked Partial", result.text, 1, true)
  end)

  it("ends at its time limit and publishes nothing", function()
    if needs_python() then return end
    local result = assert(run([[
from alisio_runtime import output_dir
import subprocess, time
(output_dir() / "a.md").write_text("x")
subprocess.Popen(["sleep", "60"], start_new_session=True)
time.sleep(60)]], { timeoutMs = 700, publishOnError = true }))
    assert.is_true(result.isError)
    assert.are.same({}, result.artifacts)
    assert.matches("time limit (700 ms)", result.text, 1, true)
    assert.equal("timed_out", record(result.executionId).status)
  end)

  it("says which limit ended it", function()
    if needs_python() then return end
    bench:close()
    bench = helper.new { config = { ["analysis.limits.processes"] = 4, ["analysis.python"] = python.executable } }
    session = bench:session()
    local result = assert(run "import subprocess\nfor i in range(20): subprocess.Popen(['sleep', '60'])\nimport time; time.sleep(60)")
    assert.matches("analysis.limits.processes", result.text, 1, true)
    assert.equal("limit", record(result.executionId).status)
  end)

  it("rejects an output folder that cannot be published, with the reason", function()
    if needs_python() then return end
    local result = assert(run "import os\nfrom alisio_runtime import output_dir\nos.symlink('/etc/passwd', output_dir() / 'x.txt')")
    assert.is_true(result.isError)
    assert.matches("Nothing was published: ", result.text, 1, true)
    local kept = record(result.executionId)
    assert.equal("succeeded", kept.status)
    assert.equal("symlink", kept.publication.reason)
  end)

  it("survives a script that removes its own folder", function()
    if needs_python() then return end
    local result = assert(run "import os, shutil\nprint('before')\nshutil.rmtree(os.path.dirname(os.environ['ALISIO_WORK_DIR']))")
    assert.is_true(result.isError)
    assert.matches("removed or replaced its output folder", result.text, 1, true)
    assert.equal("before\n", fs.read(folder(result.executionId) .. "/logs/stdout.log"))
    assert.equal("succeeded", record(result.executionId).status)
  end)

  it("follows no link that the script put in its folder's place", function()
    if needs_python() then return end
    local outside = bench.dir .. "/outside"
    assert(fs.mkdirs(outside .. "/staging"))
    assert(fs.write(outside .. "/staging/secret.txt", "secret"))
    local code = ([[
import os, shutil
job = os.path.dirname(os.environ["ALISIO_WORK_DIR"])
shutil.rmtree(job)
os.symlink(%q, job)
print("gone")]]):format(outside)
    local result = assert(run(code))
    assert.is_true(result.isError)
    assert.are.same({}, result.artifacts)
    assert.equal(1, #assert(fs.list(outside)))
    local staging = "import os, shutil\nout = os.environ['ALISIO_OUTPUT_DIR']\nos.rmdir(out)\nos.symlink(%q, out)"
    result = assert(run(staging:format(outside .. "/staging")))
    assert.is_true(result.isError)
    assert.are.same({}, result.artifacts)
  end)

  it("keeps the first and the last of what is printed", function()
    if needs_python() then return end
    local result = assert(run "import sys\nprint('first')\nfor i in range(2000): sys.stdout.write('x' * 5000)\nprint('last')")
    local log = assert(fs.read(folder(result.executionId) .. "/logs/stdout.log"))
    assert.is_true(#log < 2 * 1024 * 1024 + 100)
    assert.matches("^first\n", log)
    assert.matches("last\n$", log)
    assert.matches("bytes left out", log, 1, true)
    assert.is_true(#result.text < 20000)
    assert.matches("bytes left out", result.text, 1, true)
  end)

  it("shows no bytes that are not text", function()
    if needs_python() then return end
    local result = assert(run "import sys\nsys.stdout.buffer.write(bytes(range(256)) * 4)")
    assert.matches("[stdout: 1024 bytes that are not text]", result.text, 1, true)
    assert.equal(1024, #fs.read(folder(result.executionId) .. "/logs/stdout.log"))
    result = assert(run "import sys\nsys.stdout.buffer.write('aé'.encode('latin-1') + b'b')")
    assert.equal("a\u{FFFD}b", out(result))
  end)

  it("tells of a script that ends its supervisor", function()
    if needs_python() then return end
    local result = assert(run "import os, signal, time\nos.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(60)")
    assert.is_true(result.isError)
    assert.matches("ended the process that watches over it", result.text, 1, true)
    assert.equal("lost", record(result.executionId).status)
  end)

  it("is cancelled, and says so in job.json", function()
    if needs_python() then return end
    local job = assert(jobs.plan(session, { code = "import time\nprint('up')\ntime.sleep(60)" }))
    local up = false
    local runner = task.spawn(jobs.run, job, { progress = function(_, line)
      up = up or line == "up"
    end })
    while not up do
      task.sleep(5)
    end
    runner:cancel()
    assert.are.same({ nil, "cancelled" }, { runner:wait() })
    assert.equal("cancelled", record(only_job()).status)
  end)

  it("runs only what was allowed", function()
    if needs_python() then return end
    bench:file("a.csv", "1\n")
    local job = assert(jobs.plan(session, { code = "print(1)", inputs = { "a.csv" } }))
    local result, message, id = jobs.run(job, nil, { sha256 = ("0"):rep(64) })
    assert.is_nil(result)
    assert.equal("permission_denied", id)
    assert.matches("not what was allowed", message, 1, true)
    bench:file("a.csv", "2\n") -- between the question and the run
    result, message, id = jobs.run(job, nil, { sha256 = job.sha256 })
    assert.is_nil(result)
    assert.equal("permission_denied", id)
    assert.matches("a.csv changed", message, 1, true)
    assert.are.same({}, assert(fs.list(folder())))
  end)

  it("has one hash for one script, inputs and runtime", function()
    if needs_python() then return end
    bench:file("a.csv", "1\n")
    local first = assert(jobs.plan(session, { code = "1", inputs = { "a.csv" }, title = "A" }))
    assert.equal(first.sha256, assert(jobs.plan(session, { code = "1", inputs = { "a.csv" } })).sha256)
    assert.not_equal(first.sha256, assert(jobs.plan(session, { code = "2", inputs = { "a.csv" } })).sha256)
    assert.not_equal(first.sha256, assert(jobs.plan(session, { code = "1" })).sha256)
    bench:file("a.csv", "2\n")
    assert.not_equal(first.sha256, assert(jobs.plan(session, { code = "1", inputs = { "a.csv" } })).sha256)
  end)

  it("says in words what holds", function()
    if needs_python() then return end
    local list = jobs.guarantees(assert(jobs.plan(session, { code = "1", timeoutMs = 5000 })))
    assert.matches("^! .*with your permissions", list[1])
    local text = table.concat(list, "\n")
    assert.matches("5 s", text, 1, true)
    assert.matches("4 GiB", text, 1, true)
  end)

  it("keeps the time a request asks for below the limit", function()
    if needs_python() then return end
    assert.equal(120000, assert(jobs.plan(session, { code = "1", timeoutMs = 999999999 })).timeoutMs)
    assert.equal(1000, assert(jobs.plan(session, { code = "1", timeoutMs = 1000 })).timeoutMs)
  end)
end)

describe("alisio.agent.tools.python_run", function()
  it("goes through the door with the hash of what was shown", function()
    if needs_python() then return end
    local bench = helper.new { config = chosen }
    local shown
    local session = bench:session { ask = function(request)
      shown = request
      return "allow_once"
    end }
    bench:file("a.txt", "from the workspace\n")
    bench:will_reply({ calls = { { "python_run", {
      code = "from alisio_runtime import input_dir\nprint((input_dir() / 'a.txt').read_text())", inputs = { "./a.txt" }, title = "Read",
    } } } }, { text = "done" })
    local _, events = bench:prompt(session, "go")
    local completed = helper.of(events, "tool_completed")[1]
    assert.equal("ok", completed.status)
    assert.matches("from the workspace", completed.output[1].text, 1, true)
    assert.equal("analysis.run", shown.capability)
    assert.equal("Run this Python script (Read)?", shown.title)
    assert.matches("from alisio_runtime import input_dir", shown.script, 1, true)
    assert.equal(7, #shown.guarantees)
    assert.equal("✓ Runs on Python " .. python.version .. " with copies of a.txt", shown.guarantees[3])
    assert.equal(shown.sha256, helper.of(events, "permission_resolved")[1].sha256)
    bench:close()
  end)

  it("asks nothing when there is no Python", function()
    local bench = helper.new { config = { ["analysis.python"] = "/no/such/python" } }
    local session = bench:session { ask = function()
      error "asked"
    end }
    bench:will_reply({ calls = { { "python_run", { code = "1" } } } }, { text = "done" })
    local _, events = bench:prompt(session, "go")
    local completed = helper.of(events, "tool_completed")[1]
    assert.equal("error", completed.status)
    assert.matches("python_missing: Python 3.10 or newer was not found. analysis.python names /no/such/python", completed.output[1].text, 1, true)
    bench:close()
  end)

  it("says that the interpreter is gone since it was found, and finds the next", function()
    if needs_python() then return end
    local dir = assert(fs.temp_dir("/tmp", "alisio-gone-"))
    local link = dir .. "/python3"
    assert(process.run { argv = { "ln", "-s", python.executable, link } })
    local bench = helper.new { config = { ["analysis.python"] = link } }
    local _ <close> = setmetatable({}, { __close = function()
      bench:close()
      fs.remove(dir)
    end })
    local opened = bench:session()
    local job = assert(jobs.plan(opened, { code = "print(1)" }))
    assert(fs.remove(link))
    local result, message, id = jobs.run(job)
    assert.is_nil(result)
    assert.equal("python_missing", id)
    assert.matches(link .. " is gone since it was found. Nothing was run", message, 1, true)
    result, message, id = jobs.plan(opened, { code = "print(1)" })
    assert.same({ nil, "python_missing" }, { result, id })
    assert.matches(link .. ", which is not there", message, 1, true)
    assert(process.run { argv = { "ln", "-s", python.executable, link } })
    assert.matches("exit status 0", assert(jobs.run(assert(jobs.plan(opened, { code = "print(1)" })))).text, 1, true)
  end)

  it("reads nothing outside the workspace", function()
    if needs_python() then return end
    local bench = helper.new { flags = { ["allow-analysis"] = true }, config = chosen }
    local session = bench:session()
    bench:will_reply({ calls = { { "python_run", { code = "1", inputs = { "../../etc/passwd" } } } } }, { text = "done" })
    local _, events = bench:prompt(session, "go")
    assert.equal("denied", helper.of(events, "tool_completed")[1].status)
    bench:close()
  end)
end)
