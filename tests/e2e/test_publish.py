#!/usr/bin/env python3
"""Publishing is all or nothing: killed at each step, with each call failing, on a full disk. FAULTS=all
tries every step (make soak), else some of them; SEED repeats a choice."""
import collections
import json
import os
import random
import re
import signal
import subprocess
import time

from alisio_test import ALISIO, main
from publishing import COUNT, Publishing

ALL = os.environ.get("FAULTS") == "all"
SOME = 1  # of each call, besides the first
SEED = int(os.environ.get("SEED") or time.time())


class Steps(Publishing):
    """strace ends the program, or fails a call, at its Nth."""

    KILLED = ("mkdirat", "openat", "write", "pwrite64", "fsync", "fdatasync", "renameat", "unlinkat", "fchmodat")
    FAILING = (("fsync", "EIO"), ("fdatasync", "EIO"), ("pwrite64", "ENOSPC"), ("mkdirat", "ENOSPC"), ("renameat", "EIO"),
               ("openat2", "EMFILE"), ("openat", "ENOSPC"), ("getdents64", "EIO"), ("flock", "EIO"))

    def setUp(self):
        super().setUp()
        self.env["ASAN_OPTIONS"] = "detect_leaks=0"  # it cannot work under a tracer
        self.env["UV_THREADPOOL_SIZE"] = "1"  # strace counts the calls of each thread apart
        works = subprocess.run(["strace", "-f", "-o", "/dev/null", "true"], capture_output=True)
        if works.returncode != 0:
            self.skipTest("strace cannot trace here: " + works.stderr.decode().strip())
        self.publish()
        self.log = os.path.join(self.top, "calls")
        self.random = random.Random(SEED)

    def traced(self, *strace):
        return subprocess.run(["strace", "-f", "-qq", "-o", self.log, *strace, ALISIO, "artifact", "publish", "out", "--json"],
                              cwd=self.dir, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)

    def steps(self, call):
        """The numbers of a call, in its thread, since the output folder was looked at."""
        self.traced("-e", f"trace=openat,{call}")
        seen, steps = collections.Counter(), set()
        begun = False
        with open(self.log, encoding="utf-8", errors="replace") as f:
            for line in f:
                begun = begun or '/out", O_RDONLY' in line
                if re.match(rf"\d+ +{call}\(", line):
                    seen[line.split()[0]] += 1
                    if begun:
                        steps.add(seen[line.split()[0]])
        steps = sorted(steps)
        return steps if ALL else sorted({*steps[:1], *self.random.sample(steps, min(SOME, len(steps)))})

    def test_killed(self):
        killed = 0
        for call in self.KILLED:
            for number in self.steps(call):
                before = len(self.listed())
                with self.subTest(call=call, number=number, seed=SEED):
                    done = self.traced("-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}")
                    killed += done.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
                    self.check(before)
        print(f"killed at {killed} steps")
        self.assertGreaterEqual(killed, len(self.KILLED) // 2)

    def test_failing(self):
        failed = 0
        for call, error in self.FAILING:
            for number in self.steps(call):
                for when in (str(number), f"{number}+"):
                    before = len(self.listed())
                    with self.subTest(call=call, error=error, when=when, seed=SEED):
                        done = self.traced("-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={when}")
                        self.assertIn(done.returncode, (0, 1, 127), done.stderr)  # 127: not even a library was opened
                        answer = json.loads(done.stdout) if done.returncode < 127 else None
                        failed += done.returncode == 1
                        if done.returncode == 1:
                            self.assertIn(answer["error"]["code"], ("no_space", "io_error", "engine_failed", "internal",
                                                                    "artifact_rejected", "not_found"), answer)
                            self.assertTrue(answer["error"]["message"])
                        self.assertEqual(self.check(before), before + (0 if done.returncode else COUNT))
        print(f"failed at {failed} steps")
        self.assertGreaterEqual(failed, len(self.FAILING))


class SideBySide(Publishing):
    def test_many_publish_at_once(self):
        argv = [ALISIO, "artifact", "publish", "out", "--json"]
        runs = [subprocess.Popen(argv, cwd=self.dir, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                for _ in range(8)]
        ids = set()
        for run in runs:
            out, err = run.communicate(timeout=60)
            self.assertEqual(run.returncode, 0, out + err)
            ids |= {art["id"] for art in json.loads(out)["artifacts"]}
        self.assertEqual(len(ids), len(runs) * COUNT)
        self.assertEqual({art["id"] for art in self.listed()}, ids)
        self.assertEqual(len(self.stored()), len(ids))


class FullDisk(Publishing):
    def setUp(self):
        super().setUp()
        os.makedirs(self.state)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=0700", "tmpfs", self.state], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("no tmpfs can be mounted here: " + mounted.stderr.decode().strip())
        self.addCleanup(subprocess.run, ["umount", self.state], check=True)

    def test_the_disk_is_full_sooner_or_later(self):
        self.put("out/big.bin", random.Random(1).randbytes(400000))
        self.publish()
        self.assertEqual(len(self.listed()), COUNT + 1)
        ballast = os.path.join(self.state, "ballast")
        refused = 0
        for free in (0, 8, 40, 120, 300, 420, 480, 560, 640):
            before = len(self.listed())
            with open(ballast, "wb") as f:
                left = os.statvfs(self.state)
                f.write(bytes(max(0, left.f_bavail * left.f_frsize - free * 1024)))
            with self.subTest(free=free):
                done = self.alisio("artifact", "publish", "out", "--json", status=None)
                answer = json.loads(done.stdout)
                os.unlink(ballast)
                if done.returncode:
                    refused += 1
                    self.assertEqual(answer["error"]["code"], "no_space", answer)
                    self.assertTrue(answer["error"]["message"])
                    self.assertEqual(len(self.listed()), before)
                    self.assertEqual(len(self.stored()), before)
                else:
                    self.assertEqual(len(self.listed()), before + COUNT + 1)
                for art in self.listed()[COUNT + 1:]:
                    self.json("artifact", "delete", art["id"], "--yes")
        self.assertGreaterEqual(refused, 4)


main()
