#!/usr/bin/env python3
"""Runs loop.lua for SOAK_SECONDS (600) and watches what the process holds: memory, descriptors and
children may not grow once it is warm."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

SECONDS = int(os.environ.get("SOAK_SECONDS") or 600)
ALISIO = os.path.join(os.environ.get("B") or "build", "alisio")
MOST_MIB = 4  # what allocators and caches may still gather


def holds(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        rss = next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) / 1024
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        children = f.read().split()
    zombies = 0
    for child in children:
        try:
            with open(f"/proc/{child}/stat", encoding="utf-8", errors="replace") as f:
                zombies += f.read().rsplit(")", 1)[1].split()[0] == "Z"
        except FileNotFoundError:
            pass
    return rss, len(os.listdir(f"/proc/{pid}/fd")), len(children), zombies


def main():
    top = tempfile.mkdtemp(prefix="alisio-soak-")
    env = dict(os.environ, ALISIO_STATE_HOME=top + "/state", ALISIO_CONFIG_HOME=top + "/config")
    child = subprocess.Popen([ALISIO, "script", "tests/soak/loop.lua", str(SECONDS), top], env=env, text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    warm = last = None
    begin, told, rounds = time.monotonic(), 0, 0
    for line in child.stdout:
        rounds, now, last = int(line), time.monotonic() - begin, holds(child.pid)
        if warm is None and (now > SECONDS / 10 and rounds >= 20):
            warm = last
        if now - told > SECONDS / 20:
            told = now
            print("{:6.0f} s {:7} rounds {:7.1f} MiB {:4} descriptors {:3} children {} zombies".format(now, rounds, *last),
                  flush=True)
    status = child.wait()
    shutil.rmtree(top, ignore_errors=True)
    if status or warm is None:
        print(f"ended with status {status} after {rounds} rounds")
        return 1
    grown = [b - a for a, b in zip(warm, last)]
    print("grown since it was warm: {:.1f} MiB, {} descriptors, {} children, {} zombies".format(*grown))
    return 1 if grown[0] > MOST_MIB or grown[1] > 4 or grown[2] > 2 or last[3] > 2 else 0


sys.exit(main())
