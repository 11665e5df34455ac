#!/usr/bin/env python3
"""Process trees that try to get away: none is alive a quarter of a second after the program's end, a
stop, its time limit or the death of the host. REPEAT=n tries each n times."""
import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
import uuid

from alisio_test import ALISIO, BUILD, Case, main

REPEAT = int(os.environ.get("REPEAT") or 1)
PROMISE = 0.25  # seconds
TRIES = 4  # a loaded machine gets more than one
DRIVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "jail_driver.lua")
SANITIZED = "san" in BUILD.split(os.sep)

# Each builds its tree and comes back when it stands; `hold` waits for ever, or ends the program.
SHAPES = {
    "plain children": """
        for i in range(20):
            subprocess.Popen(["sleep", "300"])
    """,
    "double fork into a new session": """
        def daemon():
            os.setsid()
            if os.fork():
                os._exit(0)
            for fd in (0, 1, 2):
                os.close(fd)
            time.sleep(300)
        for i in range(5):
            child(daemon)
    """,
    "signals ignored": """
        def stubborn():
            os.setsid()
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
                signal.signal(number, signal.SIG_IGN)
            time.sleep(300)
        for i in range(5):
            child(stubborn)
    """,
    "stopped": """
        def stopped():
            os.setsid()
            os.kill(os.getpid(), signal.SIGSTOP)
        pids = [child(stopped) for i in range(5)]
        for pid in pids:
            os.waitpid(pid, os.WUNTRACED)
    """,
    "own process groups": """
        def apart():
            os.setpgid(0, 0)
            time.sleep(300)
        for i in range(10):
            child(apart)
    """,
    "a reaper of its own": """
        def reaper():
            import ctypes
            os.setsid()
            ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
            for i in range(3):
                if os.fork() == 0:
                    os.setsid()
                    if os.fork():
                        os._exit(0)
                    time.sleep(300)
            time.sleep(300)
        for i in range(3):
            child(reaper)
    """,
    "deep": """
        def down(levels=30):
            if levels and os.fork() == 0:
                down(levels - 1)
            time.sleep(300)
        child(down)
        time.sleep(0.2)
    """,
    "fork chains": """
        def chain():
            for fd in (0, 1, 2):
                os.close(fd)
            while True:
                if os.fork():
                    os._exit(0)
        for i in range(4):
            child(chain)
    """,
    "fork chains in new sessions": """
        def chain():
            for fd in (0, 1, 2):
                os.close(fd)
            while True:
                if os.fork():
                    os._exit(0)
                os.setsid()
        for i in range(4):
            child(chain)
    """,
    "busy threads": """
        import threading
        for i in range(4):
            threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True).start()
        subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
    """,
}

PROGRAM = """
import os, signal, subprocess, sys, time

def child(function):
    pid = os.fork()
    if pid == 0:
        try:
            function()
        finally:
            os._exit(0)
    return pid

{shape}
print("ready", flush=True)
{hold}
"""


def carriers(mark):
    """The processes that have the mark in their environment, zombies aside."""
    found, wanted = [], f"E2E_MARK={mark}".encode()
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/environ", "rb") as environ:
                    if wanted in environ.read().split(b"\0"):
                        found.append(int(name))
            except OSError:
                pass
    return found


def until_none(mark, patience=10.0):
    """Seconds until no process has the mark."""
    start = time.monotonic()
    while carriers(mark):
        if time.monotonic() - start > patience:
            return None
        time.sleep(0.002)
    return time.monotonic() - start


