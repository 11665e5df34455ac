#!/usr/bin/env python3
"""What the program promises about time: tests/bench/bench.py [--check] [NAME...]

Every figure is the median of many runs, measured in turn so that a busy moment hits all alike. With
--check the exit status says whether all targets were met.
"""
import os
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("B") or "build")
ALISIO = os.path.join(BUILD, "alisio")
ENGINE = os.path.join(BUILD, "libexec/alisio/engine")
JAIL = os.path.join(BUILD, "libexec/alisio/jail")
PEAK = os.path.join(BUILD, "peak")

top = tempfile.mkdtemp(prefix="alisio-bench-")
env = dict(os.environ, ALISIO_STATE_HOME=top + "/state", ALISIO_CONFIG_HOME=top + "/config", LC_ALL="C.UTF-8")
nothing = os.open("/dev/null", os.O_RDWR)
out = os.open(top + "/out", os.O_RDWR | os.O_CREAT, 0o600)


def spawn(argv, fds=()):
    """Starts argv; fds become 3, 4, ... there (posix_spawn: a fork of Python would be measured, too)."""
    actions = [(os.POSIX_SPAWN_DUP2, nothing, 0), (os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, out, 2)]
    actions += [(os.POSIX_SPAWN_DUP2, fd, 3 + i) for i, fd in enumerate(fds)]
    return os.posix_spawn(argv[0], argv, env, file_actions=actions)


def cpu(usage):
    return (usage.ru_utime + usage.ru_stime) * 1000


def whole(*argv):
    """Milliseconds of a whole process that has to succeed, and of processor time in it."""
    def run():
        begin = time.perf_counter()
        pid = spawn(argv)
        _, status, usage = os.wait4(pid, 0)
        ms = (time.perf_counter() - begin) * 1000
        if status:
            with open(top + "/out", encoding="utf-8", errors="replace") as f:
                sys.exit(f"{argv} ended with status {status}\n{f.read()[-2000:]}")
        return ms, cpu(usage)
    return run


def answered(argv, fds, request):
    """Milliseconds from the start of a helper to the first byte it answers on descriptor 3, and of its
    processor time."""
    def run():
        ours, theirs = socket.socketpair()
        # High numbers first, so that the copies to 3 and 4 do not tread on each other.
        high = os.dup2(theirs.fileno(), 100)
        begin = time.perf_counter()
        pid = spawn(argv, [high, *fds])
        theirs.close()
        os.close(high)
        ours.sendall(struct.pack("<IB", len(request), 1) + request)
        answer = ours.recv(65536)
        ms = (time.perf_counter() - begin) * 1000
        ours.close()
        _, _, usage = os.wait4(pid, 0)
        if not answer:
            sys.exit(f"{argv} said nothing")
        return ms, cpu(usage)
    return run


def memory(argv):
    done = subprocess.run([PEAK, *argv], env=env, stdin=nothing, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return int(done.stdout) / 1024


def folder():
    return os.dup2(os.open(top, os.O_PATH | os.O_DIRECTORY), 101)


VERSION = [ALISIO, "--version"]
HELLO = [ALISIO, "run", "--model", "offline", "--quiet", "hello"]

# name, how, runs, most milliseconds, most MiB of which command
BENCHES = [
    ("version", whole(*VERSION), 60, 15, 15, VERSION),
    ("hello", whole(*HELLO), 20, 60, None, HELLO),
    ("engine", answered([ENGINE], [folder()], b'{"v":1,"op":"none"}'), 60, 6, None, None),
    ("jail", answered([JAIL, "/bin/true"], [], b'{"v":1,"limits":{}}'), 60, 2, None, None),
]


def main():
    names = [a for a in sys.argv[1:] if a != "--check"]
    chosen = [b for b in BENCHES if not names or b[0] in names]
    missing = [b[0] for b in chosen if not os.path.exists({"engine": ENGINE, "jail": JAIL}.get(b[0], ALISIO))]
    if missing:
        sys.exit("not built: " + ", ".join(missing))
    for bench in chosen:
        bench[1]()  # fills the page cache
    times = {bench[0]: [] for bench in chosen}
    for i in range(max(bench[2] for bench in chosen)):
        for name, run, runs, *_ in chosen:
            if i < runs:
                times[name].append(run())
    met = True
    print(f"{'':8} {'median':>9} {'fastest':>9} {'processor':>9} {'target':>9} {'of it':>6} {'memory':>10} {'target':>9}")
    for name, _, _, most_ms, most_mib, argv in chosen:
        ms, busy = (statistics.median(t[i] for t in times[name]) for i in (0, 1))
        mib = memory(argv) if argv else 0
        good = ms <= most_ms and (not most_mib or mib <= most_mib)
        met = met and good
        print(f"{name:8} {ms:6.1f} ms {min(times[name])[0]:6.1f} ms {busy:6.1f} ms {most_ms:6} ms {ms / most_ms * 100:5.0f}% "
              f"{f'{mib:6.1f} MiB' if mib else '':>10} {f'{most_mib:5} MiB' if most_mib else '':>9}"
              f"{'' if good else '  MISSED'}".rstrip())
    return 0 if met or "--check" not in sys.argv else 1


try:
    status = main()
finally:
    shutil.rmtree(top, ignore_errors=True)
sys.exit(status)
