#!/usr/bin/env python3
"""The Nth write or sync of a run fails, once and for good: a clear error, nothing claimed that is not
stored, and the next run works. FAULTS=all tries every N (make soak), else some of them."""
import collections
import json
import os
import random
import shutil
import sqlite3
import subprocess
import time

from alisio_test import ALISIO, SAMPLE, Case, main

ALL = os.environ.get("FAULTS") == "all"
SOME = 8
SEED = int(os.environ.get("SEED") or time.time())
PROMPT = "Describe sales.csv"


class Faults(Case):
    def setUp(self):
        super().setUp()
        shutil.copy(SAMPLE, self.dir)
        self.env["ASAN_OPTIONS"] = "detect_leaks=0"  # it cannot work under a tracer
        self.env["UV_THREADPOOL_SIZE"] = "1"  # strace counts the calls of each thread apart
        works = subprocess.run(["strace", "-f", "-o", "/dev/null", "true"], capture_output=True)
        if works.returncode != 0:
            self.skipTest("strace cannot trace here: " + works.stderr.decode().strip())
        self.session = self.events("hello")[-1]["session"]
        self.before = self.json("sessions", "show", self.session)["events"]

    def traced(self, *strace):
        return subprocess.run(["strace", "-f", "-qq", *strace, ALISIO, "run", "--json", PROMPT],
                              cwd=self.dir, env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
                              encoding="utf-8", timeout=60)

    def calls(self, name):
        """How often the thread that calls it most does so: the Nth call of a thread is what strace can fail."""
        log = os.path.join(self.top, "calls")
        self.traced("-e", "trace=" + name, "-o", log)
        with open(log, encoding="utf-8", errors="replace") as f:
            return max(collections.Counter(line.split()[0] for line in f if name + "(" in line).values())

    def check(self, done):
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertIn(done.returncode, (0, 1), done.stderr)
        if done.returncode == 1:
            error = lines[-1].get("error") or {}
            self.assertIn(error.get("code"), ("no_space", "io_error", "engine_failed"), done.stdout[-500:] + done.stderr)
            self.assertTrue(error.get("message"))
        printed = [event for event in lines if "seq" in event]
        if printed:
            stored = self.json("sessions", "show", printed[0]["session"])["events"]
            self.assertEqual([e["seq"] for e in stored], list(range(1, len(stored) + 1)))
            for event in printed:
                self.assertEqual(stored[event["seq"] - 1], event)
        db = sqlite3.connect(os.path.join(self.env["ALISIO_STATE_HOME"], "sessions.sqlite"))
        self.assertEqual(db.execute("PRAGMA integrity_check").fetchone(), ("ok",))
        db.close()
        return done.returncode

    def flow(self, call, error):
        count = self.calls(call)
        self.assertGreater(count, 3)
        picks = range(1, count + 1) if ALL else sorted(random.Random(SEED).sample(range(1, count + 1), min(SOME, count)))
        failed = injected = 0
        log = os.path.join(self.top, "injected")
        for number in picks:
            for when in (str(number), f"{number}+"):
                with self.subTest(call=call, error=error, when=when, seed=SEED):
                    failed += self.check(self.traced("-o", log, "-e", f"trace={call}",
                                                     "-e", f"inject={call}:error={error}:when={when}"))
                    with open(log, encoding="utf-8", errors="replace") as f:
                        injected += "(INJECTED)" in f.read()
        # A run may need one call less than the one that was counted; most must have met their fault.
        self.assertGreaterEqual(injected, len(picks))
        self.assertGreater(failed, 0)
        self.assertEqual(self.json("sessions", "show", self.session)["events"], self.before)
        self.assertEqual(self.events(PROMPT)[-1]["status"], "completed")

    def test_no_space(self):
        self.flow("pwrite64", "ENOSPC")

    def test_sync_fails(self):
        self.flow("fdatasync", "EIO")


main()
