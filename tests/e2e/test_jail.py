#!/usr/bin/env python3
"""Process trees that try to get away: none is alive a quarter of a second after the program's end, a
stop, its time limit or the death of the host. REPEAT=n tries each n times."""
import os
import resource
import sys
import time

from alisio_test import BUILD, ROOT, main

sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
from trees import SHAPES, TreeCase, carriers, left, until_none  # noqa: E402

REPEAT = int(os.environ.get("REPEAT") or 1)
SANITIZED = "san" in BUILD.split(os.sep)


class Jail(TreeCase):
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
        for number, reason in ("KILL", "lost"), ("STOP", "timeout"), ("TERM", "stopped"):
            with self.subTest(number):
                hold = f"os.kill(os.getppid(), signal.SIG{number})\ntime.sleep(300)"
                child, mark = self.start("1500", self.program("double fork into a new session", hold))
                result = self.finish(child)
                self.assertEqual(result["reason"], reason)
                self.assertFalse(result["left"])
                self.assertIsNotNone(until_none(mark))

    def test_a_supervisor_that_was_stopped_keeps_the_time(self):
        def attempt():
            hold = "os.kill(os.getppid(), signal.SIGSTOP)\ntime.sleep(300)"
            result = self.finish(self.start("1500", self.program("plain children", hold))[0])
            self.assertEqual(result["reason"], "timeout")
            return result["durationMs"] / 1000 - 1.5
        self.keeps_promise("time-out", attempt)

    def test_chains_that_killed_their_supervisor(self):
        hold = "os.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(300)"
        for shape in "fork chains", "fork chains in new sessions", "a reaper of its own":
            with self.subTest(shape):
                child, mark = self.start("wait", self.program(shape, hold))
                result = self.finish(child)
                self.assertEqual((result["reason"], result["left"]), ("lost", False))
                self.assertFalse(left(mark))

    # Stopped again whenever it is continued; what it would have ended is ended by the mark.
    STOPPER = """
def stopper(jail):
    os.setsid()
    for fd in (0, 1, 2):
        os.close(fd)
    while True:
        os.kill(jail, signal.SIGSTOP)
child(lambda jail=os.getppid(): stopper(jail))
time.sleep(300)
"""

    def test_a_program_that_keeps_its_supervisor_stopped(self):
        def stop():
            child, mark = self.start("stop", self.program("plain children", self.STOPPER))
            result = self.finish(child)
            self.assertFalse(result["left"])
            self.assertEqual(carriers(mark), [])
            return result["stopMs"] / 1000
        self.keeps_promise("stop", stop)

        def time_out():
            child, mark = self.start("1500", self.program("plain children", self.STOPPER))
            started = time.monotonic()
            self.assertFalse(self.finish(child)["left"])
            self.assertEqual(carriers(mark), [])
            return time.monotonic() - started - 1.5
        self.keeps_promise("time-out", time_out)

    def test_a_supervisor_that_was_stopped_hears_of_the_death_of_the_host(self):
        def attempt():
            hold = "os.kill(os.getppid(), signal.SIGSTOP)\nprint('stopped', flush=True)\ntime.sleep(300)"
            child, mark = self.start("wait", self.program("double fork into a new session", hold))
            self.assertEqual(child.stdout.readline() + child.stdout.readline(), b"ready\nstopped\n")
            child.kill()
            took = until_none(mark)
            child.wait()
            return took
        self.keeps_promise("kill -9", attempt)

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
