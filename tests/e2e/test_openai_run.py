#!/usr/bin/env python3
"""The main job with a model behind Chat Completions: inspect, query, report, chart; its stream cut into
single bytes, in the shape of every quirk; and what a server can do wrong."""
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import time

import faults
from alisio_test import ALISIO, ROOT, SAMPLE, Case, main

sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
import players  # noqa: E402

PROMPT = "Summarize sales.csv into report.md and a bar chart"
BYTEWISE = ("plain", "index_zero", "name_late", "args_object", "crlf", "keepalives")  # the rest in small pieces
KEY = "sk-canary-5d41402abc4b2a76"


def totals():
    sums = {}
    with open(SAMPLE, newline="", encoding="utf-8") as f:
        for row in csv.DictReader(f):
            sums[row["region"]] = sums.get(row["region"], 0) + round(float(row["total"]) * 100)
    return {region: cents / 100 for region, cents in sums.items()}


class Run(Case):
    def setUp(self):
        super().setUp()
        self.server = faults.Server()
        self.addCleanup(self.server.close)
        os.makedirs(os.path.join(self.top, "config"))
        self.configure()
        shutil.copy(SAMPLE, os.path.join(self.dir, "sales.csv"))
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            self.env.pop(name, None)
        self.env["TEST_KEY"] = KEY

    def configure(self, **more):
        model = {"baseUrl": self.server.url + "/v1", "model": "m", "keyEnv": "TEST_KEY", **more}
        with open(os.path.join(self.top, "config", "config.json"), "w", encoding="utf-8") as f:
            json.dump({"model": "scripted", "models": {"scripted": model}}, f)

    def play(self, **options):
        self.server.script(model="report", **options)
        return self.events("--allow-analysis", PROMPT, status=None)

    def check_job(self, events, quirk):
        end = events[-1]
        self.assertEqual((end["type"], end["status"]), ("run_completed", "completed"), f"{quirk}: {end}")
        published = {e["artifact"]["fileName"]: e["artifact"] for e in events if e["type"] == "artifact_published"}
        self.assertEqual(sorted(published), ["chart.svg", "report.md"], quirk)
        with open(published["report.md"]["path"], encoding="utf-8") as f:
            report = f.read()
        for region, total in totals().items():
            shown = re.search(rf"{region}\W+(\d+(?:\.\d+)?)", report)
            self.assertEqual(float(shown.group(1)), total, quirk)
        with open(published["chart.svg"]["path"], encoding="utf-8") as f:
            self.assertIn("<svg", f.read(), quirk)
        said = [e["text"] for e in events if e["type"] == "message_completed"]
        self.assertEqual(said[-1], "The report is report.md, the chart is chart.svg.", quirk)
        tools = [e["name"] for e in events if e["type"] == "tool_started"]
        self.assertEqual([n for n in tools if n != "fly_to_the_moon"][-5:],
                         ["data_inspect", "list_files", "data_query", "artifact_create", "python_run"], quirk)

    def test_every_quirk_in_single_bytes_or_small_pieces(self):
        for quirk in players.QUIRKS:
            with self.subTest(quirk):
                self.check_job(self.play(quirk=quirk, cut=1 if quirk in BYTEWISE else 61), quirk)

    def test_nothing_is_done_twice(self):
        events = self.play(quirk="overloaded")
        self.check_job(events, "overloaded")
        self.assertEqual(sum(e["type"] == "tool_started" for e in events), 5)
        self.assertEqual(sum(e["type"] == "log" and "Overloaded" in e["text"] for e in events), 5)

    def test_the_key_is_nowhere(self):
        self.server.script(model="report")
        child = subprocess.Popen([ALISIO, "run", "--allow-analysis", PROMPT], cwd=self.dir, env=self.env,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        with open(f"/proc/{child.pid}/cmdline", "rb") as f:
            self.assertNotIn(KEY.encode(), f.read())
        output = child.communicate(timeout=60)[0]
        self.assertEqual(child.returncode, 0, output)
        self.server.script([{"status": 401, "body": json.dumps({"error": {"message": f"bad key {KEY}"}})}])
        output += self.alisio("run", "hello", status=1).stderr.encode()
        self.assertIn(b"***", output)
        self.assertNotIn(KEY.encode(), output)
        self.assertEqual(self.server.log()[0]["headers"]["authorization"], "Bearer " + KEY)
        for folder, _, names in os.walk(self.top):
            for name in names:
                with open(os.path.join(folder, name), "rb") as f:
                    self.assertNotIn(KEY.encode(), f.read(), name)

    def test_a_bad_server_fails_the_run_and_keeps_what_came(self):
        text = {"file": "tests/data/openai/text.sse"}
        for reply, says, kept in (
                ({"status": 500, "type": "text/html", "body": "<h1>no</h1>"}, "500", None),
                ({"status": 401, "body": '{"error":{"message":"no such key"}}'}, "no such key", None),
                ({**text, "after": 700}, "broke off", "Hel"),
                ({**text, "after": 700, "end": "reset", "length": True}, "broke off", "Hel"),
                ({"file": "tests/data/openai/garbage.sse"}, "not Chat Completions", "Hel"),
                ({"file": "tests/data/openai/error_in_stream.sse"}, "The server had an error", "Hel"),
                ({"file": "tests/data/openai/content_filter.sse"}, "content filter", "Hel"),
                ({"file": "tests/data/openai/done_only.sse"}, "answered nothing", None)):
            with self.subTest(says):
                self.server.script([reply])
                events = self.events("hello", status=1)
                self.assertEqual(events[-1]["status"], "failed")
                self.assertEqual(events[-1]["error"]["code"], "provider_failed")
                self.assertIn(says, events[-1]["error"]["message"])
                said = [e["text"] for e in events if e["type"] == "message_completed"]
                self.assertTrue(said[0].startswith(kept) if kept else not said, said)
                self.assertEqual(len(self.server.log()), 1)

    def test_a_slow_server_is_heard_byte_by_byte(self):
        with open(os.path.join(ROOT, "tests/data/openai/text.sse"), "rb") as f:
            size = len(f.read())
        self.server.script([{"file": "tests/data/openai/text.sse", "cut": 1, "delay": 2 / size}])
        self.configure(idleTimeoutMs=1000)
        self.assertEqual(self.alisio("run", "hello").stdout.strip(), "Hello, señora 👋")

    def test_a_cancel_ends_the_request_and_keeps_what_came(self):
        self.server.script([{"file": "tests/data/openai/text.sse", "after": 700, "end": "hang"}])
        child = subprocess.Popen([ALISIO, "run", "--json", "hello"], cwd=self.dir, env=self.env,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        lines = []
        while not lines or lines[-1]["type"] != "message_delta":
            lines.append(json.loads(child.stdout.readline()))
        began = time.monotonic()
        child.send_signal(2)
        lines += [json.loads(line) for line in child.stdout]
        self.assertEqual(child.wait(10), 130)
        self.assertLess(time.monotonic() - began, 1)
        child.stdout.close()
        self.assertEqual(lines[-1]["status"], "cancelled")
        self.assertTrue([e for e in lines if e["type"] == "message_completed"][0]["text"].startswith("Hel"))


main()
