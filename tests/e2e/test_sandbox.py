#!/usr/bin/env python3
"""The sandbox: what a script tries to reach from it (probes.py) is refused, with each set of layers
that a system can have, and what a script needs works."""
import ctypes
import glob
import json
import os
import platform
import socket
import stat
import subprocess
import sys

from alisio_test import ALISIO, BUILD, ROOT, Case, main

sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
import probes  # noqa: E402

SANITIZED = "san" in BUILD.split(os.sep)
KINDS = {"files", "proc", "links", "unix", "abstract", "vsock", "udp", "netlink", "io_uring", "ptrace", "keyctl", "userns",
         "mount", "signals", "terminal", "descriptors"}
LEAST = 80
SECRET = b"SECRET of the user\n"

VICTIM = """
import os, signal
signal.signal(signal.SIGWINCH, lambda *_: os.write(1, b"W"))
os.write(1, b"R")
while True:
    signal.pause()
"""

# Runs a command where new namespaces are refused, as many systems do.
NO_NAMESPACES = ["unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c",
                 'echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --inh-caps=-all --bounding-set=-all --ambient-caps=-all "$@"', "sh"]

# Runs a command whose kernel answers ENOSYS to a system call: without Landlock (444) or seccomp (317).
WITHOUT_CALL = """
import ctypes, os, struct, sys
number = int(sys.argv[1])
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | 38), (0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
prog = struct.pack("HxxxxxxP", len(rules), ctypes.addressof(code))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, prog, 0, 0) == 0
os.execv(sys.argv[2], sys.argv[2:])
"""


def layers():
    done = subprocess.run([os.path.join(BUILD, "libexec/alisio/jail"), "--probe"], capture_output=True, text=True)
    return json.loads(done.stdout)


FOUND = layers() if sys.platform.startswith("linux") else {"landlock": 0, "seccomp": False}


class SandboxCase(Case):
    def setUp(self):
        super().setUp()
        self.state = self.env["ALISIO_STATE_HOME"]
        self.driver = os.path.join(self.dir, "driver.lua")
        with open(self.driver, "w", encoding="utf-8") as file:
            file.write("""
                local alisio = require "alisio"
                local result, message, id = alisio.python(require("std.json").decode((require("std.fs").read((...)))))
                io.write(require("std.json").encode(result or { error = id, message = message }), "\\n")
            """)

    def run_python(self, code, runtime="sandbox", python=sys.executable, wrap=(), said="", **more):
        call = os.path.join(self.dir, "call.json")
        with open(call, "w", encoding="utf-8") as file:
            json.dump({"code": code, **more}, file)
        done = subprocess.run([*wrap, ALISIO, "script", "--allow-analysis", "--python", python, self.driver, call], cwd=self.dir,
                              env=dict(self.env, ALISIO_ANALYSIS_RUNTIME=runtime), stdin=subprocess.DEVNULL, capture_output=True,
                              encoding="utf-8", timeout=120, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, said), done.stdout)
        return json.loads(done.stdout)

    def printed(self, result):
        (log,) = glob.glob(os.path.join(self.state, "analysis/jobs/*/*", result["executionId"], "logs/stdout.log"))
        with open(log, encoding="utf-8") as file:
            return file.read()

    def record(self, result):
        (job,) = glob.glob(os.path.join(self.state, "analysis/jobs/*/*", result["executionId"], "job.json"))
        with open(job, encoding="utf-8") as file:
            return json.load(file)


