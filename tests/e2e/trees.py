"""Process trees that try to get away, and whether anything of them is left."""
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import uuid

from alisio_test import ALISIO, Case

PROMISE = 0.25  # seconds
TRIES = 8  # a loaded machine gets more than one
DRIVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "jail_driver.lua")

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


def has(pid, mark):
    try:
        with open(f"/proc/{pid}/environ", "rb") as environ:
            return f"E2E_MARK={mark}".encode() in environ.read().split(b"\0")
    except OSError:
        return False


def carriers(mark):
    """The processes that have the mark in their environment, zombies aside."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and has(name, mark)]


def left(mark):
    """Whether any is left; a chain of forks may be ahead of one look."""
    return any(carriers(mark) for _ in range(3))


def until_none(mark, patience=10.0):
    """Seconds until no process has the mark."""
    start = time.monotonic()
    while True:
        seen = time.monotonic() - start
        if not carriers(mark) and not left(mark):
            return seen
        if seen > patience:
            return None
        time.sleep(0.002)


class TreeCase(Case):
    def program(self, shape, hold):
        """A file that runs one of SHAPES, or this one, and then `hold`."""
        path = os.path.join(self.dir, "program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(PROGRAM.format(shape=textwrap.dedent(SHAPES.get(shape, shape)), hold=hold))
        return path

    def start(self, how, path, sandbox=None, **limits):
        """The driver with the program, as a process, and the mark of the tree."""
        mark = uuid.uuid4().hex
        env = dict(self.env, JAIL_LIMITS=json.dumps(limits))
        if sandbox:
            env["JAIL_SANDBOX"] = json.dumps(sandbox)
        child = subprocess.Popen([ALISIO, "script", DRIVER, how, mark, sys.executable, "-S", path], env=env, cwd=self.dir,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.stderr.close)
        self.addCleanup(self.mop_up, mark)
        return child, mark

    def mop_up(self, mark):
        """What a failure has left: a chain of forks would take the machine from all tests after it."""
        end = time.monotonic() + 10
        while left(mark) and time.monotonic() < end:
            for pid in carriers(mark):
                for number in range(pid, pid + 32):
                    if has(number, mark):
                        try:
                            os.kill(number, signal.SIGKILL)
                        except OSError:
                            pass

    def finish(self, child):
        out, err = child.communicate(timeout=60)
        self.assertEqual(err.decode(), "")
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