class Jail(Case):
    def program(self, shape, hold):
        path = os.path.join(self.dir, "program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(PROGRAM.format(shape=textwrap.dedent(SHAPES.get(shape, shape)), hold=hold))
        return path

    def start(self, how, path, **limits):
        mark = uuid.uuid4().hex
        env = dict(self.env, JAIL_LIMITS=json.dumps(limits))
        child = subprocess.Popen([ALISIO, "script", DRIVER, how, mark, sys.executable, "-S", path], env=env,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.stderr.close)
        self.addCleanup(self.mop_up, mark)
        return child, mark

    def mop_up(self, mark):
        for pid in carriers(mark):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass

    def finish(self, child):
        out, err = child.communicate(timeout=60)
        self.assertEqual(err, b"")
        return json.loads(out.splitlines()[-1])

    def keeps_promise(self, name, attempt):
        """attempt() answers the seconds it took, or None when something was left."""
        took = []
        for _ in range(TRIES):
            seconds = attempt()
            self.assertIsNotNone(seconds, f"{name}: still there")
            took.append(seconds)
            if seconds <= PROMISE:
                return
        self.fail(f"{name}: {took}")

    def each_shape(self, attempt):
        for name in SHAPES:
            for _ in range(REPEAT):
                with self.subTest(name):
                    self.keeps_promise(name, lambda: attempt(name))

    def test_after_the_death_of_the_host(self):
        def attempt(name):
            child, mark = self.start("wait", self.program(name, "time.sleep(300)"))
            self.assertEqual(child.stdout.readline(), b"ready\n")
            self.assertTrue(carriers(mark))
            child.kill()
            took = until_none(mark)
            child.wait()
            return took
        self.each_shape(attempt)

    def test_after_a_stop(self):
        def attempt(name):
            child, mark = self.start("stop", self.program(name, "time.sleep(300)"))
            result = self.finish(child)
            self.assertEqual((result["reason"], result["left"]), ("stopped", False))
            self.assertEqual(carriers(mark), [])
            return result["stopMs"] / 1000
        self.each_shape(attempt)

    def test_after_the_time_limit(self):
        def attempt(name):
            child, mark = self.start("1500", self.program(name, "time.sleep(300)"))
            result = self.finish(child)
            self.assertEqual((result["reason"], result["left"]), ("timeout", False))
            self.assertEqual(carriers(mark), [])
            return result["durationMs"] / 1000 - 1.5
        self.each_shape(attempt)

    def test_after_the_end_of_the_program(self):
        for name in SHAPES:
            with self.subTest(name):
                child, mark = self.start("wait", self.program(name, "os._exit(7)"))
                result = self.finish(child)
                self.assertEqual((result["reason"], result["code"], result["left"]), ("exited", 7, False))
                self.assertEqual(carriers(mark), [])

    def test_a_program_that_kills_or_stops_its_supervisor(self):
        for number in ("KILL", "STOP", "TERM"):
            with self.subTest(number):
                hold = f"os.kill(os.getppid(), signal.SIG{number})\ntime.sleep(300)"
                child, mark = self.start("3000", self.program("double fork into a new session", hold))
                result = self.finish(child)
                self.assertEqual(result["reason"], "stopped" if number == "TERM" else "lost")
                self.assertFalse(result["left"])
                self.assertIsNotNone(until_none(mark))

    def test_a_bomb_of_processes_meets_the_limit(self):
        bomb = """
            os.close(0)
            print("ready", flush=True)
            while True:
                try:
                    os.fork()
                except OSError:
                    pass
        """
        child, mark = self.start("20000", self.program(bomb, ""), processes=64)
        result = self.finish(child)
        self.assertEqual((result["reason"], result.get("limit")), ("limit", "processes"))
        self.assertIsNotNone(until_none(mark))

    def test_limits_hold(self):
        hold = """
import resource
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], resource.getrlimit(resource.RLIMIT_FSIZE)[0],
      resource.getrlimit(resource.RLIMIT_CPU)[0], resource.getrlimit(resource.RLIMIT_CORE)[1])
try:
    with open("big", "wb") as file:
        file.write(b"x" * 3000000)
        file.flush()
except OSError as error:
    print("file", error.errno)
try:
    files = [open("/dev/null") for _ in range(200)]
except OSError as error:
    print("files", error.errno)
try:
    block = bytearray(1 << 30)
    print("memory given")
except MemoryError:
    print("memory")
"""
        child, _ = self.start("wait", self.program("os.chdir(os.path.dirname(__file__))", hold), openFiles=100,
                              fileBytes=2000000, cpuMs=5000, memoryBytes=512 << 20)
        out = child.communicate(timeout=60)[0].decode().splitlines()
        self.assertEqual(out[1:4], ["100 2000000 5 0", "file 27", "files 24"])
        self.assertEqual(out[4], "memory given" if SANITIZED else "memory")

    def test_processor_time_has_a_limit(self):
        child, _ = self.start("60000", self.program("", "while True: pass"), cpuMs=1000)
        result = self.finish(child)
        self.assertEqual((result["reason"], result.get("limit")), ("limit", "cpuMs"))

    def test_a_gigabyte_of_output_needs_no_memory(self):
        hold = "block = b'x' * (1 << 20)\nfor _ in range(1024): os.write(1, block)"
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        script = os.path.join(self.dir, "big.lua")
        with open(script, "w", encoding="utf-8") as file:
            file.write("""
                local process = require "std.process"
                local r = assert(process.run { argv = { table.unpack { ... } }, jail = {} })
                assert(#r.stdout == 1024 * 1024 and r.stdout:sub(1, 6) == "ready\\n", #r.stdout)
                assert(r.truncated.stdout == 1023 * 1024 * 1024 + 6, r.truncated.stdout)
            """)
        self.alisio("script", script, sys.executable, "-S", self.program("", hold), timeout=120)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        if not SANITIZED:
            self.assertLess(max(before, peak), 100 * 1024)


if not sys.platform.startswith("linux"):
    print("SKIP test_jail: trees are followed on Linux only\n0 passed, 0 failed, 1 skipped")
    sys.exit(0)
main()
