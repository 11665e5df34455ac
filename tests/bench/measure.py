"""What all measurements share: a folder of their own, whole processes timed in turn, their memory."""
import os
import shutil
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("B") or "build")
ALISIO = os.path.join(BUILD, "alisio")
PEAK = os.path.join(BUILD, "peak")


class Failed(Exception):
    """A command that has to succeed did not."""


class Place:
    """A folder that goes away; `.env` is an environment with a state of its own. On the disk of the
    build, for a file system in memory would make syncing free."""

    def __init__(self):
        os.makedirs(BUILD, exist_ok=True)
        self.top = tempfile.mkdtemp(prefix="bench-", dir=BUILD)
        self.env = dict(os.environ, ALISIO_STATE_HOME=self.top + "/state", ALISIO_CONFIG_HOME=self.top + "/config", LC_ALL="C.UTF-8")
        self.nothing = os.open("/dev/null", os.O_RDWR)
        self.out = os.open(self.top + "/out", os.O_RDWR | os.O_CREAT, 0o600)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.top, ignore_errors=True)

    def spawn(self, argv, fds=(), stdin=None):
        """Starts argv; fds become 3, 4, ... there (posix_spawn: a fork of Python would be measured, too)."""
        actions = [(os.POSIX_SPAWN_DUP2, self.nothing if stdin is None else stdin, 0),
                   (os.POSIX_SPAWN_DUP2, self.out, 1), (os.POSIX_SPAWN_DUP2, self.out, 2)]
        actions += [(os.POSIX_SPAWN_DUP2, fd, 3 + i) for i, fd in enumerate(fds)]
        return os.posix_spawn(argv[0], argv, self.env, file_actions=actions)

    def said(self):
        with open(self.top + "/out", encoding="utf-8", errors="replace") as f:
            return f.read()

    def whole(self, argv):
        """Milliseconds of a whole process that has to succeed, and of processor time in it."""
        os.ftruncate(self.out, 0)
        os.lseek(self.out, 0, os.SEEK_SET)
        begin = time.perf_counter()
        pid = self.spawn(argv)
        _, status, usage = os.wait4(pid, 0)
        ms = (time.perf_counter() - begin) * 1000
        if status:
            raise Failed(f"{' '.join(argv)} ended with status {status}\n{self.said()[-2000:]}")
        return ms, cpu(usage)

    def memory(self, argv):
        """MiB: the sum of the peaks of all processes of a command."""
        done = subprocess.run([PEAK, *argv], env=self.env, stdin=self.nothing, stdout=subprocess.PIPE, text=True, check=True)
        return int(done.stdout.splitlines()[-1].split()[0]) / 1024


def cpu(usage):
    return (usage.ru_utime + usage.ru_stime) * 1000


def in_turn(runs, each):
    """Calls the functions in turn, each as often as `runs` says, so that a busy moment hits all alike: the
    answers of each."""
    answers = [[] for _ in each]
    for i in range(max(runs)):
        for k, fn in enumerate(each):
            if i < runs[k]:
                answers[k].append(fn())
    return answers
