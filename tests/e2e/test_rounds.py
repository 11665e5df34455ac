#!/usr/bin/env python3
"""Tables made by chance go through every format and come back cell for cell; other programs read the
same from the same files.

ROUNDS says how many of each (50; `make soak` takes 1,000 and more), SEED repeats a run."""
import csv
import hashlib
import io
import os
import random
import shutil
import sqlite3
import subprocess
import tempfile
import time
import unittest

import tables
from alisio_test import main
from engine_client import Engine, Refused

ROUNDS = int(os.environ.get("ROUNDS") or 50)
SEED = int(os.environ.get("SEED") or time.time())
SEGMENTS = max(1, ROUNDS // 100)  # files of several segments

csv.field_size_limit(1 << 30)


class EngineCase(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="rounds-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.out = os.path.join(self.dir, "out.sqlite")
        self.engine = Engine(self.dir)
        self.addCleanup(self.engine.close)

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

    def assert_same(self, got, want):
        self.assertIsNone(tables.first_difference(got, want))

    def check(self, written, answer):
        """The dataset at self.out is the table that was written."""
        db = tables.open_dataset(self.out)
        try:
            self.assertEqual(db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            names = tables.names_of(written.labels)
            known = db.execute("SELECT name, label FROM _alisio_columns ORDER BY ordinal").fetchall()
            self.assertEqual([name for name, _ in known], names)
            self.assertEqual([label for _, label in known],
                             [tables.cut(given or name, tables.LABEL) for given, name in zip(written.labels, names)])
            cursor = db.execute("SELECT * FROM data ORDER BY rowid")
            self.assertEqual([column[0] for column in cursor.description], names)
            self.assert_same(cursor.fetchall(), written.rows)
            self.assertEqual((answer["rows"], answer["irregularRows"]), (len(written.rows), written.irregular))
            self.assertEqual(db.execute("SELECT count(*), max(rowid) FROM data").fetchone(), (len(written.rows), len(written.rows) or None))
            self.assertEqual(tables.statistics_differ(db), [])
        finally:
            db.close()


class Rounds(EngineCase):
    """A writer of our own, by chance in one of its many ways, and back."""

    def csv_round(self, chance):
        written = tables.Csv(chance, tables.random_table(chance))
        answer = self.ingest(written)
        self.check(written, answer)
        self.assertEqual((answer["encoding"], answer["delimiter"]), (written.encoding, written.delimiter))

    def test_csv(self):
        self.each(self.csv_round)


class SameBytes(EngineCase):
    """The dataset depends on the bytes of the file only."""

    def digest(self, written, **options):
        self.ingest(written, **options)
        with open(self.out, "rb") as f:
            return hashlib.sha256(f.read()).digest()

    def segments_round(self, chance):
        written = tables.Segments(chance, 3 * tables.SEGMENT + chance.randint(0, tables.SEGMENT))
        self.check(written, self.ingest(written, threads=2))
        self.assertEqual(len({self.digest(written, threads=n) for n in (1, 2, 3)}), 1)

    def test_whatever_the_threads_and_borders(self):
        self.each(self.segments_round, SEGMENTS)

    def small_round(self, chance):
        written = tables.Csv(chance, tables.random_table(chance))
        self.assertEqual(len({self.digest(written, threads=n) for n in (1, 2, 64)}), 1)

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
        self.each(self.text_round, ROUNDS * 6)

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


main()
