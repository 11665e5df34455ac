#!/usr/bin/env python3
"""Ingestion while it goes on, in every format: progress, cancel, kill -9, limits; and what is read twice."""
import glob
import gzip
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

import workbook
from alisio_test import ALISIO, ROOT, Case, main
from engine_client import CANCEL, Engine, Gone, Refused

sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))
import generate

SEGMENT = 8 << 20
SLOW = 4 if os.environ.get("SAN") else 1
FORMATS = {"csv": 180000, "jsonl": 120000, "json": 120000, "csv.gz": 120000, "xlsx": 25000, "ods": 15000}  # rows
orders = list(generate.sales(max(FORMATS.values()) // SLOW))
generate.sales = lambda rows: orders[:rows]  # made once for all formats


def make(folder, extension, rows):
    """A file that takes some tenths of a second to read."""
    path = os.path.join(folder, "big." + extension)
    if extension in ("csv", "jsonl", "xlsx"):
        generate.make("sales." + extension, rows, path)
    elif extension == "csv.gz":
        with gzip.open(path, "wt", 1, encoding="utf-8", newline="") as out:
            out.writelines(generate.sales_csv(rows))
    elif extension == "json":
        with open(path, "w", encoding="utf-8") as out:
            out.write("[" + ",".join(generate.sales_jsonl(rows)) + "]")
    else:
        workbook.write_ods(path, [("sales", (generate.HEADER, *generate.sales(rows)))])
    return path


def processor_time(engine):
    with open(f"/proc/{engine.process.pid}/stat", encoding="utf-8") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Going(unittest.TestCase):
    """The engine, spoken to directly. A packed file has to be the first of its engine."""

    @classmethod
    def setUpClass(cls):
        cls.files = tempfile.mkdtemp(prefix="ingestion-")
        cls.addClassCleanup(shutil.rmtree, cls.files, ignore_errors=True)
        cls.paths = {name: make(cls.files, name, rows // SLOW) for name, rows in FORMATS.items()}

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="going-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.out = os.path.join(self.dir, "out.sqlite")
        self.tmp = os.path.join(self.dir, "tmp")
        os.mkdir(self.tmp, 0o700)

    def begin(self, engine, path):
        """Starts an ingestion; the descriptor of its output."""
        fd, out = os.open(path, os.O_RDONLY), os.open(self.out, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        engine.request("ingest", (fd, out), name=os.path.basename(path))
        os.close(fd)
        self.addCleanup(os.close, out)
        return out

    def test_progress(self):
        for name, path in self.paths.items():
            with self.subTest(name), Engine(self.tmp) as engine:
                begin = time.monotonic()
                answer = engine.ingest(path, self.out)
                took = time.monotonic() - begin
                # Five in a second are meant, one a segment of 8 MiB at most; a busy machine may swallow some.
                segments = FORMATS[name] // SLOW * 117 // SEGMENT if name in ("csv", "csv.gz", "jsonl", "json") else 3
                self.assertGreaterEqual(len(engine.progress), int(min(took / 0.5, segments - 1)), took)
                last = {"bytes": 0, "rows": 0}
                for body in engine.progress:
                    self.assertEqual(set(body), {"bytes", "total", "rows"})
                    self.assertEqual(body["total"], os.path.getsize(path))
                    self.assertLessEqual(body["bytes"], body["total"])
                    self.assertGreaterEqual((body["bytes"], body["rows"]), (last["bytes"], last["rows"]))
                    self.assertGreaterEqual(body["rows"], last["rows"])
                    last = body
                self.assertLessEqual(last["rows"], answer["rows"])
                if len(engine.progress) > 2:
                    self.assertGreater(last["bytes"], engine.progress[0]["bytes"])
                    self.assertGreater(last["rows"], 0)

    def test_cancel(self):
        for name, path in self.paths.items():
            with self.subTest(name), Engine(self.tmp) as engine:
                waits, busy = [], []
                for delay in (0, 0.01, 0.02, 0.04, 0.06, 0.08):
                    out = self.begin(engine, path)
                    time.sleep(delay)
                    start, spent = time.monotonic(), processor_time(engine)
                    engine.send(CANCEL)
                    try:
                        engine.answer()
                    except Refused as refused:
                        self.assertEqual(refused.code, "cancelled")
                        self.assertEqual(os.fstat(out).st_size, 0)
                        waits.append(time.monotonic() - start)
                        busy.append(processor_time(engine) - spent)
                self.assertGreaterEqual(len(waits), 3)
                # 0.1 s is promised. How long that takes depends on the machine, what is done meanwhile does not.
                self.assertLessEqual(sorted(busy)[len(busy) // 2], 0.1 * SLOW, busy)
                self.assertLess(sorted(waits)[len(waits) // 2], 1 * SLOW, waits)
                self.assertEqual(os.listdir(self.tmp), [])
                with open(f"/proc/{engine.process.pid}/status", encoding="ascii") as f:
                    threads = next(int(line.split()[1]) for line in f if line.startswith("Threads"))
                self.assertEqual(threads, 1)
                self.assertEqual(engine.ingest(b"a\n1\n", self.out)["rows"], 1)  # and it serves the next

    def test_kill_9_leaves_no_dataset(self):
        chance = random.Random(9)
        for name, path in self.paths.items():
            for _ in range(3):
                with self.subTest(name), Engine(self.tmp) as engine:
                    self.begin(engine, path)
                    time.sleep(chance.uniform(0, 0.2))
                    engine.process.send_signal(signal.SIGKILL)
                    try:
                        whole = engine.answer()["rows"]
                    except (Gone, ConnectionError):
                        whole = None
                    engine.process.wait()
                    self.check_whole_or_none(whole)
        self.assertEqual(os.listdir(self.tmp), [])

    def check_whole_or_none(self, rows):
        db = sqlite3.connect(f"file:{self.out}?mode=ro&immutable=1", uri=True)
        try:
            self.assertEqual(db.execute("PRAGMA integrity_check").fetchone(), ("ok",))
            table = db.execute("SELECT table_name FROM _alisio_sheets").fetchone()[0]
            self.assertIn(rows, (None, db.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]))
        except sqlite3.DatabaseError:
            self.assertIsNone(rows)
        finally:
            db.close()


class Program(Case):
    def state(self, *pattern):
        return sorted(glob.glob(os.path.join(self.env["ALISIO_STATE_HOME"], *pattern), recursive=True, include_hidden=True))

    def datasets(self):
        return [path for path in self.state("analysis", "datasets", "**") if os.path.isfile(path)]

    def put(self, name, text):
        with open(os.path.join(self.dir, name), "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())

    def inspect(self, *args):
        return self.json("data", "inspect", *args)["dataset"]

    def refused(self, *args):
        return json.loads(self.alisio("data", "inspect", *args, "--json", status=1).stdout)["error"]

    def configure(self, **keys):
        os.makedirs(self.env["ALISIO_CONFIG_HOME"], exist_ok=True)
        with open(os.path.join(self.env["ALISIO_CONFIG_HOME"], "config.json"), "w", encoding="utf-8") as f:
            json.dump({"analysis": {"data": keys}}, f)

    def test_kills_of_the_program_leave_whole_datasets_only(self):
        chance = random.Random(5)
        for extension in FORMATS:
            make(self.dir, extension, 8000)
        for _ in range(30):
            name = "big." + chance.choice(list(FORMATS))
            with subprocess.Popen([ALISIO, "data", "inspect", name], cwd=self.dir, env=self.env, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as host:
                time.sleep(chance.uniform(0, 0.3))
                host.kill()
            for path in self.state("analysis", "datasets", "**", "*.sqlite"):
                db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
                self.assertEqual(db.execute("PRAGMA integrity_check").fetchone(), ("ok",))
                db.close()
        kept = {self.inspect("big." + extension)["path"] for extension in FORMATS}
        self.assertEqual(set(self.datasets()), kept)

    def test_the_same_content_is_read_once(self):
        text = "a;b\n1;x,y\n2;z,w\n"
        self.put("one.csv", text)
        first = self.inspect("one.csv")
        self.assertFalse(first["reused"])
        os.rename(os.path.join(self.dir, "one.csv"), os.path.join(self.dir, "other name.CSV"))
        os.utime(os.path.join(self.dir, "other name.CSV"), (1, 1))
        again = self.inspect("other name.CSV", "--sample", "1")
        self.assertEqual((again["id"], again["reused"], again["sha256"]), (first["id"], True, first["sha256"]))
        ways = {first["id"]}
        for override in (["--delimiter", ","], ["--no-header"], ["--header"], ["--skip", "1"], ["--encoding", "windows-1252"]):
            made = self.inspect("other name.CSV", *override)
            self.assertEqual((made["reused"], made["id"] in ways), (False, False), override)
            self.assertTrue(self.inspect("other name.CSV", *override)["reused"])
            ways.add(made["id"])
        self.put("text.txt", text)  # the name is a hint of the format, and so part of the way
        self.put("one.csv", text.replace("1;", "3;"))  # of the same size
        changed = self.inspect("one.csv")
        self.assertEqual((changed["bytes"], changed["reused"]), (first["bytes"], False))
        self.assertEqual(len(self.datasets()), len(ways) + 1)
        os.unlink(first["path"])  # a copy can be made again
        self.assertFalse(self.inspect("other name.CSV")["reused"])
        other = os.path.join(self.top, "other")
        os.mkdir(other)
        shutil.copy(os.path.join(self.dir, "one.csv"), other)
        self.assertFalse(self.json("--cwd", other, "data", "inspect", "one.csv")["dataset"]["reused"])  # another session

    def tables(self, name, rows):
        """The same table in every format; the names of the files."""
        header, *cells = rows
        self.put(name + ".csv", "\n".join(",".join(map(str, row)) for row in rows) + "\n")
        self.put(name + ".jsonl", "\n".join(json.dumps(dict(zip(header, row))) for row in cells) + "\n")
        self.put(name + ".json", json.dumps([dict(zip(header, row)) for row in cells]))
        workbook.write(os.path.join(self.dir, name + ".xlsx"), [("S", rows)])
        workbook.write_ods(os.path.join(self.dir, name + ".ods"), [("S", rows)])
        return [f"{name}.{extension}" for extension in ("csv", "jsonl", "json", "xlsx", "ods")]

    def test_limits_that_are_fixed(self):
        wide = [[f"c{i}" for i in range(1001)], [1] * 1001]
        for key, names, word in (("analysis.data.maxColumns", self.tables("wide", wide), "1000"),
                                 ("analysis.data.maxCellBytes", self.tables("long", [["a", "b"], [1, "x" * (1 << 20) + "y"]]), "1048576")):
            for name in names:
                with self.subTest(name):
                    error = self.refused(name)
                    self.assertEqual((error["code"], error["object"], error["reason"]), ("ingest_limit", key, "fixed"))
                    self.assertIn(name, error["message"])
                    self.assertIn(word, error["message"])
        for name in self.tables("fits", [row[:1000] for row in wide]) + self.tables("whole", [["a", "b"], [1, "x" * (1 << 20)]]):
            self.assertEqual(self.inspect(name)["rows"], 1, name)
        self.assertEqual(len(self.datasets()), 10)

    def test_limits_that_can_be_set(self):
        names = self.tables("few", [["a"], [1], [2], [3]])
        for keys in {"maxRows": 2}, {"maxFileBytes": 7}:
            self.configure(**keys)
            for name in names:
                with self.subTest(name, **keys):
                    error = self.refused(name)
                    self.assertEqual((error["code"], error["object"]), ("ingest_limit", "analysis.data." + next(iter(keys))))
                    self.assertIn(error["object"], error["message"])
                    self.assertIn(str(next(iter(keys.values()))), error["message"])
                    self.assertIn(error["object"], self.alisio("data", "inspect", name, status=1, LC_ALL="es_ES.UTF-8").stderr)
        self.assertEqual(self.datasets(), [])
        # Of a packed file also what it unpacks to counts.
        self.configure(maxRows=3, maxFileBytes=1 << 20)
        for name in names:
            self.assertEqual(self.inspect(name)["rows"], 3, name)


main()
