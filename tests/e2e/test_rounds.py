#!/usr/bin/env python3
"""Tables made by chance go through every format and come back cell for cell; other programs read the
same from the same files.

ROUNDS says how many of each (30; `make soak` takes 1,000 and more), SEED repeats a run."""
import csv
import hashlib
import io
import json
import os
import random
import shutil
import sqlite3
import subprocess
import tempfile
import time
import unittest

import tables
from alisio_test import ROOT, main
from engine_client import Engine, Refused

ROUNDS = int(os.environ.get("ROUNDS") or 30)
SEED = int(os.environ.get("SEED") or time.time())
SOAK = ROUNDS >= 100
SEGMENTS = max(1, ROUNDS // 100)  # files of several segments
DUCKDB = os.path.join(ROOT, "tests/bench/duckdb.mjs")
NO_DUCKDB = None if os.path.isdir(os.path.join(ROOT, "vendor/bench/node_modules/@duckdb")) and shutil.which("node") else \
    "DuckDB is not there: npm ci --prefix vendor/bench"

csv.field_size_limit(1 << 30)


class EngineCase(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="rounds-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.out = os.path.join(self.dir, "out.sqlite")
        self.engine = Engine(self.dir)
        self.addCleanup(self.engine.close)
        # Only an engine whose first file is packed can read such files.
        self.ingest(self.workbook(random.Random(1), tables.Table(["a"], [[1]])))

    def each(self, body, times=ROUNDS):
        """Calls body with a source of chance for each round; what fails says how to repeat it."""
        for number in range(times):
            with self.subTest(round=number, seed=SEED):
                body(random.Random(f"{SEED} {body.__name__} {number}"))

    def ingest(self, written, **more):
        return self.engine.ingest(written.data, self.out, written.name, **written.options, **more)

    def rows(self):
        db = tables.open_dataset(self.out)
        try:
            return db.execute("SELECT * FROM data ORDER BY rowid").fetchall()
        finally:
            db.close()

    def workbook(self, chance, table):
        return tables.Xlsx(chance, table, tables.Table(["k", "v"], [["007", 1.5], [None, None], ["x", True]]))

    def assert_same(self, got, want):
        self.assertIsNone(tables.first_difference(got, want))

    def check(self, written, answer):
        """The dataset at self.out is what was written."""
        db = tables.open_dataset(self.out)
        try:
            self.assertEqual(db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            self.assertEqual([sheet["table"] for sheet in answer["sheets"]], [table for table, _, _ in written.sheets])
            for table, labels, rows in written.sheets:
                self.check_table(db, table, labels, rows)
            self.assertEqual((answer["rows"], answer["irregularRows"]), (sum(len(rows) for _, _, rows in written.sheets), written.irregular))
            self.assertEqual(answer["encoding"], written.encoding)
        finally:
            db.close()

    def check_table(self, db, table, labels, rows):
        names = tables.names_of(labels)
        known = db.execute("SELECT name, label FROM _alisio_columns WHERE table_name = ? ORDER BY ordinal", (table,)).fetchall()
        self.assertEqual([name for name, _ in known], names)
        self.assertEqual([label for _, label in known], [tables.cut(given or name, tables.LABEL) for given, name in zip(labels, names)])
        cursor = db.execute(f'SELECT * FROM "{table}" ORDER BY rowid')
        self.assertEqual([column[0] for column in cursor.description], names)
        self.assert_same(cursor.fetchall(), rows)
        self.assertEqual(db.execute(f'SELECT count(*), max(rowid) FROM "{table}"').fetchone(), (len(rows), len(rows) or None))
        self.assertEqual(tables.statistics_differ(db, table), [])


class Rounds(EngineCase):
    """A writer of our own, by chance in one of its many ways, and back."""

    def csv_round(self, chance):
        written = tables.Csv(chance, tables.random_table(chance))
        answer = self.ingest(written)
        self.check(written, answer)
        self.assertEqual(answer["delimiter"], written.delimiter)

    def test_csv(self):
        self.each(self.csv_round)

    def json_round(self, chance):
        written = tables.Json(chance, tables.random_table(chance))
        answer = self.ingest(written)
        self.check(written, answer)
        self.assertEqual(answer["format"], written.name.split(".")[1])

    def test_json(self):
        self.each(self.json_round)

    def xlsx_round(self, chance):
        written = self.workbook(chance, tables.random_table(chance))
        self.check(written, self.ingest(written))

    def test_xlsx(self):
        self.each(self.xlsx_round)


class SameBytes(EngineCase):
    """The dataset depends on the bytes of the file only."""

    def digest(self):
        with open(self.out, "rb") as f:
            return hashlib.sha256(f.read()).digest()

    def check_threads(self, written):
        self.check(written, self.ingest(written, threads=2))
        first = self.digest()
        for threads in 1, *((3, 64) if SOAK else ()):
            self.ingest(written, threads=threads)
            self.assertEqual(self.digest(), first, f"{threads} threads")

    def segments_round(self, chance):
        self.check_threads(self.kind(chance, 3 * tables.SEGMENT + chance.randint(1, tables.SEGMENT // 8)))

    def test_whatever_the_threads_and_borders(self):
        for self.kind in tables.CsvSegments, tables.JsonSegments:
            self.each(self.segments_round, SEGMENTS)

    def workbook_round(self, chance):
        made = tables.CsvSegments(chance, tables.SEGMENT + (1 << 20))
        self.check_threads(tables.Xlsx(chance, made, tables.random_table(chance)))

    def test_of_large_sheets(self):
        self.each(self.workbook_round, SEGMENTS)

    def small_round(self, chance):
        table = tables.random_table(chance)
        self.check_threads(chance.choice([tables.Csv, tables.Json, self.workbook])(chance, table))

    def test_of_small_files(self):
        self.each(self.small_round, ROUNDS // 4)


def csv_module(text, delimiter):
    """What Python's csv module reads, blank lines aside; None where a quote is left open."""
    read = lambda more: [row for row in csv.reader(io.StringIO(text + more, newline=""), delimiter=delimiter) if row]
    return read("") if read("\nZ")[-1] == ["Z"] else None


class Oracles(EngineCase):
    """Other readers read the same texts from the same file."""

    def text_round(self, chance):
        delimiter = chance.choice(",;\t|")
        pieces = [delimiter, '"', '""', "\n", "\r\n", "\r", "a", "1", " ", "é", "007", "1.50", delimiter * 2]
        weights = [chance.choice([1, 1, 4]) for _ in pieces]
        text = "h" + "".join(chance.choices(pieces, weights, k=chance.randint(0, 60)))
        rows = csv_module(text, delimiter)
        try:
            self.engine.ingest(text.encode(), self.out, "data.csv", delimiter=delimiter, header=True, format="csv")
        except Refused as refused:
            self.assertIsNone(rows, repr(text))
            self.assertRegex(str(refused), "never closed")
            return
        self.assertIsNotNone(rows, repr(text))
        width = len(rows[0])
        self.assert_same(self.rows(), [[tables.cell_of(t) for t in (row + [""] * width)[:width]] for row in rows[1:]])

    def test_the_csv_module_on_any_text(self):
        """Leniency included: quotes at odd places, ragged rows, line ends of every kind."""
        self.each(self.text_round, ROUNDS * 5)

    def well_formed(self, chance):
        """CSV that every reader agrees on: in UTF-8, no row ragged or blank, LF or CRLF, of two or more columns."""
        table = tables.random_table(chance)
        while not (2 <= len(table.labels) <= 300 and table.rows):
            table = tables.random_table(chance)
        written = tables.Csv(chance, tables.Table(table.labels, []))
        written.ends = chance.choice([["\n"], ["\r\n"]])
        texts = [[tables.text_of(v) for v in row] for row in table.rows]
        written.data = "".join(map(written.line, [[f"c{i}" for i in range(len(table.labels))], *texts])).encode()
        return written

    def import_round(self, chance):
        path, other = os.path.join(self.dir, "in.csv"), os.path.join(self.dir, "other.sqlite")
        written = self.well_formed(chance)
        self.ingest(written)
        with open(path, "wb") as f:
            f.write(written.data)
        if os.path.exists(other):
            os.unlink(other)
        columns = ",".join(f"c{i} TEXT" for i in range(len(written.labels)))
        separator = "\\t" if written.delimiter == "\t" else written.delimiter
        done = subprocess.run(["sqlite3", other], text=True, capture_output=True, input=(
            f'CREATE TABLE t({columns});\n.mode csv\n.separator "{separator}" "\\n"\n.import --skip 1 {path} t\n'))
        self.assertEqual(done.stderr, "")
        db = sqlite3.connect(other)
        rows = db.execute("SELECT * FROM t ORDER BY rowid").fetchall()
        db.close()
        self.assert_same(self.rows(), [[tables.cell_of(t) for t in row] for row in rows])

    def test_import_of_the_sqlite3_shell(self):
        self.each(self.import_round, ROUNDS // 4)

    def duckdb(self, *args, stdin=""):
        done = subprocess.run(["node", DUCKDB, *args], input=stdin, text=True, capture_output=True, timeout=600)
        return json.loads(done.stdout) if done.returncode == 0 else self.fail(done.stderr)

    def duckdb_round(self, chance):
        path = os.path.join(self.dir, "in.csv")
        written = self.well_formed(chance)
        self.ingest(written)
        with open(path, "wb") as f:
            f.write(written.data)
        columns = [f"c{i}" for i in range(len(written.labels))]
        rows, = self.duckdb("texts", stdin=json.dumps([{"file": path, "delimiter": written.delimiter, "columns": columns}]))
        self.assert_same(self.rows(), [[tables.cell_of(t or "") for t in row] for row in rows])

    if SOAK:
        @unittest.skipIf(NO_DUCKDB, NO_DUCKDB)
        def test_duckdb(self):
            self.each(self.duckdb_round, ROUNDS // 20)

        @unittest.skipIf(NO_DUCKDB, NO_DUCKDB)
        def test_the_sqlite_reader_of_duckdb(self):
            self.ingest(tables.CsvSegments(random.Random(SEED), 1 << 20))
            done = subprocess.run(["node", DUCKDB, "dataset", self.out, "SELECT count(*), count(note), max(n) FROM dataset.data"],
                                  text=True, capture_output=True, timeout=60)
            if "Failed to download extension" in done.stderr:
                self.skipTest("DuckDB cannot fetch its SQLite reader here")
            rows = self.rows()
            self.assertEqual(list(map(int, json.loads(done.stdout)[0])), [len(rows), sum(row[1] is not None for row in rows), len(rows)])


main()
