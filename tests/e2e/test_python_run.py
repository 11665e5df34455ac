#!/usr/bin/env python3
"""python_run through the program: what a script is given and not given, and what is left when the
program dies."""
import glob
import json
import os
import resource
import shutil
import subprocess
import sys
import time

from alisio_test import ALISIO, BUILD, SAMPLE, Case, main

SANITIZED = "san" in BUILD.split(os.sep)
CANARY = "canary-7f3a91"


class PythonRun(Case):
    def setUp(self):
        super().setUp()
        self.state = self.env["ALISIO_STATE_HOME"]
        self.driver = os.path.join(self.dir, "driver.lua")
        with open(self.driver, "w", encoding="utf-8") as file:
            file.write("""
                local alisio = require "alisio"
                local result, message, id = alisio.python(require("std.json").decode((...)))
                io.write(require("std.json").encode(result or { error = id, message = message }), "\\n")
            """)

    def argv(self, code, *options, **more):
        call = json.dumps({"code": code, **more})
        return [ALISIO, "script", "--allow-analysis", "--python", sys.executable, *options, self.driver, call]

    def run_python(self, code, *options, env=None, **more):
        done = subprocess.run(self.argv(code, *options, **more), cwd=self.dir, env=dict(self.env, **(env or {})),
                              stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=120,
                              check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def jobs(self):
        return glob.glob(os.path.join(self.state, "analysis", "jobs", "*", "*", "exec_*"))

    def record(self):
        (job,) = self.jobs()
        with open(os.path.join(job, "job.json"), encoding="utf-8") as file:
            return json.load(file)

    def test_no_key_reaches_a_script_or_what_it_leaves(self):
        keys = {name: CANARY for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN",
                                          "ALISIO_SECRET", "LD_CANARY", "PYTHONPATH", "PYTHONSTARTUP", "http_proxy")}
        code = ("import os\n"
                "from alisio_runtime import output_dir\n"
                "seen = [open(f'/proc/{pid}/environ').read() for pid in ('self', os.getppid())]\n"
                "(output_dir() / 'seen.txt').write_text(repr(dict(os.environ)) + repr(seen))\n"
                "print(dict(os.environ), seen)")
        result = self.run_python(code, env=keys)
        self.assertIn("exit status 0", result["text"])
        self.assertEqual(len(result["artifacts"]), 1)
        self.assertNotIn(CANARY, json.dumps(result))
        for folder, _, names in os.walk(self.top):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    self.assertNotIn(CANARY.encode(), file.read(), os.path.join(folder, name))

    def test_a_gigabyte_of_output_leaves_its_two_ends(self):
        code = ("import os\nprint('first', flush=True)\nblock = b'x' * (1 << 20)\n"
                "for _ in range(1024): os.write(1, block)\nprint('last')")
        result = self.run_python(code)
        self.assertIn("bytes left out", result["text"])
        (log,) = glob.glob(os.path.join(self.state, "analysis/jobs/*/*/*/logs/stdout.log"))
        with open(log, encoding="utf-8") as file:
            text = file.read()
        self.assertTrue(text.startswith("first\n") and text.endswith("last\n"))
        self.assertLess(len(text), 2 * 1024 * 1024 + 100)
        if not SANITIZED:
            self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 150 * 1024)

    def test_binary_output_is_kept_as_it_is(self):
        result = self.run_python("import sys\nsys.stdout.buffer.write(bytes(range(256)))")
        self.assertIn("256 bytes that are not text", result["text"])
        (log,) = glob.glob(os.path.join(self.state, "analysis/jobs/*/*/*/logs/stdout.log"))
        with open(log, "rb") as file:
            self.assertEqual(file.read(), bytes(range(256)))

    def test_a_script_that_removes_everything_it_can_reach(self):
        result = self.run_python("import os, shutil\nshutil.rmtree(os.path.dirname(os.environ['ALISIO_WORK_DIR']))\n"
                                 "print('still here')")
        self.assertTrue(result["isError"])
        self.assertIn("still here", result["text"])
        self.assertEqual(self.record()["status"], "succeeded")

    def test_kill_9_of_the_program_ends_the_script_and_nothing_runs_again(self):
        ready = os.path.join(self.dir, "ready")
        code = (f"import os, time, subprocess\n"
                f"print('printed')\n"
                f"subprocess.Popen(['sleep', '300'], start_new_session=True)\n"
                f"open({ready!r}, 'a').write('x')\ntime.sleep(300)")
        child = subprocess.Popen(self.argv(code), cwd=self.dir, env=self.env, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while not os.path.exists(ready):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        job = self.record()
        self.assertEqual(job["status"], "running")
        (log,) = glob.glob(os.path.join(self.state, "analysis/jobs/*/*/*/logs/stdout.log"))
        while os.path.getsize(log) == 0:  # what is printed is kept as it comes
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        child.kill()
        start = time.monotonic()
        child.wait()
        while self.carriers(job["id"]):
            self.assertLess(time.monotonic() - start, 5)
            time.sleep(0.005)
        self.assertEqual(self.record()["status"], "running")
        self.alisio("sessions", "list")
        self.run_python("print(1)")
        with open(ready, encoding="utf-8") as file:
            self.assertEqual(file.read(), "x")
        with open(log, encoding="utf-8") as file:
            self.assertEqual(file.read(), "printed\n")

    def test_a_script_that_is_silent_for_long(self):
        result = self.run_python("import time\ntime.sleep(3)\nprint('at last')")
        self.assertIn("exit status 0.\n[stdout]\nat last", result["text"])

    def test_a_script_that_changes_its_logs(self):
        result = self.run_python("import os\nlogs = os.path.join(os.environ['ALISIO_WORK_DIR'], '../logs')\n"
                                 "print('printed', flush=True)\n"
                                 "os.rename(logs + '/stdout.log', logs + '/other')\nos.symlink('/etc/passwd', logs + '/stdout.log')\n"
                                 "open(logs + '/stderr.log', 'w').write('forged')")
        self.assertIn("printed", result["text"])
        (folder,) = glob.glob(os.path.join(self.state, "analysis/jobs/*/*/*/logs"))
        for name, text in ("stdout.log", "printed\n"), ("stderr.log", ""):
            self.assertFalse(os.path.islink(os.path.join(folder, name)))
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                self.assertEqual(file.read(), text)

    def carriers(self, execution):
        wanted, found = f"ALISIO_EXECUTION_ID={execution}".encode(), []
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open(f"/proc/{name}/environ", "rb") as environ:
                        if wanted in environ.read().split(b"\0"):
                            found.append(name)
                except OSError:
                    pass
        return found

    def test_a_script_that_fills_the_disk(self):
        os.mkdir(self.state, 0o700)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m,mode=0700", "tmpfs", self.state],
                                 capture_output=True, check=False)
        if mounted.returncode != 0:
            self.skipTest("no right to mount a file system")
        self.addCleanup(subprocess.run, ["umount", self.state], check=True)
        result = self.run_python("""
from alisio_runtime import output_dir
(output_dir() / "a.txt").write_text("x" * 600000)
with open("fill", "wb", buffering=0) as file:
    try:
        while True:
            file.write(b"x" * 65536)
    except OSError as error:
        print(error.errno)
""")
        self.assertTrue(result["isError"])
        self.assertEqual(result["artifacts"], [])
        self.assertIn("Nothing was published: The disk is full: a.txt", result["text"])
        self.assertNotIn(self.state, result["text"])

    def test_nobody_is_asked_without_a_terminal(self):
        done = subprocess.run([ALISIO, "script", self.driver, json.dumps({"code": "print(1)"})], cwd=self.dir,
                              env=self.env, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
                              timeout=60, check=False)
        self.assertEqual(json.loads(done.stdout)["error"], "permission_denied")
        self.assertEqual(self.jobs(), [])

    def test_without_python_the_report_is_made_and_the_way_to_install_it_said(self):
        shutil.copy(SAMPLE, os.path.join(self.dir, "sales.csv"))
        done = self.alisio("run", "--allow-analysis", "Summarize sales.csv into report.md and a bar chart",
                           PATH="/nowhere", HOME=self.top, PYENV_ROOT="/nowhere")
        if any(os.path.exists(f"{brew}/bin/python3") for brew in ("/opt/homebrew", "/usr/local", "/home/linuxbrew/.linuxbrew")):
            self.skipTest("Homebrew has a Python here")
        self.assertIn("report.md", done.stdout)
        self.assertIn("Python 3.10 or newer was not found", done.stdout + done.stderr)
        self.assertTrue(any(way in done.stdout + done.stderr for way in ("apt-get install", "dnf install", "pacman -S",
                        "zypper install", "apk add", "brew install", "python.org")))


main()
