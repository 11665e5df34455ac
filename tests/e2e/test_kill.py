#!/usr/bin/env python3
"""kill -9 at any instant: what was printed is stored, the database is whole, the session opens again.

KILLS sets how many times each program is killed (25; `make soak` takes 200 and more), SEED repeats a
run."""
import hashlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import threading
import time

from alisio_test import ALISIO, ROOT, SAMPLE, Case, main

KILLS = int(os.environ.get("KILLS") or 25)
SEED = int(os.environ.get("SEED") or time.time())
PROMPT = "Summarize sales.csv into report.md and a bar chart"
DRIVER = os.path.join(ROOT, "tests", "e2e", "kill_driver.lua")


class Killed:
    """A program that is killed `seconds` after its start, or right after its line number `line`."""

    def __init__(self, argv, cwd, env, seconds=None, line=None):
        self.lines, self.ended = [], False
        self.child = subprocess.Popen(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.stop_at = line
        reader = threading.Thread(target=self.read)
        reader.start()
        if seconds is not None:
            try:
                self.child.wait(seconds)
                self.ended = True
            except subprocess.TimeoutExpired:
                self.child.kill()
        self.child.wait()
        reader.join()
        self.child.stdout.close()

    def read(self):
        for raw in self.child.stdout:
            if not raw.endswith(b"\n"):
                break  # killed while it wrote: never a whole line
            self.lines.append(json.loads(raw))
            if self.stop_at is not None and len(self.lines) >= self.stop_at:
                self.child.send_signal(signal.SIGKILL)

    def durable(self):
        return [event for event in self.lines if "seq" in event]


class Kill(Case):
    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)

    def check(self, killed, resume):
        self.check_nothing_runs()
        database = os.path.join(self.env["ALISIO_STATE_HOME"], "sessions.sqlite")
        listed = {s["id"] for s in self.json("sessions", "list")["sessions"]}
        if killed.lines:
            session = killed.lines[0]["session"]
            self.assertIn(session, listed)
            stored = self.json("sessions", "show", session)["events"]
            self.assertEqual([e["seq"] for e in stored], list(range(1, len(stored) + 1)))
            for event in killed.durable():
                self.assertEqual(event, stored[event["seq"] - 1])
            self.check_files(stored)
            if resume:
                self.resume(session, stored)
        self.check_database(database)

    def check_files(self, events):
        """What an event says is there is there, whole."""
        for event in events:
            if event["type"] == "artifact_published" and event["artifact"].get("path"):
                with open(event["artifact"]["path"], "rb") as f:
                    self.assertEqual(hashlib.sha256(f.read()).hexdigest(), event["artifact"]["sha256"])
            elif event["type"] == "dataset_ready":
                self.check_database(event["dataset"]["path"])

    def check_database(self, path):
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.assertEqual(db.execute("PRAGMA integrity_check").fetchone(), ("ok",))
        db.close()

    def check_nothing_runs(self):
        """A script of a program that was killed ends with it."""
        deadline = time.monotonic() + 5
        while left := self.processes():
            self.assertLess(time.monotonic(), deadline, left)
            time.sleep(0.01)

    def processes(self):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    ours = self.top.encode() in f.read()
                with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                    state = f.read().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if ours and state != "Z":
                found.append(pid)
        return found

    def resume(self, session, before):
        open_calls = {e["callId"] for e in before if e["type"] == "tool_started"}
        open_calls -= {e["callId"] for e in before if e["type"] == "tool_completed"}
        self.alisio("resume", session, "hello", status=0)
        after = self.json("sessions", "show", session)["events"]
        self.assertEqual(after[:len(before)], before)
        started = [e["callId"] for e in after if e["type"] == "tool_started"]
        self.assertEqual(len(started), len(set(started)))
        for call in open_calls:
            ends = [e["status"] for e in after if e["type"] == "tool_completed" and e["callId"] == call]
            self.assertEqual(ends, ["uncertain"])
        runs = [e["run"] for e in after if e["type"] == "run_started"]
        ends = [e["run"] for e in after if e["type"] == "run_completed"]
        self.assertEqual(sorted(runs), sorted(ends))

    def rounds(self, argv, whole_seconds, whole_lines, resume):
        for number in range(KILLS):
            shutil.rmtree(self.dir)
            os.mkdir(self.dir)
            shutil.copy(SAMPLE, self.dir)
            if number % 5 == 0:  # the first start, too, may be the one that is killed
                self.env["ALISIO_STATE_HOME"] = os.path.join(self.top, f"state{number}")
            if number % 2:
                when = {"seconds": self.random.uniform(0, whole_seconds)}
            else:
                when = {"line": self.random.randint(1, whole_lines)}
            with self.subTest(round=number, seed=SEED, **when):
                self.check(Killed(argv, self.dir, self.env, **when), resume)

    def test_a_run(self):
        shutil.copy(SAMPLE, self.dir)
        argv = [ALISIO, "run", "--json", "--allow-analysis", PROMPT]
        start = time.monotonic()
        whole = Killed(argv, self.dir, self.env, seconds=60)
        self.assertTrue(whole.ended)
        self.assertEqual(whole.lines[-1]["type"], "run_completed")
        self.rounds(argv, time.monotonic() - start, len(whole.lines), resume=True)

    def test_a_busy_bus(self):
        self.rounds([ALISIO, "script", DRIVER], 0.5, 300, resume=False)


main()
