#!/usr/bin/env python3
"""What each runtime prevents, measured with real jobs and written as a table into docs/python.md.

A column that cannot be measured here stays as it is in the document; one that came out otherwise is
written, and the test fails."""
import glob
import json
import os
import signal
import socket
import subprocess
import sys
import time

from alisio_test import ALISIO, BUILD, ROOT, Case, main

PAGE = os.path.join(ROOT, "docs", "python.md")
BEGIN, END = "<!-- measured by tests/e2e/test_guarantees.py -->\n", "<!-- end of what is measured -->\n"
COLUMNS = ("managed", "sandbox", "oci")
UNKNOWN = "–"
SANITIZED = "san" in BUILD.split(os.sep)

TRY = """
import json, os, signal, socket
found = {{}}
def attempt(name, function):
    try:
        found[name] = bool(function())
    except (OSError, MemoryError, KeyError):
        found[name] = False
attempt("read", lambda: "SECRET" in open({secret!r}).read())
attempt("seen", lambda: os.stat({secret!r}))
attempt("write", lambda: open({target!r}, "w").write("x"))
attempt("network", lambda: socket.create_connection(("127.0.0.1", {port}), 2))
attempt("memory", lambda: len(bytearray((4 << 30) + 1)))
attempt("less memory", lambda: len(bytearray(1 << 30)))
attempt("file", lambda: os.ftruncate(os.open("big", os.O_CREAT | os.O_RDWR), (1 << 30) + 1) is None)
attempt("smaller file", lambda: os.ftruncate(os.open("big", os.O_CREAT | os.O_RDWR), 1 << 30) is None)
attempt("files", lambda: [os.open("/dev/null", os.O_RDONLY) for _ in range(1024)])
attempt("key", lambda: "CANARY" in json.dumps(dict(os.environ)))
print(json.dumps(found))
"""
FORKS = """
import os, time
for _ in range({count}):
    if os.fork() == 0:
        os.setsid()
        time.sleep(60)
time.sleep(1)
print("up")
"""
ESCAPE = """
import os, time
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for fd in (0, 1, 2):
                os.close(fd)
            time.sleep(300)
        os._exit(0)
open("ready", "w").close()
time.sleep(300)
"""
# Runs the script and ends it when it is ready: by a cancel, or together with the whole program.
DRIVER = """
local alisio, fs, json, task, clock = require "alisio", require "std.fs", require "std.json", require "std.task", require "std.clock"
local call, jobs = json.decode((fs.read((...)))), select(2, ...)
if jobs == "" then
  local result, message, id = alisio.python(call)
  io.write(json.encode(result or { error = id, message = message }), "\\n")
  return
end
local runner = task.spawn(alisio.python, call)
local function ready()
  for _, session in ipairs(fs.list(jobs) or {}) do
    for _, job in ipairs(fs.list(jobs .. "/" .. session.name) or {}) do
      for _, id in ipairs(fs.list(jobs .. "/" .. session.name .. "/" .. job.name) or {}) do
        if fs.exists(table.concat({ jobs, session.name, job.name, id.name, "work", "ready" }, "/")) then
          return id.name
        end
      end
    end
  end
end
while not ready() do
  task.sleep(5)
end
local id, start = ready(), clock.monotonic()
io.write(id, "\\n")
io.flush()
if call.title == "stop" then
  runner:cancel()
  runner:wait()
  io.write(("%.0f\\n"):format(clock.monotonic() - start))
else
  task.sleep(60000)
end
"""