class Outside(SandboxCase):
    """Things to reach, and a process to disturb."""

    def setUp(self):
        super().setUp()
        folder = os.path.join(self.top, "outside")
        os.mkdir(folder)
        for name in ("secret", "removable", "movable", "takable", "long"):
            with open(os.path.join(folder, name), "wb") as file:
                file.write(SECRET)
        secret = os.path.join(folder, "secret")
        try:
            os.setxattr(secret, "user.secret", b"SECRET")
        except OSError:
            pass
        tool = os.path.join(folder, "tool")
        with open(tool, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\necho SECRET\n")
        os.chmod(tool, 0o755)
        os.chmod(secret, 0o600)
        link = os.path.join(folder, "link")
        os.symlink(secret, link)
        fifo = os.path.join(folder, "fifo")
        os.mkfifo(fifo)
        other = os.path.join(self.state, "analysis/jobs/w/s/exec_other")
        os.makedirs(os.path.join(other, "script"))
        with open(os.path.join(other, "script/main.py"), "wb") as file:
            file.write(SECRET)
        shared = f"/dev/shm/alisio-probe-{os.getpid()}"
        with open(shared, "wb") as file:
            file.write(SECRET)
        self.addCleanup(os.unlink, shared)
        self.victim = self.start_victim()
        self.folder = folder
        self.facts = {"secret": secret, "folder": folder, "tool": tool, "link": link, "fifo": fifo, "other": other, "shared": shared,
                      "state": self.state, "victim": self.victim.pid, "prefix": sys.prefix, **self.listeners(folder), **self.segment()}
        self.before = self.seen_outside()

    def start_victim(self, wrap=()):
        victim = subprocess.Popen([*wrap, "/usr/bin/python3", "-c", VICTIM], env={"CANARY": "SECRET"}, stdout=subprocess.PIPE,
                                  start_new_session=True)
        self.addCleanup(victim.wait)
        self.addCleanup(victim.stdout.close)
        self.addCleanup(victim.kill)
        self.assertEqual(victim.stdout.read(1), b"R")
        os.set_blocking(victim.stdout.fileno(), False)
        return victim

    def listeners(self, folder):
        def serve(kind, family, address):
            s = socket.socket(family, kind)
            self.addCleanup(s.close)
            s.bind(address)
            if kind == socket.SOCK_STREAM:
                s.listen(50)
            else:
                s.setblocking(False)
            return s
        path, datagram, abstract = os.path.join(folder, "socket"), os.path.join(folder, "datagram"), f"alisio-{os.getpid()}-{id(self)}"
        serve(socket.SOCK_STREAM, socket.AF_UNIX, path)
        self.silent = [serve(socket.SOCK_DGRAM, socket.AF_UNIX, datagram), serve(socket.SOCK_DGRAM, socket.AF_INET, ("127.0.0.1", 0))]
        serve(socket.SOCK_STREAM, socket.AF_UNIX, "\0" + abstract)
        tcp = serve(socket.SOCK_STREAM, socket.AF_INET, ("127.0.0.1", 0))
        return {"socket": path, "datagram": datagram, "abstract": abstract, "tcp": tcp.getsockname()[1],
                "udp": self.silent[1].getsockname()[1]}

    def segment(self):
        libc = ctypes.CDLL(None)
        key = 0x416c6900 + os.getpid() % 256
        segment = libc.shmget(key, 4096, 0o1600)
        libc.shmat.restype = ctypes.c_void_p
        ctypes.memmove(libc.shmat(segment, None, 0), b"SECRET", 6)
        self.addCleanup(libc.shmctl, segment, 0, None)
        return {"shm_key": key}

    def seen_outside(self):
        """All that must not change."""
        found = {}
        for name in sorted(os.listdir(self.folder)):
            st = os.lstat(os.path.join(self.folder, name))
            found[name] = (st.st_mode, st.st_uid, st.st_size, st.st_mtime_ns, st.st_nlink)
        found["ended"] = self.victim.poll()
        found["niceness"] = os.getpriority(os.PRIO_PROCESS, self.victim.pid)
        with open(f"/proc/{self.victim.pid}/status", encoding="ascii") as file:
            found["victim"] = [line for line in file if line.startswith(("TracerPid", "Cpus_allowed:"))]
        return found

    def script(self):
        with open(probes.__file__, encoding="utf-8") as file:
            source = file.read()
        return source.replace('os.environ.get("PROBE_FACTS") or "{}"', repr(json.dumps(self.facts)))

    def probe(self, **options):
        result = self.run_python(self.script(), **options)
        self.assertNotIn("error", result, result)
        text = self.printed(result)
        self.assertTrue(text.startswith("[["), result["text"])
        return result, json.loads(text)

    def check(self, **options):
        result, tried = self.probe(**options)
        reached = [f"{kind}: {name}: {found}" for kind, name, found, _ in tried if found]
        self.assertEqual(reached, [])
        self.assertGreaterEqual(len(tried), LEAST)
        self.assertEqual(KINDS - {kind for kind, *_ in tried}, set())
        self.assertNotIn("SECRET", json.dumps(tried))
        self.assertEqual(self.seen_outside(), self.before)
        for listener in self.silent:
            self.assertRaises(BlockingIOError, listener.recv, 1)
        self.assertIsNone(self.victim.stdout.read(1))
        return self.record(result)["runtime"]

    def test_the_probes_reach_what_they_are_after_without_a_sandbox(self):
        _, tried = self.probe(runtime="managed")
        reached = {name for _, name, found, _ in tried if found}
        refused = {name: why for _, name, found, why in tried if not found}
        self.assertGreaterEqual(len(reached), 60, refused)
        self.assertEqual(self.victim.stdout.read(1), b"W")

    def test_every_probe_is_refused(self):
        holds = self.check()["holds"]
        self.assertEqual(holds["namespaces"], FOUND["namespaces"])
        if not FOUND["namespaces"]:
            self.skipTest("refused without namespaces; with them not tried: " + FOUND["noNamespaces"])

    def test_every_probe_is_refused_without_namespaces(self):
        ready = subprocess.run([*NO_NAMESPACES, "true"], capture_output=True, text=True)
        if FOUND["namespaces"] and ready.returncode != 0:
            self.skipTest("namespaces cannot be taken away here: " + ready.stderr.strip())
        if FOUND["landlock"] < 6:
            self.skipTest(f"Landlock {FOUND['landlock']} does not keep signals apart")
        holds = self.check(wrap=NO_NAMESPACES if FOUND["namespaces"] else ())["holds"]
        self.assertFalse(holds["namespaces"])

    def test_every_probe_of_an_ordinary_user_is_refused(self):
        """Root is where fewer rules hold; an ordinary user is where namespaces may be missing."""
        if os.getuid() != 0:
            self.skipTest("the other tests are those of an ordinary user")
        python = "/usr/bin/python3"
        as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        for folder, _, names in os.walk(self.top):
            for name in ["", *names]:
                os.chown(os.path.join(folder, name), 65534, 65534, follow_symlinks=False)
        os.chmod(self.top, 0o755)
        above = os.path.dirname(self.top)
        for folder in (above, os.path.dirname(above)):  # the test run's own folders for temporary files
            os.chmod(folder, stat.S_IMODE(os.stat(folder).st_mode) | 0o001)
        reach = subprocess.run([*as_nobody, ALISIO, "--version"], capture_output=True)
        if reach.returncode != 0 or not os.path.exists(python):
            self.skipTest("another user reaches neither the program nor a Python of the system")
        self.victim.kill()
        self.victim = self.start_victim(as_nobody)
        self.facts["victim"] = self.victim.pid
        self.before = self.seen_outside()
        self.env["HOME"] = self.top
        if "own folder is unknown" in self.run_python("print(1)", wrap=as_nobody, python=python).get("message", ""):
            self.skipTest("another user cannot see where the program lies")
        self.check(wrap=as_nobody, python=python)


class Missing(SandboxCase):
    """Without a layer the sandbox refuses and says which; `auto` says it, too."""

    def status(self, runtime, wrap=()):
        env = dict(self.env, ALISIO_ANALYSIS_RUNTIME=runtime)
        argv = [*wrap, ALISIO, "analysis", "status", "--python", sys.executable]
        said, facts = (subprocess.run([*argv, *more], env=env, capture_output=True, text=True, check=True).stdout
                       for more in ([], ["--json"]))
        return said, json.loads(facts)

    def test_status_says_what_holds(self):
        said, facts = self.status("managed")
        self.assertRegex(said, r"Runtime   managed\n +! .*your permissions")
        self.assertRegex(said, r"\n +sandbox can be chosen, too\n")
        self.assertEqual([facts[key] for key in ("runtime", "runs")], ["managed", "managed"])
        said, facts = self.status("auto")
        self.assertRegex(said, r"Runtime   sandbox, as auto chooses\n +✓ It reads nothing but its folder")
        self.assertEqual([facts[key] for key in ("runtime", "runs")], ["auto", "sandbox"])
        self.assertEqual([(one["name"], one["available"]) for one in facts["runtimes"]][:2], [("managed", True), ("sandbox", True)])

    def without(self, call, said):
        wrap = [sys.executable, "-c", WITHOUT_CALL, str(call)]
        result = self.run_python("print(1)", wrap=wrap)
        self.assertEqual(result["error"], "runtime_unavailable")
        self.assertIn(said, result["message"])
        self.assertEqual(glob.glob(os.path.join(self.state, "analysis/jobs/*/*/*")), [])
        result = self.run_python("print(1)", runtime="auto", wrap=wrap)
        self.assertEqual(self.record(result)["runtime"]["name"], "managed")
        words, facts = self.status("sandbox", wrap)
        self.assertRegex(words, f"Runtime   sandbox cannot be had, and no script runs: .*{said}")
        self.assertIsNone(facts["runs"])
        words, facts = self.status("auto", wrap)
        self.assertRegex(words, f"Runtime   managed, as auto chooses\n +! The sandbox is not to be had here: .*{said}")
        self.assertEqual(facts["runs"], "managed")

    def test_landlock(self):
        self.without(444, "Landlock")

    def test_seccomp(self):
        if platform.machine() != "x86_64":
            self.skipTest("the number of seccomp is that of x86_64")
        self.without(317, "seccomp")

    def test_nothing_but_the_user_chooses(self):
        project = os.path.join(self.dir, ".alisio")
        os.mkdir(project)
        with open(os.path.join(project, "config.json"), "w", encoding="utf-8") as file:
            json.dump({"analysis": {"runtime": "managed", "python": "/bin/false", "limits": {"timeoutMs": 5000}}}, file)
        self.alisio("trust", "--yes")
        ignored = "analysis.{} in the project's config.json is ignored: it is yours alone to set.\n"
        result = self.run_python("print(1)", said=ignored.format("python") + ignored.format("runtime"))
        record = self.record(result)
        self.assertEqual((record["runtime"]["name"], record["timeoutMs"]), ("sandbox", 5000))


class Useful(SandboxCase):
    """What scripts do all day works."""

    def works(self, code, **options):
        result = self.run_python(code, **options)
        self.assertNotIn("error", result, result)
        self.assertIn("exit status 0", result["text"])
        self.assertNotIn("[stderr]", result["text"])
        return result

    DAY = """
import asyncio, bz2, concurrent.futures, csv, ctypes, datetime, decimal, hashlib, json, locale, lzma, math, multiprocessing, os
import pathlib, queue, random, re, shutil, sqlite3, ssl, statistics, subprocess, sys, tempfile, threading, time, uuid, zipfile, zlib, zoneinfo
from alisio_runtime import datasets, html, input_dir, output_dir, svg, work_dir

def square(n):
    return n * n

if __name__ == "__main__":
    copy = pathlib.Path(shutil.copy2(input_dir() / "a.csv", output_dir() / "b.csv"))
    copy.chmod(0o600)
    os.utime(copy, (1, 1))
    copy.write_text(copy.read_text() + "3,4\\n")
    shutil.copytree(input_dir(), work_dir() / "tree")
    shutil.rmtree(work_dir() / "tree", ignore_errors=False) if os.getuid() else None
    with tempfile.NamedTemporaryFile("w+") as file:
        file.write("x")
    os.symlink("a", work_dir() / "l")
    os.rename(work_dir() / "l", work_dir() / "m")
    db = sqlite3.connect(work_dir() / "x.db")
    db.execute("CREATE TABLE t(a)")
    db.commit()
    out = subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert out.stdout == "42\\n", out
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(square, range(5))) == [0, 1, 4, 9, 16]
    if SHARED:
        with multiprocessing.Pool(2) as pool:
            assert pool.map(square, range(5)) == [0, 1, 4, 9, 16]
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            assert pool.map(square, [3]) == [9]
    async def wait():
        reader = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(1)", stdout=subprocess.PIPE)
        return await reader.communicate()
    assert asyncio.run(wait())[0] == b"1\\n"
    assert zoneinfo.ZoneInfo("Europe/Madrid") and time.localtime()
    assert os.cpu_count() >= 1 and len(os.urandom(4)) == 4 and uuid.uuid4()
    os.kill(os.getpid(), 0)
    os.nice(1)
    (output_dir() / "c.svg").write_text(svg.bar(["a"], [1], title="T"))
    html.write("index.html", "T", "<p>x</p>")
    print("done")
"""

    def day(self, shared, **options):
        with open(os.path.join(self.dir, "a.csv"), "w", encoding="utf-8") as file:
            file.write("a,b\n1,2\n")
        result = self.works(f"SHARED = {shared}\n{self.DAY}", inputs=["a.csv"], **options)
        self.assertEqual(self.printed(result), "done\n")
        self.assertEqual(len(result["artifacts"]), 3)

    def test_a_day(self):
        self.day(FOUND["namespaces"])

    def test_a_day_without_namespaces(self):
        if FOUND["landlock"] < 6:
            self.skipTest(f"Landlock {FOUND['landlock']} does not keep signals apart")
        self.day(False, wrap=NO_NAMESPACES if FOUND["namespaces"] else ())

    def test_every_python_here(self):
        for python in sorted({*glob.glob("/usr/bin/python3.1?"), *glob.glob(os.path.expanduser("~/.pyenv/versions/3.1*/bin/python3"))}):
            with self.subTest(python):
                self.works("import ssl, sqlite3, ctypes, zlib, lzma, decimal; print('up')", python=python)

    def test_a_private_environment(self):
        """A virtual environment in the state folder, as the extras are."""
        folder = os.path.join(self.state, "runtimes/python/x")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        (packages,) = glob.glob(os.path.join(folder, "lib/python3*/site-packages"))
        with open(os.path.join(packages, "extra.py"), "w", encoding="utf-8") as file:
            file.write("answer = 42\n")
        result = self.works("import extra; print(extra.answer)", python=os.path.join(folder, "bin/python"))
        self.assertEqual(self.printed(result), "42\n")

    def test_how_it_ended_is_told(self):
        for code, said, status in (("raise SystemExit(3)", "exit status 3", "failed"),
                                   ("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)", "ended by signal 15", "failed"),
                                   ("import os\nos.abort()", "ended by signal 6", "failed"),
                                   ("import ctypes\nctypes.string_at(0)", "ended by signal 11", "failed"),
                                   ("import time\ntime.sleep(60)", "time limit", "timed_out")):
            with self.subTest(code):
                result = self.run_python(code, timeoutMs=1500)
                self.assertIn(said, result["text"])
                self.assertEqual(self.record(result)["status"], status)

    def test_what_it_leaves_running_is_counted_and_ended(self):
        result = self.run_python("import subprocess, sys\n"
                                 "for _ in range(3): subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=True)")
        self.assertIn("3 processes it had left running were ended", result["text"])

    def test_limits_hold(self):
        self.env["ALISIO_ANALYSIS_LIMITS_PROCESSES"] = "8"
        result = self.run_python("import os, time\nfor _ in range(20):\n    if os.fork() == 0: time.sleep(60)\ntime.sleep(60)")
        self.assertIn("analysis.limits.processes", result["text"])
        self.env["ALISIO_ANALYSIS_LIMITS_PROCESSES"] = "16"
        result = self.run_python("import os\nfor _ in range(8):\n    if os.fork() == 0: os._exit(0)\nfor _ in range(8): os.wait()")
        self.assertIn("exit status 0", result["text"])

    def test_the_folder_of_a_user_is_never_handed_out_whole(self):
        """An interpreter whose prefix is the home folder: only what is Python's in it is readable."""
        home = os.path.join(self.top, "home")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
        with open(os.path.join(home, "secret"), "wb") as file:
            file.write(SECRET)
        self.env["HOME"] = home
        result = self.run_python(f"print(open({os.path.join(home, 'secret')!r}).read())", python=os.path.join(home, "bin/python"))
        self.assertNotIn("SECRET", result["text"])


if FOUND["landlock"] < 3 or not FOUND["seccomp"] or FOUND["landlock"] < 6 and not FOUND["namespaces"]:
    print(f"SKIP test_sandbox: a layer is missing here: {json.dumps(FOUND)}\n0 passed, 0 failed, 1 skipped")
    sys.exit(0)
main()
