#!/usr/bin/env python3
"""JSON and JSON Lines: by the commands, and what is JSON at all by the parsers of Python and Node."""
import json
import os
import re
import shutil
import subprocess
import unittest

from alisio_test import ROOT, Case, main

NODE = r"""
let texts = JSON.parse(require("fs").readFileSync(0, "utf8"));
let is_json = (text) => {
  try {
    JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(text, "latin1")));
    return true;
  } catch { return false; }
};
console.log(JSON.stringify(texts.map(is_json)));
"""


def verdicts():
    """[(bytes, whether it is JSON)] of tests/data/json/verdicts."""
    with open(os.path.join(ROOT, "tests/data/json/verdicts"), encoding="ascii") as f:
        lines = [line.rstrip("\n") for line in f if not line.startswith("#")]
    return [(re.sub("%(..)", lambda m: chr(int(m[1], 16)), line[2:]).encode("latin-1"), line[0] == "y") for line in lines]


def refuse(word):
    raise ValueError(word + " is no JSON")


def python_says(text):
    try:
        json.loads(text.decode("utf-8"), parse_constant=refuse)
    except ValueError:
        return False
    return True


class Verdicts(unittest.TestCase):
    """The verdicts are RFC 8259's; the unit tests hold the program to them."""

    def test_python_agrees(self):
        self.assertEqual([(text, python_says(text)) for text, _ in verdicts()], verdicts())

    @unittest.skipUnless(shutil.which("node"), "there is no node")
    def test_node_agrees(self):
        texts = [text.decode("latin-1") for text, _ in verdicts()]
        done = subprocess.run(["node", "-e", NODE], input=json.dumps(texts), capture_output=True, text=True, check=True, timeout=60)
        self.assertEqual(list(zip((text for text, _ in verdicts()), json.loads(done.stdout))), verdicts())


class Json(Case):
    def put(self, name, data):
        with open(os.path.join(self.dir, name), "wb") as f:
            f.write(data.encode() if isinstance(data, str) else data)

    def rows(self, name, sql="SELECT * FROM data ORDER BY rowid"):
        return self.json("data", "query", name, sql)["rows"]

    def test_lines(self):
        self.put("log.jsonl", '{"Día":"2024-05-01","n":1,"ok":true}\r\n\n{"n":2.50,"ok":false,"tags":["a", "b"]}\n{"n":"3","ok":null}')
        doc = self.json("data", "inspect", "log.jsonl")
        self.assertEqual((doc["dataset"]["format"], doc["dataset"]["encoding"], doc["dataset"]["delimiter"]), ("jsonl", "utf-8", None))
        self.assertEqual([(c["name"], c["label"], c["type"], c["nulls"]) for c in doc["sheets"][0]["columns"]],
                         [("dia", "Día", "date", 2), ("n", "n", "text", 0), ("ok", "ok", "boolean", 1), ("tags", "tags", "text", 2)])
        self.assertEqual(self.rows("log.jsonl"), [["2024-05-01", 1, "true", None], [None, 2.5, "false", '["a","b"]'], [None, "3", None, None]])
        self.assertEqual(self.rows("log.jsonl", "SELECT tags ->> 1 FROM data WHERE tags IS NOT NULL"), [["b"]])

    def test_arrays_and_objects(self):
        people = [{"name": "Ana", "2021": 5, "10": 1, "a b": {"deep": [1, {"x": None}]}}, {"2021": 10**20, "name": "Bo \U0001f600"}]
        want = [["Ana", 5, 1, '{"deep":[1,{"x":null}]}'], ["Bo \U0001f600", str(10**20), None, None]]
        for name, text in (("list.json", json.dumps(people)), ("pretty.json", json.dumps(people, indent=2, ensure_ascii=False)),
                           ("lines.json", "\n".join(map(json.dumps, people))), ("utf16.json", json.dumps(people).encode("utf-16"))):
            self.put(name, text)
            doc = self.json("data", "inspect", name)
            self.assertEqual([c["name"] for c in doc["sheets"][0]["columns"]], ["name", "_2021", "_10", "a_b"], name)
            self.assertEqual(self.rows(name), want, name)

    def test_what_is_no_table(self):
        for name, text, word in (
                ("bad.jsonl", '{"a":1}\n{"a":}\n', "line 2, column 6"), ("cut.json", '[{"a":1},{"a"', "line 1"),
                ("numbers.json", "[1,2]", "one array of objects, or one object a line"), ("empty.json", "[]", "no object"),
                ("nan.jsonl", '{"a":NaN}', "line 1, column 6"), ("twice.json", '{"a":1}{"a":2}', "line 1, column 8")):
            self.put(name, text)
            done = self.alisio("data", "inspect", name, "--json", status=1)
            error = json.loads(done.stdout)["error"]
            self.assertEqual(error["code"], "ingest_invalid", name)
            self.assertIn(word, error["message"], name)
            self.assertIn(name, error["message"])
        self.put("deep.json", '{"a":' + "[" * 500 + "]" * 500 + "}")
        error = json.loads(self.alisio("data", "inspect", "deep.json", "--json", status=1).stdout)["error"]
        self.assertEqual(error["code"], "ingest_limit")
        self.assertIn("128 levels", error["message"])

    def test_notes_say_what_could_not_stay(self):
        self.put("odd.jsonl", '{"a":1,"a":2}\n{"a":"\\ud800"}\n')
        notes = self.json("data", "inspect", "odd.jsonl")["notes"]
        self.assertEqual(notes, ["1 object had a key twice (line 1); the last value counts.",
                                 "1 character was not valid in the file's encoding; it stands as \ufffd."])
        self.assertEqual(self.rows("odd.jsonl"), [[2], ["\ufffd"]])


if __name__ == "__main__":
    main()
