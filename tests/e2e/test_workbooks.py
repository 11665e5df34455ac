#!/usr/bin/env python3
"""Workbooks as other programs write them come out as the CSV file of the same table does."""
import os
import shutil
import sqlite3
import subprocess
import sys
import unittest

from alisio_test import ROOT, Case, main

WRITERS = os.path.join(ROOT, "tests", "e2e", "workbook_writers.py")
OFFICE = shutil.which("soffice") or shutil.which("libreoffice")


def python_with(module):
    """A Python that has the module: this one or the system's."""
    for python in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(python) and subprocess.run([python, "-c", f"import {module}"], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    raise unittest.SkipTest(f"no Python here has {module}")


class Workbooks(Case):
    def write(self, library, name):
        path = os.path.join(self.dir, name)
        python = sys.executable if library == "csv" else python_with(library)
        subprocess.run([python, WRITERS, library, path], check=True)
        return path

    def inspect(self, path):
        """The description and, by table, all rows."""
        doc = self.json("data", "inspect", path)
        with sqlite3.connect(f"file:{doc['dataset']['path']}?mode=ro&immutable=1", uri=True) as db:
            self.assertEqual(db.execute("PRAGMA integrity_check").fetchone(), ("ok",))
            return doc, {sheet["table"]: db.execute(f'SELECT * FROM "{sheet["table"]}"').fetchall() for sheet in doc["sheets"]}

    def assert_same_rows(self, got, want):
        self.assertEqual(len(got), len(want))
        for number, (a, b) in enumerate(zip(got, want), 1):
            self.assertEqual([(type(x), x) for x in a], [(type(x), x) for x in b], f"row {number}")

    def compare_with_csv(self, path, file_format):
        book, tables = self.inspect(path)
        plain, rows = self.inspect(self.write("csv", "plain.csv"))
        self.assertEqual(book["dataset"]["format"], file_format)
        self.assertEqual([(sheet["name"], sheet["table"]) for sheet in book["sheets"]], [("Sales", "s_sales"), ("Hidden", "s_hidden")])
        self.assert_same_rows(tables["s_sales"], rows["data"])
        self.assertEqual(book["sheets"][0]["columns"], plain["sheets"][0]["columns"])
        self.assertEqual(book["sheets"][0]["sample"], plain["sheets"][0]["sample"])
        self.assertRegex(" ".join(book["notes"]), "Hidden.*Empty")
        return plain

    def test_openpyxl(self):
        self.compare_with_csv(self.write("openpyxl", "o.xlsx"), "xlsx")

    def test_xlsxwriter(self):
        plain = self.compare_with_csv(self.write("xlsxwriter", "x.xlsx"), "xlsx")
        types = [column["type"] for column in plain["sheets"][0]["columns"]]
        self.assertEqual(types, ["integer", "text", "real", "real", "boolean", "date", "date", "text", "text", "text", "integer", "integer",
                                 "integer", "text", "integer"])

    def convert(self, path, kind):
        """With LibreOffice, which has a home of its own here."""
        subprocess.run([OFFICE, f"-env:UserInstallation=file://{self.top}/office", "--headless", "--convert-to", kind,
                        "--outdir", os.path.join(self.top, "converted"), path], check=True, timeout=120,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return os.path.join(self.top, "converted", os.path.splitext(os.path.basename(path))[0] + "." + kind.split(":")[0])

    @unittest.skipUnless(OFFICE, "LibreOffice is not here")
    def test_libreoffice(self):
        path = self.write("xlsxwriter", "x.xlsx")
        self.compare_with_csv(self.convert(path, "xlsx"), "xlsx")
        self.compare_with_csv(self.convert(path, "ods"), "ods")


main()
