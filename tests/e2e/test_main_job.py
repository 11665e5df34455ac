#!/usr/bin/env python3
"""The job on the README's first screen: the sample file becomes a report and a chart, with no model,
nobody to ask and no terminal."""
import csv
import os
import re
import shutil
import sqlite3
import time
from decimal import Decimal

from alisio_test import ROOT, SAMPLE, Case, main

PROMPT = "Summarize sales.csv into report.md and a bar chart"
TYPES = {
    "run_started": {"prompt", "model", "agent"}, "message_delta": {"text", "channel"},
    "message_completed": {"text", "role"}, "tool_started": {"callId", "name", "input", "effect"},
    "tool_progress": {"callId", "text"}, "tool_completed": {"callId", "name", "status", "output", "durationMs"},
    "permission_requested": {"requestId", "callId", "capability", "title", "sha256", "options", "guarantees"},
    "permission_resolved": {"requestId", "decision", "source"}, "dataset_ready": {"dataset"},
    "artifact_published": {"artifact"}, "turn_completed": {"usage"}, "session_opened": {"title", "resumed"},
    "log": {"level", "text"}, "run_completed": {"status", "usage", "durationMs"},
}
EPHEMERAL = {"message_delta", "tool_progress"}


class MainJob(Case):
    def setUp(self):
        super().setUp()
        shutil.copy(SAMPLE, self.dir)

    def files(self, text):
        return {os.path.basename(p): p for p in re.findall(r"(/\S+/files/\S+)", text)}

    def test_report_and_chart(self):
        done = self.alisio("run", "--allow-analysis", PROMPT)
        files = self.files(done.stdout)
        self.assertEqual(set(files), {"report.md", "sales-by-region.svg"})
        with open(SAMPLE, encoding="utf-8", newline="") as f:
            rows = list(csv.DictReader(f))
        with open(files["report.md"], encoding="utf-8") as f:
            report = f.read()
        self.assertIn(f"| Rows | {len(rows)} |", report)
        self.assertIn(f"| Total | {sum(Decimal(r['total']) for r in rows):,.2f} |", report)
        for region in {r["region"] for r in rows}:
            total = sum(Decimal(r["total"]) for r in rows if r["region"] == region)
            self.assertIn(f"| {region} | {total:,.2f} |", report)
        # The picture of the README is this very chart.
        with open(files["sales-by-region.svg"], "rb") as made, \
                open(os.path.join(ROOT, "docs", "images", "sales-by-region.svg"), "rb") as shown:
            self.assertEqual(made.read(), shown.read())
        self.assertEqual(os.listdir(self.dir), ["sales.csv"], "the workspace is left as it was")

    def test_the_same_chart_in_every_runtime(self):
        status = self.json("analysis", "status")
        charts = {}
        for runtime in status["runtimes"]:
            if not runtime["available"]:
                print(f"SKIP {runtime['name']}: {runtime['why']}")
                continue
            done = self.alisio("run", "--allow-analysis", PROMPT, ALISIO_ANALYSIS_RUNTIME=runtime["name"])
            with open(self.files(done.stdout)["sales-by-region.svg"], "rb") as chart:
                charts[runtime["name"]] = chart.read()
        self.assertIn("managed", charts)
        self.assertEqual(len(set(charts.values())), 1)

    def test_events_follow_the_contract(self):
        events = self.events("--allow-analysis", PROMPT)
        seq = [e["seq"] for e in events if "seq" in e]
        self.assertEqual(seq, sorted(set(seq)))
        for event in events:
            self.assertEqual(event["v"], 1)
            self.assertTrue({"time", "session", "run"} <= set(event), event)
            self.assertIn(event["type"], TYPES)
            self.assertEqual(TYPES[event["type"]] - set(event), set(), event)
            self.assertEqual("seq" in event, event["type"] not in EPHEMERAL, event)
        self.assertEqual([e["type"] for e in events][-1], "run_completed")
        self.assertEqual(events[-1]["status"], "completed")
        published = [e["artifact"]["fileName"] for e in events if e["type"] == "artifact_published"]
        self.assertEqual(sorted(published), ["report.md", "sales-by-region.svg"])
        granted = [e for e in events if e["type"] == "permission_resolved" and e["decision"].startswith("allow")]
        self.assertEqual([e["source"] for e in granted if e["source"] == "flag"], ["flag"])
        stored = sqlite3.connect(os.path.join(self.env["ALISIO_STATE_HOME"], "sessions.sqlite"))
        self.assertEqual(stored.execute("PRAGMA integrity_check").fetchone(), ("ok",))

    def test_takes_little_beside_python(self):
        self.alisio("run", "--allow-analysis", PROMPT)
        start = time.monotonic()
        events = self.events("--allow-analysis", PROMPT)
        whole = time.monotonic() - start
        python = sum(e["durationMs"] for e in events if e["type"] == "tool_completed" and e["name"] == "python_run") / 1000
        self.assertLess(whole - python, 10, "the target is 1 s")


main()
