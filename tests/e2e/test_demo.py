#!/usr/bin/env python3
"""The first thing anyone types: a table, a report with its real totals, and a chart."""
import csv
import json
import os
import re
import shutil
import sqlite3
import time
import xml.etree.ElementTree as xml

from alisio_test import ALISIO, SAMPLE, Case, main
from terminal import Terminal

BREWS = "/opt/homebrew", "/usr/local", "/home/linuxbrew/.linuxbrew"
PROMPT = "Summarize sales.csv into report.md and a bar chart"


class Demo(Case):
    def setUp(self):
        super().setUp()
        shutil.copy(SAMPLE, os.path.join(self.dir, "sales.csv"))
        with open(SAMPLE, encoding="utf-8", newline="") as file:
            self.rows = list(csv.DictReader(file))

    def total(self, column):
        return sum(float(row[column]) for row in self.rows)

    def published(self, events):
        return {e["artifact"]["fileName"]: e["artifact"] for e in events if e["type"] == "artifact_published"}

    def check_report(self, path):
        with open(path, encoding="utf-8") as file:
            report = file.read()
        self.assertIn(f"{self.total('total'):,.2f}", report)
        self.assertIn(f"| Rows | {len(self.rows)} |", report)
        for region in {row["region"] for row in self.rows}:
            part = sum(float(row["total"]) for row in self.rows if row["region"] == region)
            self.assertIn(f"| {region} | {part:,.2f} |", report)
        dates = sorted(row["order_date"] for row in self.rows)
        self.assertIn(f"{dates[0]} to {dates[-1]}", report)

    def test_a_report_and_a_chart_with_no_model_and_no_account(self):
        before = sorted(os.listdir(self.dir))
        events = self.events(PROMPT, "--allow-analysis")
        files = self.published(events)
        self.check_report(files["report.md"]["path"])
        charts = [a for name, a in files.items() if name != "report.md"]
        self.assertEqual(len(charts), 1)
        root = xml.parse(charts[0]["path"]).getroot()
        self.assertTrue(root.tag.endswith("svg"))
        words = " ".join(root.itertext())
        dimension = next(c for c in ("region", "channel", "city", "seller") if self.rows[0][c] in words)
        for value in {row[dimension] for row in self.rows}:
            self.assertIn(value, words)
        self.assertEqual(events[-1]["status"], "completed")
        decisions = [(e["capability"], e["decision"], e["source"]) for e in events if e["type"] == "permission_resolved"]
        self.assertEqual(decisions, [("analysis.run", "allow_once", "flag")])
        self.assertEqual(sum(e["type"] == "dataset_ready" for e in events), 1)
        self.assertEqual(sorted(os.listdir(self.dir)), before, "the folder is as it was")

    def test_ends_with_the_paths_of_both_files(self):
        done = self.alisio("run", "--allow-analysis", PROMPT)
        last = done.stdout.rstrip().splitlines()[-2:]
        paths = [line.split(None, 1)[1] for line in last]
        self.assertTrue(all(os.path.isabs(path) and os.path.exists(path) for path in paths), last)
        self.assertIn("offline", done.stdout)

    def test_without_leave_the_report_still_comes_and_the_end_says_what_was_not_offered(self):
        events = self.events(PROMPT)
        self.assertEqual(list(self.published(events)), ["report.md"])
        self.assertIn("python_run", events[-1]["notOffered"])
        text = [e["text"] for e in events if e["type"] == "message_completed"][-1]
        self.assertIn("--allow-analysis", text)

    def test_without_a_python_the_report_still_comes_and_says_what_to_install(self):
        if any(os.path.exists(f"{place}/bin/python3") for place in BREWS):
            self.skipTest("a Python stands where it is found without PATH")
        events = self.events(PROMPT, "--allow-analysis", PATH="/nowhere", HOME=self.top, PYENV_ROOT="/nowhere")
        self.assertEqual(list(self.published(events)), ["report.md"])
        text = [e["text"] for e in events if e["type"] == "message_completed"][-1]
        self.assertRegex(text, r"Python 3\.10 or newer was not found.*[Ii]nstall")
        self.assertEqual(events[-1]["status"], "completed")

    def test_in_spanish_with_other_names(self):
        os.rename(os.path.join(self.dir, "sales.csv"), os.path.join(self.dir, "mis ventas 2024.csv"))
        events = self.events("Resume mis ventas 2024.csv en resumen.md y haz un gráfico de barras", "--allow-analysis")
        files = self.published(events)
        self.assertIn("resumen.md", files)
        self.assertEqual(len(files), 2)
        with open(files["resumen.md"]["path"], encoding="utf-8") as file:
            whole, fraction = f"{self.total('total'):,.2f}".split(".")
            self.assertIn(whole.replace(",", ".") + "," + fraction, file.read())

    def test_read_only_takes_python_away(self):
        events = self.events(PROMPT, "--read-only", "--allow-analysis")
        self.assertEqual(list(self.published(events)), ["report.md"])
        self.assertNotIn("notOffered", events[-1])

    def test_asked_on_a_terminal_the_answer_is_bound_to_the_job(self):
        env = {name: value for name, value in self.env.items() if name.startswith("ALISIO_")}
        env.update(PATH=os.environ["PATH"], HOME=os.environ["HOME"], TERM="screen", LC_ALL="C.UTF-8")
        for prompt, key in (("bar chart of total by region", "s"), ("bar chart of total by channel", None)):
            words = ["run", prompt] if key == "s" else ["resume", prompt]
            with Terminal([ALISIO, *words], self.dir, env, rows=36, columns=100, deadline=40) as t:
                if key:
                    screen = t.wait_for("[a] Allow once")
                    self.assertTrue(any("Run this Python script" in line for line in screen), screen)
                    self.assertTrue(any("alisio_runtime" in line for line in screen), screen)
                    time.sleep(0.5)
                    t.keys(key)
                self.assertEqual(t.status(), 0)
                self.assertTrue(any(".svg" in line for line in t.history()))
        db = sqlite3.connect(os.path.join(self.env["ALISIO_STATE_HOME"], "sessions.sqlite"))
        rows = db.execute("SELECT type, body FROM events WHERE type LIKE 'permission%' ORDER BY seq").fetchall()
        db.close()
        bodies = [(kind, json.loads(body)) for kind, body in rows]
        self.assertEqual([(kind, body.get("decision"), body.get("source")) for kind, body in bodies], [
            ("permission_requested", None, None), ("permission_resolved", "allow_session", "user"),
            ("permission_resolved", "allow_session", "saved")])
        jobs = []
        for folder, _, files in os.walk(os.path.join(self.env["ALISIO_STATE_HOME"], "analysis", "jobs")):
            if "job.json" in files:
                with open(os.path.join(folder, "job.json"), encoding="utf-8") as file:
                    jobs.append(json.load(file))
        hashes = sorted(job["approval"]["sha256"] for job in jobs)
        self.assertEqual(hashes, sorted(body["sha256"] for kind, body in bodies if kind == "permission_resolved"))
        self.assertTrue(all(re.fullmatch("[0-9a-f]{64}", value) for value in hashes))


main()
