#!/usr/bin/env python3
"""npm's openai package reads the streams of tests/data/openai: it agrees with what we read wherever
it can read them, and where it cannot, the file says so."""
import glob
import json
import os
import shutil
import subprocess
import unittest

import faults
from alisio_test import ROOT, main

PACKAGE = os.path.join(ROOT, "vendor", "node_modules", "openai")
ORACLE = os.path.join(ROOT, "tests", "e2e", "openai_oracle.mjs")
STOPS = {"stop": "end", "tool_calls": "tools", "function_call": "tools", "length": "length"}


def expectations():
    for path in sorted(glob.glob(os.path.join(ROOT, "tests/data/openai/*.json"))):
        with open(path, encoding="utf-8") as f:
            yield os.path.basename(path)[:-5], json.load(f)


def arguments(call):
    """Input and bad input, as a call of ours has them."""
    try:
        value = json.loads(call["arguments"] or "{}")
    except ValueError:
        value = None
    return (value, None) if isinstance(value, dict) else (None, call["arguments"])


def same(seen, want):
    if "error" in seen:
        return "it throws: " + seen["error"]
    if "error" in want:
        return "it reads a whole reply"
    if seen["text"] != want["text"]:
        return f"its text is {seen['text']!r}"
    if len(seen["calls"]) != len(want["calls"]):
        return f"it has {len(seen['calls'])} calls"
    for got, call in zip(seen["calls"], want["calls"]):
        if call["id"] not in ("*", got["id"]) or got["name"] != call["name"]:
            return f"its call is {got}"
        if arguments(got) != (call.get("input"), call.get("badInput")):
            return f"its arguments are {got['arguments']!r}"
    if len({call["id"] for call in seen["calls"]}) != len(seen["calls"]):
        return "two calls have one id"
    stop = STOPS.get(seen["finish"])
    if stop != want["stop"] and not (stop == "end" and want["stop"] == "tools"):
        return f"it ends by {seen['finish']}"
    if want.get("usage") and seen["usage"]["prompt_tokens"] != want["usage"]["inputTokens"]:
        return f"its usage is {seen['usage']}"
    return None


@unittest.skipUnless(shutil.which("node"), "there is no node")
@unittest.skipUnless(os.path.isdir(PACKAGE), "vendor/node_modules is not there: npm ci --prefix vendor")
class Oracle(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        server = faults.Server()
        cls.addClassCleanup(server.close)
        server.script(model="streams", cut=7)
        names = [name for name, _ in expectations()]
        done = subprocess.run(["node", ORACLE, server.url, *names], capture_output=True, text=True, timeout=100)
        cls.seen = {line["name"]: line for line in map(json.loads, done.stdout.rstrip("\n").split("\n"))}
        cls.errors = done.stderr

    def test_it_reads_every_stream_or_the_file_says_why_not(self):
        wrong = []
        for name, want in expectations():
            with self.subTest(name):
                self.assertIn(name, self.seen, self.errors)
                difference = same(self.seen[name], want)
                if (difference is None) != (want["oracle"] == "agrees"):
                    wrong.append(f"{name} ({want['oracle']}): {difference or 'it agrees'}")
                elif want["oracle"].startswith("throws"):
                    self.assertIn("error", self.seen[name], name)
        self.assertEqual(wrong, [])


main()