class Guarantees(Case):
    def setUp(self):
        super().setUp()
        self.driver = os.path.join(self.dir, "driver.lua")
        with open(self.driver, "w", encoding="utf-8") as file:
            file.write(DRIVER)
        self.jobs = os.path.join(self.env["ALISIO_STATE_HOME"], "analysis/jobs")

    def start(self, runtime, code, jobs="", **more):
        call = os.path.join(self.dir, "call.json")
        with open(call, "w", encoding="utf-8") as file:
            json.dump({"code": code, **more}, file)
        env = dict(self.env, ALISIO_ANALYSIS_RUNTIME=runtime, SERVICE_KEY="CANARY")
        child = subprocess.Popen([ALISIO, "script", "--allow-analysis", "--python", sys.executable, self.driver, call, jobs],
                                 cwd=self.dir, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.stdout.close)
        return child

    def run_python(self, runtime, code, **more):
        out, _ = self.start(runtime, code, **more).communicate(timeout=60)
        result = json.loads(out)
        self.assertNotIn("error", result)
        return result

    def tried(self, runtime):
        secret, target = os.path.join(self.top, "secret"), os.path.join(self.top, "target-" + runtime)
        with open(secret, "w", encoding="ascii") as file:
            file.write("SECRET")
        with socket.create_server(("127.0.0.1", 0)) as server:
            code = TRY.format(secret=secret, target=target, port=server.getsockname()[1])
            result = self.run_python(runtime, code)
        self.assertNotIn("[stderr]", result["text"])
        found = json.loads(result["text"].splitlines()[-1])
        self.assertEqual(os.path.exists(target), found["write"])
        self.assertTrue(found["less memory"] and found["smaller file"], found)
        return found

    def alive(self, job):
        wanted, count = f"ALISIO_EXECUTION_ID={job}".encode(), 0
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/environ", "rb") as environ:
                    count += wanted in environ.read().split(b"\0")
            except OSError:
                pass
        return count

    def left_after(self, runtime, how):
        """Whether anything is alive 250 ms later. A machine that is late gets more than one try."""
        for _ in range(4):
            child = self.start(runtime, ESCAPE, self.jobs, title=how)
            job = child.stdout.readline().strip()
            self.assertGreaterEqual(self.alive(job), 0 if how == "stop" else 6)
            if how == "kill":
                child.send_signal(signal.SIGKILL)
                begin = time.monotonic()
                while self.alive(job) and time.monotonic() < begin + 5:
                    time.sleep(0.005)
                took = (time.monotonic() - begin) * 1000
            else:
                took = float(child.stdout.readline())
            child.wait()
            self.assertEqual(self.alive(job), 0)
            for ready in glob.glob(os.path.join(self.jobs, "*", "*", "*", "work", "ready")):
                os.unlink(ready)
            if took <= 250:
                return "none 250 ms later"
        return f"some {took:.0f} ms later"

    def processes(self, runtime):
        many = self.run_python(runtime, FORKS.format(count=300))["text"]
        few = self.run_python(runtime, FORKS.format(count=200))["text"]
        self.assertIn("[stdout]\nup", few)
        return "at most 256" if "analysis.limits.processes" in many else "not limited"

    def column(self, runtime):
        found = self.tried(runtime)
        prevented = lambda name: "not prevented" if found[name] else "prevented"
        limited = lambda name, words: "not limited" if found[name] else words
        return {
            "Reading your files outside the job": prevented("read"),
            "Seeing that they are there": prevented("seen"),
            "Writing outside the job": prevented("write"),
            "Network": prevented("network"),
            "Keys in the environment": "there" if found["key"] else "none",
            "Memory": limited("memory", "at most 4 GiB a process"),
            "Processes": self.processes(runtime),
            "Open files": limited("files", "at most 1,024 a process"),
            "Size of a file": limited("file", "at most 1 GiB"),
            "Processes after a stop": self.left_after(runtime, "stop"),
            "Processes after kill -9 of Alisio": self.left_after(runtime, "kill"),
        }

    def written(self):
        """The table that stands in the page: { column: { row: cell } }, and the text around it."""
        with open(PAGE, encoding="utf-8") as file:
            before, rest = file.read().split(BEGIN)
        table, after = rest.split(END)
        lines = [[cell.strip(" `") for cell in line.strip("|\n").split("|")] for line in table.splitlines() if line]
        columns = {}
        for i, name in enumerate(lines[0][1:] if lines else ()):
            columns[name] = {line[0]: line[1 + i] for line in lines[2:]}
        return before, columns, after

    def test_the_table(self):
        done = self.json("analysis", "status", "--python", sys.executable)
        there = {one["name"]: one for one in done["runtimes"]}
        before, old, after = self.written()
        new = {}
        for name in COLUMNS:
            one = there.get(name, {"available": False})
            # The page shows what a system can do that has all of it.
            if one["available"] and not (name == "sandbox" and not one["holds"]["namespaces"]) and not SANITIZED:
                new[name] = self.column(name)
            else:
                print(f"{name} cannot be measured here")
                new[name] = old.get(name, {})
        rows = list(new["managed"])
        lines = ["| | " + " | ".join(f"`{name}`" for name in COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
        lines += [f"| {row} | " + " | ".join(new[name].get(row, UNKNOWN) for name in COLUMNS) + " |" for row in rows]
        table = "\n".join(lines) + "\n"
        print(table)
        page = before + BEGIN + table + END + after
        with open(PAGE, encoding="utf-8") as file:
            same = file.read() == page
        if not same:
            with open(PAGE, "w", encoding="utf-8") as file:
                file.write(page)
        self.assertTrue(same, "docs/python.md was out of date and is written anew")


if not sys.platform.startswith("linux"):
    print("SKIP test_guarantees: what is in the page was measured on Linux\n0 passed, 0 failed, 1 skipped")
    sys.exit(0)
main()
