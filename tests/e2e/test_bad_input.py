#!/usr/bin/env python3
"""Files that are no tables, no longer tables, or traps: each gets the error that cli-json promises, says where, costs little
and leaves nothing. Each is read by an engine of its own, whose memory is that file's doing."""
import bz2
import functools
import gzip
import io
import json
import lzma
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import zipfile

import workbook
from alisio_test import ALISIO, Case, main
from engine_client import Engine, Gone, Refused

MIB = 1 << 20
SAN = "san" in os.environ.get("B", "")
MEMORY = 64 * MIB * (8 if SAN else 1)
SECONDS = 10  # of processor time, for what takes less than 1

INVALID, LIMIT, UNSUPPORTED = "ingest_invalid", "ingest_limit", "dataset_unsupported"


def zipped(files, method=zipfile.ZIP_DEFLATED):
    """files: a dict, or the bytes of the only one."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as z:
        for name, content in (files if isinstance(files, dict) else {"a.csv": files}).items():
            z.writestr(name, content)
    return data.getvalue()


def zstd(data):
    return subprocess.run(["zstd", "-q", "-1"], input=data, stdout=subprocess.PIPE, check=True).stdout


PACKERS = {
    "gzip": functools.partial(gzip.compress, compresslevel=1),
    "xz": functools.partial(lzma.compress, preset=0),
    "zstd": zstd,
    "bzip2": functools.partial(bz2.compress, compresslevel=1),
    "zip": zipped,
    "zip of bzip2": functools.partial(zipped, method=zipfile.ZIP_BZIP2),
    "zip of lzma": functools.partial(zipped, method=zipfile.ZIP_LZMA),
}


def flagged(data):
    """A zip whose entries say that they are encrypted."""
    out = bytearray(data)
    for mark, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        for found in re.finditer(re.escape(mark), data):
            out[found.start() + at] |= 1
    return bytes(out)


def without_directory(data):
    return data[:data.index(b"PK\1\2")]


SHEET, STRINGS = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"


@functools.cache
def book_parts():
    data = io.BytesIO()
    workbook.write(data, [("Prices", [["a", "b"], ["x", 1], ["y", 2.5]])])
    with zipfile.ZipFile(data) as z:
        return {name: z.read(name).decode() for name in z.namelist()}


def book(parts=None, method=zipfile.ZIP_DEFLATED, **more):
    """A workbook of one sheet; parts: name: its text instead, or None to leave it out. sheet, strings: those two."""
    parts = {**book_parts(), **(parts or {})}
    for name, part in (("sheet", SHEET), ("strings", STRINGS)):
        if name in more:
            parts[part] = more[name]
    return zipped({name: text for name, text in parts.items() if text is not None}, method)


def sheet(rows, head="", tail="</sheetData></worksheet>"):
    return f'<?xml version="1.0"?>{head}<worksheet xmlns="{workbook.MAIN}"><sheetData>{rows}{tail}'


def inline(text):
    return f'<row r="1"><c r="A1" t="inlineStr"><is><t>{text}</t></is></c></row>'


def strings(items, head=""):
    return f'{head}<sst xmlns="{workbook.MAIN}">{items}</sst>'


def open_document(content, manifest=""):
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    return zipped({"mimetype": kind, "content.xml": content, "META-INF/manifest.xml": manifest or "<manifest/>"})


TEN_TO_THE_12 = ('<!DOCTYPE a [<!ENTITY a "ha">'
                 + "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(12)) + "]>")


class EngineCase(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="bad-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.out = os.path.join(self.dir, "out.sqlite")

    def read(self, data, name, **fields):
        """(the answer or the error, seconds of processor time, bytes of memory at the peak)"""
        with Engine(self.dir) as engine:
            try:
                answer = engine.ingest(data, self.out, name, **fields)
            except Refused as refused:
                answer = refused.error
                self.assertEqual(os.path.getsize(self.out), 0)
            except Gone:
                self.fail("the engine died")
            with open(f"/proc/{engine.process.pid}/stat") as f:
                times = f.read().rsplit(")", 1)[1].split()
                seconds = (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")
            with open(f"/proc/{engine.process.pid}/status") as f:
                peak = int(re.search(r"VmHWM:\s*(\d+)", f.read())[1]) * 1024
        self.assertLess(seconds, SECONDS)
        return answer, seconds, peak

    def refuses(self, cases):
        """cases: label: (name, bytes, code, what the error has to hold: fields, or words of the message)"""
        for label, (name, data, code, *wanted) in cases.items():
            with self.subTest(label):
                error, _, peak = self.read(data, name)
                self.assertEqual(error.get("code"), code, str(error)[:500])
                self.assertLess(peak, MEMORY)
                for want in wanted:
                    if isinstance(want, dict):
                        self.assertEqual({key: error.get(key) for key in want}, want)
                    else:
                        self.assertIn(want.lower(), error["message"].lower())


class BadInput(EngineCase):
    TEXT = b"id,city\n" + b"".join(b"%d,city %d\n" % (i, i * i % 97) for i in range(30000))

    def test_truncated(self):
        cases = {"quotes": ("a.csv", b'a,b\n1,2\n3,"open\n4,5\n', INVALID, {"line": 3}),
                 "magic only": ("a.gz", b"\x1f\x8b", INVALID, {"reason": "truncated"}),
                 "zip's first bytes": ("a.zip", b"PK\3\4\x14\0", INVALID)}
        for kind, packer in PACKERS.items():
            data = packer(self.TEXT)
            for part in (0.1, 0.5, 0.99):
                cases[f"{kind} {part}"] = ("a.csv", data[:int(len(data) * part)], INVALID)
        self.refuses(cases)

    def test_truncated_json(self):
        rows = [json.dumps({"id": i, "city": f"city {i}"}) for i in range(20000)]
        array, lines = "[" + ",\n".join(rows) + "]", "\n".join(rows)
        cases = {}
        for part in (0.1, 0.5, 0.999):
            for name, text in (("a.json", array), ("a.jsonl", lines)):
                cut = text[:int(len(text) * part)].rstrip("}\n")
                cases[f"{name} {part}"] = (name, cut.encode(), INVALID, {"line": cut.count("\n") + 1})
                cases[f"{name} {part}, packed"] = (name, gzip.compress(cut.encode()), INVALID, {"line": cut.count("\n") + 1})
        cases["open"] = ("a.json", b"[", INVALID)
        cases["object"] = ("a.json", b'{"a":', INVALID)
        self.refuses(cases)

    def test_truncated_workbooks(self):
        whole, text = book(), book_parts()[SHEET]
        cases = {f"file {part}": ("a.xlsx", whole[:int(len(whole) * part)], INVALID) for part in (0.01, 0.1, 0.5, 0.9, 0.999)}
        cases["sheet"] = ("a.xlsx", book(sheet=text[:-30]), INVALID, SHEET)
        cases["empty sheet part"] = ("a.xlsx", book(sheet=""), INVALID, SHEET)
        cases["strings"] = ("a.xlsx", book(strings=book_parts()[STRINGS][:-9]), INVALID, STRINGS)
        cases["no sheet"] = ("a.xlsx", book({SHEET: None}), INVALID, SHEET)
        cases["no workbook part"] = ("a.xlsx", book({"xl/workbook.xml": None}), INVALID)
        cases["ods"] = ("a.ods", open_document("<office:document-content"), INVALID, "content.xml")
        self.refuses(cases)

    def test_damaged_workbooks(self):
        stored = book(method=zipfile.ZIP_STORED)
        at = stored.index(b"<sheetData>") + 20
        cases = {"wrong checksum": ("a.xlsx", stored[:at] + bytes([stored[at] ^ 1]) + stored[at + 1:], INVALID, SHEET),
                 "tags that do not fit": ("a.xlsx", book(sheet=sheet("<row></c>")), INVALID, SHEET),
                 "no XML": ("a.xlsx", book(sheet="id,city"), INVALID, SHEET),
                 "string that is not there": ("a.xlsx", book(sheet=sheet('<row r="1"><c r="A1" t="s"><v>99</v></c></row>')), INVALID, "Prices"),
                 "strings that are no UTF-8": ("a.xlsx", book(strings=strings("<si><t>\xff</t></si>").encode("latin-1")), INVALID, STRINGS),
                 "ods": ("a.ods", open_document("<a></b>"), INVALID, "content.xml")}
        self.refuses(cases)

    def test_damaged_json(self):
        good = b'{"a":1,"b":"x"}\n'
        for name in ("a.json", "a.jsonl", "a.csv"):
            for bad, column in ((b'{"a":}', 6), (b'{"a" 1}', 6), (b"{a:1}", 2), (b'{"a":01}', None), (b'{"a":"\x01"}', None),
                                (b'{"a":NaN}', 6), (b'{"a":1}}', 8), (b'{"a":"\\x"}', None)):
                error, _, _ = self.read(good * 5000 + bad + b"\n" + good * 10, name)
                self.assertEqual((error.get("code"), error.get("line")), (INVALID, 5001), (name, bad, error))
                if column:
                    self.assertEqual(error["column"], column, (name, bad))

    def test_damaged(self):
        chance, cases = random.Random(4), {}
        for kind, packer in PACKERS.items():
            data = packer(self.TEXT)
            for i in range(3):
                at = chance.randrange(len(data) // 10, len(data) * 8 // 10)
                cases[f"{kind} {at}"] = ("a.csv", data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1:], INVALID)
        whole = zipped(self.TEXT)
        cases["zip without its directory"] = ("a.zip", without_directory(whole), INVALID)
        cases["zip that lies about sizes"] = ("a.zip", whole.replace(len(self.TEXT).to_bytes(4, "little"),
                                                                     (4).to_bytes(4, "little")), INVALID, "a.csv")
        cases["gzip with something behind"] = ("a.gz", gzip.compress(self.TEXT) + b"x", INVALID, {"reason": "trailing"})
        self.refuses(cases)

    def test_encrypted(self):
        ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504) + "EncryptedPackage".encode("utf-16le") + bytes(2000)
        self.refuses({"zip": ("a.zip", flagged(zipped(self.TEXT)), UNSUPPORTED, "encrypted", "a.csv", {"reason": "encrypted"}),
                      "workbook": ("a.xlsx", ole, UNSUPPORTED, "encrypted"),
                      "sheet of a workbook": ("a.xlsx", flagged(book()), UNSUPPORTED, "encrypted"),
                      "7z": ("a.7z", b"7z\xbc\xaf\x27\x1c\0\4" + bytes(100), UNSUPPORTED, "7z")})

    def test_binary(self):
        chance = random.Random(5)
        noise = bytes(chance.randrange(256) for _ in range(20000))
        cases = {"noise": ("a.csv", b"\x00" + noise, INVALID, {"reason": "binary"}),
                 "noise, unnamed": ("a", b"\x00" + noise, INVALID),
                 "noise named .xlsx": ("a.xlsx", b"\x00" + noise, INVALID),
                 "zeros": ("a.csv", bytes(100000), INVALID),
                 "program": ("a.csv", open("/bin/true", "rb").read(), UNSUPPORTED, "program"),
                 "packed noise": ("a.csv.gz", gzip.compress(b"\x00" + noise), INVALID)}
        for magic, word in ((b"PAR1\x15\0", "Parquet"), (b"ARROW1\0\0", "Arrow"), (b"SQLite format 3\0", "SQLite"),
                            (b"%PDF-1.7\n", "PDF"), (b"\x89PNG\r\n\x1a\n\0\0\0\r", "PNG"), (b"Rar!\x1a\7\1\0", "RAR"),
                            (b"Obj\1\4", "Avro"), (b"\x89HDF\r\n\x1a\n\0", "HDF5"), (b"$FL2@(#)\0", "SPSS"),
                            (b"<!DOCTYPE html><table>", "HTML"), (b"<?xml version='1.0'?><a/>", "XML"), (b"{\\rtf1 x}", "RTF")):
            for name in ("a.csv", "a.xlsx"):
                cases[f"{word} named {name}"] = (name, magic + bytes(50) * (magic[:1] not in b"<{%"), UNSUPPORTED, word)
            cases[f"{word} in gzip"] = ("a.csv.gz", gzip.compress(magic + bytes(50)), UNSUPPORTED, word)
            cases[f"{word} in zip"] = ("a.zip", zipped(magic + bytes(50)), UNSUPPORTED, word)
        self.refuses(cases)

    def test_empty(self):
        cases = {}
        for label, data in {"no byte": b"", "mark": b"\xef\xbb\xbf", "utf-16 mark": b"\xff\xfe", "lines": b"\r\n\n\r", "line": b"\n"}.items():
            for name in ("a.csv", "a.tsv", "a"):
                cases[f"{label}, {name}"] = (name, data, INVALID, {"reason": "empty"})
            for name in ("a.json", "a.jsonl"):
                cases[f"{label}, {name}"] = (name, data, INVALID)
            for kind, packer in PACKERS.items():
                if data or kind != "zip of lzma":  # which libarchive takes for damaged
                    cases[f"{label} in {kind}"] = ("a.csv", packer(data), INVALID, {"reason": "empty"})
        cases["zip of nothing"] = ("a.zip", zipped({}), UNSUPPORTED, "empty")
        for name, data in (("a.json", b"[]"), ("a.json", b"{}"), ("a.json", b"[{},{}]"), ("a.jsonl", b"{}\n{}\n"), ("a.csv", b"[]")):
            cases[f"{name} {data}"] = (name, data, INVALID)
        cases["workbook"] = ("a.xlsx", book(sheet=sheet("")), INVALID, {"reason": "empty"})
        cases["cells without values"] = ("a.xlsx", book(sheet=sheet('<row r="1"><c r="A1" s="1"/></row>')), INVALID, {"reason": "empty"})
        cases["ods"] = ("a.ods", open_document("<document-content/>"), INVALID)
        cases["zip of a folder"] = ("a.zip", zipped({"data/": b"", "__MACOSX/._a.csv": b"x"}), UNSUPPORTED, "empty")
        self.refuses(cases)

    def test_only_a_header(self):
        for data, name in ((b"a,b,c", "a.csv"), (b"a\tb\tc\n", "a.tsv"), (b"a,b,c\r\n\r\n", "a"), (gzip.compress(b"a,b,c\n"), "a.gz"),
                           (book(sheet=sheet("<row>" + "".join(f'<c t="inlineStr"><is><t>{c}</t></is></c>' for c in "abc") + "</row>")), "a.xlsx"),
                           (zipped(b"a,b,c\n"), "a.zip"), ("a,b,c\n".encode("utf-16"), "a.csv")):
            answer, _, _ = self.read(data, name)
            self.assertEqual(answer.get("rows"), 0, (name, answer))
            self.assertEqual([c["label"] for c in answer["sheets"][0]["columns"]], ["a", "b", "c"])

    def test_misnamed(self):
        csv = b"a,b\n1,2\n"
        for data, name, wanted in ((csv, "a.xlsx", "csv"), (csv, "a.ods", "csv"), (csv, "a.json", "csv"), (csv, "a.xls", "csv"),
                                   (csv, "a.gz", "csv"), (csv, "a.zip", "csv"), (gzip.compress(csv), "a.csv", "csv"),
                                   (zipped({"x.csv": csv}), "a.csv", "csv"), (zipped({"x.csv": csv}), "a.gz", "csv"),
                                   (lzma.compress(csv), "a.csv.gz", "csv"), (gzip.compress(csv), "a.xlsx", "csv"),
                                   (csv.replace(b",", b"\t"), "a.txt", "tsv"), (b'[{"a":1,"b":2}]', "a.csv", "json"),
                                   (b'{"a":1,"b":2}\n', "a.csv", "json"), (b'[{"a":1,"b":2}]', "a.xlsx", "json"),
                                   (b'[{"a":1,"b":2}]', "a.jsonl", "json"), (gzip.compress(b'[{"a":1,"b":2}]'), "a.csv.gz", "json"),
                                   (zipped({"a.json": b'{"a":1,"b":2}'}), "a.csv", "json"), (csv, "a.jsonl", "csv")):
            answer, _, _ = self.read(data, name)
            self.assertEqual((answer.get("format"), answer.get("rows")), (wanted, 1), (name, answer))

    def test_misnamed_lines_and_workbooks(self):
        lines = b'{"a":1}\n{"a":2}\n'
        for data, name, wanted in ((lines, "a.csv", "jsonl"), (lines, "a.txt", "jsonl"), (lines, "a", "jsonl"), (lines, "a.xlsx", "jsonl"),
                                   (book(), "a.csv", "xlsx"), (book(), "a.json", "xlsx"), (book(), "a", "xlsx"), (book(), "a.ods", "xlsx"),
                                   (book(), "a.zip", "xlsx"), (b"#!/bin/sh\n" + book(), "a.xlsx", "xlsx")):
            answer, _, _ = self.read(data, name)
            self.assertEqual((answer.get("format"), answer.get("rows")), (wanted, 2), (name, answer))
        answer, _, _ = self.read(lines, "a.json")
        self.assertIn(answer.get("format"), ("json", "jsonl"), answer)
        self.assertEqual(answer["rows"], 2)

    def test_what_no_table_is_this_long(self):
        for label, data in (("line", b"x" * (9 * MIB)), ("columns", b"x," * (5 * MIB)), ("quotes", b'a\n"' + b"x\n" * (5 * MIB)),
                            ("late line", b"a,b\n1,2\n" * 1000 + b"y" * (9 * MIB)), ("late row", b"a\n1\n" + b"," * (9 * MIB))):
            with self.subTest(label):
                answer, _, peak = self.read(data, "a.csv")
                if label != "late row":  # that is trimmed, and said to be
                    self.assertEqual(answer.get("code"), LIMIT, str(answer)[:500])
                self.assertLess(peak, 2 * MEMORY)


class Bombs(EngineCase):
    """Little that becomes much: each within a second, on an idle machine, and 64 MB."""

    def contents(self):
        size = 17 * MIB  # 16 may come out of a small file
        yield "zeros", bytes(size), (INVALID, LIMIT)
        yield "line", b"x" * size, (LIMIT,)
        yield "rows", b"a,b\n" + b"1,2\n" * (size // 4), (LIMIT,)
        yield "blank lines", b"a,b\n" + b"\n" * size, (LIMIT,)
        yield "commas", b"a,b\n" + b"," * size, (LIMIT,)
        yield "quotes", b"a\n" + b'"' * size, (LIMIT,)
        yield "open quote", b'a,b\n"' + b"x\n" * (size // 2), (LIMIT,)
        yield "cells", b"a\n" + (b"y" * 999999 + b"\n") * 18, (LIMIT,)
        yield "columns", b",".join(b"c%d" % i for i in range(1000)) + b"\n" + (b"," * 999 + b"\n") * 18000, (LIMIT,)
        yield "utf-16", "a,b\n".encode("utf-16") + "1,2\n".encode("utf-16le") * (size // 8), (LIMIT,)

    def bombs(self):
        for label, data, codes in self.contents():
            for kind, packer in PACKERS.items():
                if kind.startswith(("bzip2", "zip of")) and label != "zeros":
                    continue  # packing these takes long
                packed = packer(data)
                yield f"{label} in {kind}", packed, codes
                if label in ("zeros", "rows"):
                    yield f"{label} in {kind}, packed again", gzip.compress(packed), (UNSUPPORTED,)
        yield from self.json_bombs()
        yield from self.workbook_bombs()
        member = gzip.compress(b"north,south,east,west\n" * (MIB // 2), 9)
        yield "members", gzip.compress(b"a,b\n") + member * 4, (LIMIT,)
        yield "empty members", gzip.compress(b"") * 50000, (INVALID,)
        yield "zeros behind", gzip.compress(b"a,b\n1,2\n") + bytes(20 * MIB), (None,)
        block = bz2.compress(b"a" * 900000)
        yield "blocks", block * 2000, (LIMIT,)
        yield "xz streams", lzma.compress(b"a,b,c,d,e,f\n" * (MIB // 4)) * 100, (LIMIT,)
        yield "empty zstd frames", zstd(b"") * 100000, (INVALID,)
        yield "zip in zip", zipped({"a.zip": zipped({"b.zip": zipped(bytes(10 * MIB))})}), (UNSUPPORTED,)
        yield "many entries", self.many(70000, b"n"), (LIMIT, UNSUPPORTED, INVALID)
        yield "long names", self.many(300, b"n" * 60000), (LIMIT,)
        yield "overlapping entries", self.overlapping(30000), (LIMIT, INVALID, UNSUPPORTED)
        yield "an entry of 4 GiB, it says", zipped(b"a\n1\n", zipfile.ZIP_STORED).replace(
            (4).to_bytes(4, "little") * 2, b"\xfe\xff\xff\xff" * 2), (INVALID, LIMIT)

    @staticmethod
    def json_bombs():
        """Named .csv all the same."""
        yield "deep lists", b"[" * 2000000, (LIMIT,)
        yield "deep objects", b'{"a":' * 1000000, (LIMIT,)
        yield "deep cell", b'[{"a":' + b"[" * 1000000 + b"]" * 1000000 + b"}]", (LIMIT,)
        yield "keys", b"[{" + b",".join(b'"k%d":1' % i for i in range(200000)) + b"}]", (LIMIT,)
        yield "a key a line", b"\n".join(b'{"k%d":1}' % i for i in range(100000)), (LIMIT,)
        yield "digits", b'[{"a":' + b"1" * (5 * MIB) + b"}]", (LIMIT,)
        yield "open string", b'[{"a":"' + b"x" * (20 * MIB), (LIMIT,)
        yield "long key", b'[{"' + b"k" * (20 * MIB) + b'":1}]', (LIMIT, INVALID)
        yield "escapes", b'[{"a":"' + b"\\u0041" * 3000000 + b'"}]', (LIMIT,)
        yield "long list in a cell", b'[{"a":[' + b"1," * 5000000 + b"1]}]", (LIMIT,)
        for kind in ("gzip", "zip", "xz"):
            yield f"objects in {kind}", PACKERS[kind](b'[{"a":1}' + b',{"a":1,"b":2}' * (17 * MIB // 14) + b"]"), (LIMIT,)
            yield f"lines in {kind}", PACKERS[kind](b'{"a":1,"b":2}\n' * (17 * MIB // 14)), (LIMIT,)
            yield f"space in {kind}", PACKERS[kind](b'{"a":1}\n' + b" " * (17 * MIB)), (LIMIT,)

    @staticmethod
    def workbook_bombs():
        yield "entities", book(sheet=sheet(inline("&m;"), TEN_TO_THE_12)), (INVALID,)
        yield "entities in strings", book(strings=strings("<si><t>&m;</t></si>", TEN_TO_THE_12)), (INVALID,)
        yield "an entity from outside", book(sheet=sheet(inline("&a;"), '<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/passwd">]>')), (INVALID,)
        yield "deep elements", book(sheet=sheet("<a>" * 1000000)), (INVALID,)
        yield "deep elements in strings", book(strings=strings("<si>" * 1000000)), (INVALID,)
        yield "long attribute", book(sheet=sheet(f'<row r="{"1" * (16 * MIB)}"/>')), (INVALID, LIMIT)
        yield "long text", book(sheet=sheet(inline("x" * (16 * MIB - 1000)))), (LIMIT,)
        yield "long name", book(sheet="<" + "x" * (17 * MIB)), (INVALID, LIMIT)
        yield "long comment", book(sheet=sheet("<!--" + "-x" * (8 * MIB))), (INVALID, LIMIT)
        yield "long CDATA", book(sheet=sheet(inline("<![CDATA[" + "x" * (17 * MIB)))), (INVALID, LIMIT)
        yield "attributes", book(sheet=sheet("<row " + " ".join(f'a{i}="1"' for i in range(500000)) + "/>")), (INVALID, LIMIT)
        yield "references", book(sheet=sheet(inline("&amp;" * 3000000))), (INVALID, LIMIT)
        yield "zeros", book(sheet=bytes(17 * MIB)), (INVALID, LIMIT)
        yield "space", book(sheet=sheet(" " * (17 * MIB))), (LIMIT,)
        yield "empty rows", book(sheet=sheet("<row/>" * (17 * MIB // 6))), (INVALID, LIMIT)
        yield "far cell", book(sheet=sheet('<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>')), (LIMIT,)
        yield "cell beyond", book(sheet=sheet('<row r="99999999999999"><c r="ZZZZZZZ99999999999999"><v>1</v></c></row>')), (LIMIT, INVALID)
        yield "one string, often", book(sheet=sheet('<row><c t="s"><v>0</v></c></row>' * 3000),
                                        strings=strings(f"<si><t>{'y' * 900000}</t></si>")), (LIMIT,)
        yield "many strings", book(strings=strings("<si/>" * 3000000)), (INVALID, LIMIT, None)
        yield "sheets", book({"xl/workbook.xml": f'<workbook xmlns="{workbook.MAIN}" xmlns:r="{workbook.RELATIONS}"><sheets>' + "".join(
            f'<sheet name="S{i}" sheetId="{i}" r:id="rId1"/>' for i in range(1, 100000)) + "</sheets></workbook>"}), (LIMIT,)
        yield "gaps", book(sheet=sheet('<row><c r="ALL1"><v>1</v></c></row>' * 400000)), (LIMIT,)
        yield "narrow rows below a wide one", book(sheet=sheet('<row><c r="ALL1"><v>1</v></c></row>' + "<row><c><v>1</v></c></row>" * 500000)), (None,)
        yield "columns of many sheets", book({f"xl/worksheets/sheet{i}.xml": sheet("<row>" + "<c><v>1</v></c>" * 1000 + "</row>") for i in range(1, 101)} | {
            "xl/workbook.xml": f'<workbook xmlns="{workbook.MAIN}" xmlns:r="{workbook.RELATIONS}"><sheets>' + "".join(
                f'<sheet name="S{i}" sheetId="{i}" r:id="rId{i}"/>' for i in range(1, 101)) + "</sheets></workbook>",
            "xl/_rels/workbook.xml.rels": workbook.relations(
                [(f"rId{i}", workbook.RELATIONS + "/worksheet", f"worksheets/sheet{i}.xml") for i in range(1, 101)])}), (LIMIT,)
        yield "a part of many sheets", book({"xl/workbook.xml": f'<workbook xmlns="{workbook.MAIN}" xmlns:r="{workbook.RELATIONS}"><sheets>' + "".join(
            f'<sheet name="S{i}" sheetId="{i}" r:id="rId1"/>' for i in range(1, 900)) + "</sheets></workbook>"}), (INVALID,)
        yield "a workbook in gzip", gzip.compress(book()), (UNSUPPORTED,)
        names = " ".join(f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for prefix, name in
                         (("office", "office"), ("table", "table"), ("text", "text")))
        for label, row, cell in (("rows", 1000000000, 1), ("cells", 1, 1000000000), ("both", 1000000, 1000)):
            yield f"repeated {label}", open_document(
                f'<office:document-content {names}><office:body><office:spreadsheet><table:table table:name="S"><table:table-row '
                f'table:number-rows-repeated="{row}"><table:table-cell office:value-type="string" table:number-columns-repeated="{cell}">'
                f"<text:p>{'y' * 900}</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet></office:body>"
                "</office:document-content>"), (LIMIT,)

    @staticmethod
    def many(count, name):
        head = b"\x14\0\0\0\0\0\0\0\x21\0" + bytes(12) + len(name).to_bytes(2, "little") + bytes(2)
        local = (b"PK\3\4" + head + name) * count
        step = len(local) // count
        central = b"".join(b"PK\1\2\x14\0" + head + bytes(10) + (i * step).to_bytes(4, "little") + name for i in range(count))
        few = (count & 0xffff).to_bytes(2, "little")
        return local + central + b"PK\5\6" + bytes(4) + few * 2 + len(central).to_bytes(4, "little") + len(local).to_bytes(4, "little") + bytes(2)

    @staticmethod
    def overlapping(count):
        """Every entry is the same 10 MiB of zeros."""
        one = zipped(bytes(10 * MIB))
        at = one.index(b"PK\1\2")
        central, end = one[at:one.index(b"PK\5\6")], one[one.index(b"PK\5\6"):]
        few = count.to_bytes(2, "little")
        return one[:at] + central * count + end[:8] + few * 2 + (len(central) * count).to_bytes(4, "little") + end[16:]

    def test_bombs(self):
        count, slowest, largest = 0, 0, 0
        for label, data, codes in self.bombs():
            count += 1
            with self.subTest(label):
                answer, seconds, peak = self.read(data, "a.csv")
                self.assertIn(answer.get("code"), codes, str(answer)[:500])
                self.assertLess(peak, MEMORY)
                slowest, largest = max(slowest, seconds), max(largest, peak)
        self.assertGreaterEqual(count, 60)
        print(f"{count} bombs, the slowest {slowest:.2f} s, the largest {largest / MIB:.0f} MiB")


class Host(Case):
    """What the program makes of it."""

    SCRIPT = """
local dataset = require "std.dataset"
local fs = require "std.fs"
local dir = fs.cwd()
local engine <close> = dataset.open_engine { tmp = dir .. "/tmp" }
io.stdout:setvbuf "line"
for i = 1, 3 do
  print "begin"
  local made, message, id = engine:ingest { input = dir .. "/big.csv", output = dir .. "/out" .. i .. ".sqlite", name = "big.csv" }
  print(made and "rows " .. made.rows or id .. " " .. message)
end
"""

    def test_it_outlives_its_engine(self):
        with open(os.path.join(self.dir, "big.csv"), "wb") as f:
            f.write(b"a,b,c\n" + b"".join(b"%d,word %d,%d.5\n" % (i, i * 7919 % 9999, i) for i in range(400000)))
        with open(os.path.join(self.dir, "read.lua"), "w") as f:
            f.write(self.SCRIPT)
        process = subprocess.Popen([ALISIO, "script", "read.lua"], cwd=self.dir, env=self.env, stdout=subprocess.PIPE, text=True)
        said = []
        for i in range(3):
            self.assertEqual(process.stdout.readline(), "begin\n")
            if i < 2:
                self.kill_child(process.pid, i * 0.05)
            said.append(process.stdout.readline().strip())
        self.assertEqual(process.wait(30), 0)
        process.stdout.close()
        for line in said[:2]:
            self.assertTrue(line.startswith("engine_failed ") and "signal 9" in line, said)
        self.assertEqual(said[2], "rows 400000")
        self.assertEqual(sorted(name for name in os.listdir(self.dir) if "out" in name), ["out3.sqlite"])
        self.assertEqual(os.listdir(os.path.join(self.dir, "tmp")), [])

    def kill_child(self, parent, delay):
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with open(f"/proc/{parent}/task/{parent}/children") as f:
                for pid in map(int, f.read().split()):
                    with open(f"/proc/{pid}/comm") as comm:
                        if comm.read() != "engine\n":
                            continue
                    time.sleep(delay)
                    os.kill(pid, signal.SIGKILL)
                    return
        self.fail("no engine was started")

    def test_nothing_is_left_and_the_words_say_where(self):
        files = {"cut.csv.gz": (gzip.compress(b"a,b\n1,2\n" * 9000)[:-30], INVALID, "cut short"),
                 "bad.zip": (zipped({"inner.csv": b"a,b\n1,2\n"}, zipfile.ZIP_STORED).replace(b"1,2", b"1,3"), INVALID, "inner.csv"),
                 "bomb.gz": (gzip.compress(b"a,b\n" + b"1,2\n" * (5 * MIB)), LIMIT, "16777216"),
                 "secret.zip": (flagged(zipped(b"a\n1\n")), UNSUPPORTED, "encrypted"),
                 "open.csv": (b'a,b\n1,"2\n', INVALID, "line 2"),
                 "empty.csv": (b"", INVALID, "nothing in it"),
                 "two.zip": (zipped({"a.csv": b"a\n1\n", "b.csv": b"a\n1\n"}), UNSUPPORTED, "2 files"),
                 "photo.csv": (b"\x89PNG\r\n\x1a\n\0\0\0\r", UNSUPPORTED, "PNG")}
        for name, (data, code, word) in files.items():
            with self.subTest(name):
                with open(os.path.join(self.dir, name), "wb") as f:
                    f.write(data)
                done = self.alisio("data", "inspect", name, "--json", status=1)
                error = json.loads(done.stdout)["error"]
                self.assertEqual(error["code"], code)
                self.assertIn(os.path.join(self.dir, name), error["message"])
                self.assertIn(word, error["message"])
        left = [os.path.join(folder, name) for folder, _, names in os.walk(self.top) for name in names
                if folder != self.dir and (".ds_" in name or name.startswith("ds_"))]
        self.assertEqual(left, [])


main()
