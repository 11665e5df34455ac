"""Tables made by chance: what they must become, the files they are written to, and the statistics of a
dataset as SQL counts them.

A cell of a table is a Python value: None, int, float, str, bool, and Raw for a number that is to be
written in just that way. The rules are those of docs/datasets.md, written down a second time here and
in other means than the program's (regular expressions, Python's doubles, unicodedata, SQLite).
"""
import calendar
import datetime
import io
import json
import math
import re
import sqlite3
import unicodedata
import zipfile

import workbook

SAFE = 2**53 - 1
SHOWN, LABEL = 200, 512  # bytes of a text in the statistics, of a label
HINT_ROWS = 1000


class Raw(str):
    """A number as it is to be written."""


# ---- cells ----

def digits(text):
    """(significant digits, power of ten of the first one) of a decimal text."""
    mantissa, _, exponent = text.lower().lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    run = (whole + fraction).lstrip("0")
    power = int(exponent or 0) + len(whole) - (len(whole + fraction) - len(run))
    return (run.rstrip("0"), power if run else 0)


def cell_of(text):
    """The cell that a text in a file must become, by Python's own shortest doubles."""
    if text == "":
        return None
    if re.fullmatch(r"-?(0|[1-9][0-9]*)", text):
        return int(text) if text != "-0" and abs(int(text)) <= SAFE else text
    if not re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", text):
        return text
    value = float(text)
    return value if math.isfinite(value) and digits(text) == digits(repr(value)) else text


def text_of(value):
    """How a value is written where all is text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str) else repr(value)


def same(a, b):
    """Whether two cells have the same storage class and value; the sign of a zero counts."""
    return type(a) is type(b) and (a == b and (not isinstance(a, float) or math.copysign(1, a) == math.copysign(1, b)))


def first_difference(got, want):
    """None, or (row, column, got, wanted) of the first cell that differs, in words."""
    for i in range(max(len(got), len(want))):
        if i >= len(got) or i >= len(want) or len(got[i]) != len(want[i]):
            return f"row {i} of {len(got)}, {len(want)}: {got[i:i + 1]!r:.300}, not {want[i:i + 1]!r:.300}"
        for k, (a, b) in enumerate(zip(got[i], want[i])):
            if not same(a, b):
                return f"row {i}, column {k}: {a!r:.300}, not {b!r:.300}"
    return None


# ---- names ----

def names_of(labels):
    """The names of the columns with these headers."""
    taken, names = {"rowid", "oid", "_rowid_"}, []
    for number, label in enumerate(labels, 1):
        folded = "".join(c for c in unicodedata.normalize("NFKD", label) if not unicodedata.category(c).startswith("M"))
        base = re.sub("[^a-z0-9]+", "_", folded.lower()).strip("_")
        base = ("_" + base if base[:1].isdigit() else base)[:48].rstrip("_") or f"column_{number}"
        name, i = base, 2
        while name in taken:
            name, i = base[:48 - len(f"_{i}")] + f"_{i}", i + 1
        taken.add(name)
        names.append(name)
    return names


def cut(text, most=SHOWN):
    """A text as it is shown: cut between two characters and marked."""
    data = text.encode()
    if len(data) <= most:
        return text
    return data[:most].decode(errors="ignore") + "…"


# ---- tables by chance ----

WORDS = ("_x0041_ cash express before noon señal acción Lefèvre Ångström mañana 東京 Ωμέγα привет 😀 👩‍👩‍👧 naïve straße I.V.A. "
         "NULL null N/A nan inf -Infinity true None #REF! =1+1 @x + - . , ; | \t \\ ' ` ~ () [] {} <b> &amp; %d $12").split(" ")
BREAKS = ["\n", "\r\n", "\r", "\n\n", "\u2028", "\u0085", "\v"]
STAYS_TEXT = ["007", "-07", "00", "-0", "+5", ".5", "5.", "1e", "1e400", "-1e999", "0x1F", "1,234", "1 234", "1\u00a0234", "12%", "(12)",
              "9007199254740992", "-9007199254740993", "123456789012345678901234567890", "0.10000000000000001", "1_000", "１２", "٣",
              "1.7976931348623159e308", "5e-325", "12-", "--1", "1.5.2", "1e5.5", " 1", "1 ", "NaN", "Infinity", "0b1", "1,5"]
HEADERS = ["id", "", "Región", "Total ($)", "año de venta", "select", "order by", "a\"b", "line\nbreak", "rowid", "_rowid_", "OID", "x, y", "a;b|c",
           "ﬁnal ½", "№ 5", "Straße", "İstanbul", "東京", "😀", "2024 m²", "  spaced  ", "__", "-", "a" * 60, "a" * 60 + "b", "é" * 200, "Name",
           "name", "NAME", "name_2", "tab\tin", "'quoted'", "per cent %", "column_3", "c" * 49, "\u200bzero", "null", "true", "value.x", "é", "e\u0301"]
KINDS = ("integer", "real", "code", "word", "long", "date", "stamp", "boolean", "mixed", "empty", "constant", "late", "spelled", "broken", "big")


def _text(chance, most):
    parts = []
    for _ in range(chance.randint(1, most)):
        parts.append(chance.choice(WORDS))
        parts.append(chance.choice(BREAKS + ['"', '""', ",", ";", "|"]) if chance.random() < 0.2 else " ")
    return "".join(parts)


def _spelled(chance):
    """A number in one of its spellings."""
    value = chance.choice([chance.randint(-10**6, 10**6), chance.uniform(-1, 1) * 10**chance.randint(-12, 18), 0.1 * chance.randint(0, 99)])
    style = chance.randint(0, 6)
    if isinstance(value, int):
        return Raw([str(value), f"{value}.0", f"{value}.50", f"{value}e0", f"{value}E+2", f"{value}.000", f"{value}e-3"][style])
    return Raw([repr(value), f"{value:.2f}", f"{value:.6f}", f"{value:.17g}", f"{value:.15g}", f"{value:.3e}", f"{value:.9E}"][style])


def _value(chance, kind, row):
    if kind == "mixed":
        kind = chance.choice(KINDS[:8] + ("spelled", "big"))
    if kind == "late":  # a type that changes behind the rows of the hint, or shortly before
        kind = "integer" if row < HINT_ROWS - 5 else chance.choice(("code", "integer", "real"))
    if kind == "integer":
        return chance.choice([chance.randint(-9, 9), chance.randint(0, 10**6), chance.randint(-SAFE, SAFE)])
    if kind == "real":
        return chance.choice([chance.randint(-999, 999) / 8, round(chance.uniform(0, 1000), 2), chance.uniform(-1, 1) * 10.0**chance.randint(-300, 300)])
    if kind == "code":
        return chance.choice(STAYS_TEXT)
    if kind == "word":
        return chance.choice(WORDS)
    if kind == "long":
        return _text(chance, chance.choice([3, 20, 20, 400, 4000]) if chance.random() < 0.2 else 3)
    if kind == "date":
        return f"20{chance.randint(0, 99):02}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
    if kind == "stamp":
        return (f"{chance.randint(1000, 2999)}-02-{chance.choice([1, 28, 29]):02}{chance.choice('T ')}{chance.randint(0, 23):02}:00"
                + chance.choice(["", ":59", ":59.25", ":60Z", "Z", "+02:00", "-0530", "+01"]))
    if kind == "boolean":
        return chance.random() < 0.5
    if kind == "spelled":
        return _spelled(chance)
    if kind == "broken":
        return chance.choice(BREAKS) + _text(chance, 2)
    if kind == "big":
        return Raw(chance.choice(["9007199254740991", "9007199254740992", "-9007199254740991", "18446744073709551616", "1e308", "1E-300", "0.0", "-0.0", "0e0",
                                  "2.2250738585072014e-308", "4.9e-324", "1.7976931348623157e308", "100000000000000000000", "0.1", "1e22", "1e23"]))
    return {"empty": None, "constant": "same"}[kind]


class Table:
    """labels: the headers; rows: lists of values, all as long as labels."""

    def __init__(self, labels, rows):
        self.labels, self.rows = labels, rows


def random_table(chance, labels=HEADERS):
    columns = chance.choice([1, 2, 3, 5, 8, 12, 30, 300]) if chance.random() < 0.3 else chance.randint(2, 9)
    rows = chance.choice([0, 1, 2, 3, 1001, 2500]) if chance.random() < 0.25 else chance.randint(4, 120)
    if columns * rows > 20000:
        rows = 20000 // columns
    kinds = [chance.choice(KINDS) for _ in range(columns)]
    nulls = [chance.choice([0, 0, 0.1, 0.5, 0.97]) for _ in range(columns)]
    few = [[_value(chance, kind, 0) for _ in range(chance.randint(1, 8))] if chance.random() < 0.4 else None for kind in kinds]
    return Table([chance.choice(labels) for _ in range(columns)],
                 [[None if chance.random() < nulls[k] else chance.choice(few[k]) if few[k] else _value(chance, kind, i)
                   for k, kind in enumerate(kinds)] for i in range(rows)])


class OneTable:
    """What there is to read back: (table, labels, rows) of each sheet."""

    @property
    def sheets(self):
        return [("data", self.labels, self.rows)]


# ---- CSV ----

class Csv(OneTable):
    """A table as CSV, written in one of the many ways; `.data`, `.options` for the engine, `.rows` and
    `.labels` as they must come back, `.irregular` rows."""

    name = "data.csv"

    def __init__(self, chance, table):
        self.delimiter = chance.choice(",,,;\t|")
        self.chance, self.quoting = chance, chance.choice(["least", "least", "all", "some"])
        self.ends = chance.choice([["\n"], ["\r\n"], ["\r"], ["\n", "\r\n", "\r"]])
        ragged = chance.random() < 0.2
        self.labels = table.labels
        self.irregular, self.rows, lines = 0, [], [self.line(table.labels)]
        for row in table.rows:
            texts = [text_of(v) for v in row]
            given = texts
            if ragged and chance.random() < 0.3:
                given = texts[:chance.randint(1, len(texts))] if chance.random() < 0.5 else texts + ["more"] * chance.randint(1, 3)
                self.irregular += len(given) != len(texts)
                texts = (given + [""] * len(texts))[:len(texts)]
            self.rows.append([cell_of(t) for t in texts])
            lines.append(self.line(given))
            if chance.random() < 0.02:
                lines.append(chance.choice(self.ends))
        text = "".join(lines)
        if chance.random() < 0.2 and table.rows:
            text = text[:-2] if text.endswith("\r\n") else text[:-1]
        self.text = text
        self.data, self.encoding = self.encode(text)
        self.options = {"delimiter": self.delimiter, "header": True, "format": "csv"}

    def line(self, texts):
        out = []
        for text in texts:
            needs = text != text.strip('"') or re.search('["\r\n' + re.escape(self.delimiter) + "]", text)
            alone = text == "" and len(texts) == 1  # a blank line is none
            if needs or alone or self.quoting == "all" or self.quoting == "some" and self.chance.random() < 0.3:
                text = '"' + text.replace('"', '""') + '"'
            out.append(text)
        return self.delimiter.join(out) + self.chance.choice(self.ends)

    def encode(self, text):
        way = self.chance.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16le", "utf-16be", "windows-1252"])
        if way.startswith("utf-16"):
            return ("\ufeff" + text).encode(way), way
        if way == "windows-1252":
            try:
                data = text.encode(way)
                data.decode("utf-8")  # then it is that
            except UnicodeEncodeError:
                way = "utf-8"
            except UnicodeDecodeError:
                return data, way
        return text.encode(way if way == "utf-8-sig" else "utf-8"), "utf-8"


# ---- JSON ----

def json_cell(value):
    """The cell of a JSON value that is no list and no object: a text stays what it is."""
    if value is None or isinstance(value, bool) or isinstance(value, str) and not isinstance(value, Raw):
        return None if value is None else text_of(value)
    return cell_of(text_of(value))


class Json(OneTable):
    """A table as JSON objects: one a line, a list, or one after the other; with the same attributes as Csv."""

    irregular, encoding = 0, "utf-8"

    def __init__(self, chance, table):
        self.chance, self.ascii = chance, chance.choice([True, False, None])
        self.shape, self.options = chance.choice(["lines", "lines", "list", "list", "stream"]), {}
        self.name = "data.jsonl" if self.shape == "lines" else "data.json"
        self.loose = chance.random() < 0.5
        labels = list(dict.fromkeys(table.labels))
        order, skipped, objects = {}, chance.choice([0, 0, 0.2]), []
        for number, row in enumerate(table.rows or [[1] * len(table.labels)]):
            members = {label: self.member(value) for label, value in zip(labels, row)}
            for label in labels:
                if len(members) > 1 and chance.random() < skipped and (members[label][0] is None or self.shape == "list"):
                    del members[label]
            keys = list(members)
            if skipped and number % 7 == 3:
                chance.shuffle(keys)
            order.update(dict.fromkeys(keys))
            objects.append((members, self.spaced(self.braces("{}", [[self.string(k), ":", *members[k][1]] for k in keys]))))
        self.labels = list(order)
        self.rows = [[members.get(label, (None,))[0] for label in self.labels] for members, _ in objects]
        self.text = self.joined([text for _, text in objects])
        self.data = ("\ufeff" if chance.random() < 0.1 else "").encode() + self.text.encode()

    def member(self, value):
        """(the cell, its tokens); some values become lists and objects, whose cell is what was written."""
        if self.chance.random() < 0.02:
            value = self.chance.choice(["", [], {}, [value, None], {"k": value, "l": [1, [True, {"": "é/\n"}]]}, [[[]]]])
        tokens = self.tokens(value)
        if isinstance(value, (list, dict)):
            return "".join(tokens), tokens
        return json_cell(value), tokens

    def tokens(self, value):
        if isinstance(value, list):
            return self.braces("[]", map(self.tokens, value))
        if isinstance(value, dict):
            return self.braces("{}", [[self.string(key), ":", *self.tokens(v)] for key, v in value.items()])
        if isinstance(value, Raw):
            return [str(value)]
        return [self.string(value) if isinstance(value, str) else json.dumps(value)]

    def braces(self, pair, parts):
        tokens = [pair[0]]
        for part in parts:
            tokens += [*part, ","]
        return [*(tokens if len(tokens) == 1 else tokens[:-1]), pair[1]]

    def string(self, text):
        if self.ascii is not None:
            return json.dumps(text, ensure_ascii=self.ascii)
        return '"' + "".join(f"\\u{ord(c):04X}" if ord(c) < 0x20 or c in '"\\' or ord(c) < 0x10000 and self.chance.random() < 0.1
                             else "\\/" if c == "/" else c for c in text) + '"'

    def spaces(self):
        blanks = " \t" if self.shape == "lines" else " \t\n\r"
        return "".join(self.chance.choices(blanks, k=self.chance.choice([0, 0, 0, 1, 3])))

    def spaced(self, tokens):
        return "".join([part for token in tokens for part in (token, self.spaces())]) if self.loose else "".join(tokens)

    def joined(self, objects):
        if self.shape == "list":
            return self.spaced(self.braces("[]", [[text] for text in objects]))
        end = self.chance.choice(["\n", "\r\n"])
        text = "".join(text + end * self.chance.choice([1, 1, 1, 1, 2]) for text in objects)
        return text if self.chance.random() < 0.7 else text.rstrip("\r\n")


# ---- XLSX ----

def xlsx_cell(value):
    """The cell of a value in a workbook: what its CSV export would say; a number is a double there."""
    if isinstance(value, bool):
        return str(value).upper()
    if value is None or isinstance(value, str) and not isinstance(value, Raw):
        return cell_of(text_of(value))
    text = text_of(value)
    if re.fullmatch("-?[0-9]+", text):
        return int(text) if abs(int(text)) <= SAFE else text
    number = float(text)
    if not math.isfinite(number):
        return text
    return int(number) if number == int(number) and abs(number) <= SAFE else number


class Number:
    """A number as it is to be written into a workbook."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


class Xlsx(workbook.Plain):
    """A table as a worksheet, with another beside it; with the same attributes as Csv."""

    name, encoding, irregular = "data.xlsx", None, 0

    def __init__(self, chance, table, other):
        self.chance = chance
        self.references = chance.random() < 0.8
        self.from_1904 = chance.random() < 0.2
        self.prefix = chance.choice(["", "", "x", "main"])
        self.compression = chance.choice([zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
        if chance.random() < 0.2:
            self.namespace = "http://purl.oclc.org/ooxml/spreadsheetml/main"
            self.relations = "http://purl.oclc.org/ooxml/officeDocument/relationships"
        self.places = chance.choice([["s"], ["s"], ["inlineStr"], ["s", "inlineStr", "str"]])
        self.rich, self.options, self.sheets, written = chance.choice([0, 0.2]), {}, [], []
        for label, made in ("Data ñ", table), ("<2> & more", other):
            labels = ["first" if k in (0, len(made.labels) - 1) and not given else given for k, given in enumerate(made.labels)]
            dates = [chance.random() < 0.5 for _ in labels]  # as numbers with a format
            written.append((label, [labels, *([self.value(v, date) for v, date in zip(row, dates)] for row in made.rows)]))
            rows = [list(map(xlsx_cell, row)) for row in made.rows]
            self.sheets.append(("s_" + names_of([label])[0].lstrip("_"), labels, [row for row in rows if any(c is not None for c in row)]))
        out = io.BytesIO()
        workbook.write(out, written, self)
        self.data = out.getvalue()

    def value(self, value, as_date):
        if isinstance(value, Raw):
            return Number(value)
        if as_date and isinstance(value, str) and re.fullmatch("20[0-9]{2}-[0-9]{2}-[0-9]{2}", value):
            begin = datetime.date(1904, 1, 1) if self.from_1904 else datetime.date(1899, 12, 30)
            return workbook.Days((datetime.date.fromisoformat(value) - begin).days, 1)
        return value

    def string(self):
        return self.chance.choice(self.places)

    def runs(self, text):
        if len(text) < 2 or "_x" in text or workbook.spelled(text) != text or self.chance.random() >= self.rich:
            return [text]
        at = self.chance.randint(1, len(text) - 1)
        return [text[:at], text[at:]]

    def empty(self):
        return self.chance.random() < 0.1


SEGMENT = 8 << 20  # bytes of text that a thread parses on its own


class Segments(OneTable):
    """A file of several segments; at each border stands what a cut may hurt: quotes, line ends, characters
    of several bytes, and texts that look like rows when the quotes in front are counted wrongly."""

    irregular, encoding = 0, "utf-8"
    INSIDE = 'x,"y",\r\n7,",\n"",é€😀\n\n{"n":1,"note":"\\\\"},\n[{"'

    def __init__(self, chance, size, step=SEGMENT):
        self.chance, self.rows, self.lines, self.at = chance, [], [], 0
        self.begin()
        while self.at < size:
            gap = step - self.at % step
            if gap > 1 << 17:
                self.plain()
            else:
                self.delicate(gap, chance.choice(['"', "\r\n", "\n\n", "ñ€😀", "\\", self.INSIDE, self.INSIDE * 300, ""]))

    def put(self, text):
        self.lines.append(text.encode())
        self.at += len(self.lines[-1])

    def delicate(self, gap, text):
        """A row over the border, which falls anywhere from its delicate part to the line end behind it."""
        before, behind = self.frame(text)
        pad = gap - len(before.encode()) - self.chance.randint(0, len(behind.encode()))
        while pad < 0:
            pad += SEGMENT // 16
        self.rows.append([len(self.rows) + 1, "y" * pad + text, "t"])
        self.put(before + "y" * pad + behind)

    @property
    def data(self):
        return b"".join(self.lines)


class CsvSegments(Segments):
    name, labels = "data.csv", ["n", "note", "tail"]
    options = {"delimiter": ",", "header": True}

    def begin(self):
        self.put("n,note,tail\r\n")

    def frame(self, text):
        quote = '"' if re.search('[",\r\n]', text) or self.chance.random() < 0.5 else ""
        raw, end = text.replace('"', '""'), self.chance.choice(["\r\n", "\n", "\r\n\r\n", "\n\n"])
        return f"{len(self.rows) + 1},{quote}", f"{raw}{quote},t{end}"

    def plain(self):
        chance = self.chance
        note = chance.choice(["cash", 'a 5" pipe', "", "é" * chance.randint(1, 300), "line\nbreak", 'he said "no"', "p" * chance.randint(1, 2000), "1.50", "007"])
        quoted = '"' in note and chance.random() < 0.5 or "\n" in note or chance.random() < 0.2
        raw = '"' + note.replace('"', '""') + '"' if quoted else note
        tail = text_of(chance.choice([None, True, 12, 2.5, "x", "x", "t" * 900]))
        self.rows.append([len(self.rows) + 1, cell_of(note), cell_of(tail)])
        self.put(f"{len(self.rows)},{raw},{tail}" + chance.choice(["\r\n", "\n"]))


class JsonSegments(Segments):
    """Keys come late, too, some at the borders."""

    options = {}

    def begin(self):
        self.name = self.chance.choice(["data.jsonl", "data.json"])
        self.labels = ["n", "note", "tail"]
        self.list = self.name == "data.json"
        if self.list:
            self.put("[ ")

    def separator(self):
        if not self.rows:
            return ""
        return self.chance.choice([",", ",\n", " , ", "\n,"]) if self.list else self.chance.choice(["\n", "\r\n", "\n\n"])

    def frame(self, text):
        raw = json.dumps(text, ensure_ascii=self.chance.random() < 0.5)[1:-1]
        return f'{self.separator()}{{"n":{len(self.rows) + 1},"note":"', f'{raw}","tail":"t"}}'

    def plain(self):
        chance, late = self.chance, f"late {self.at // SEGMENT}"
        note = chance.choice([None, "cash", "} {", "é" * chance.randint(1, 300), "line\nbreak", 'he said "no"', "p" * chance.randint(1, 2000), 1.5, "007", True])
        members = {"n": len(self.rows) + 1, "note": note, "tail": chance.choice([None, 12, "\\", "x"])}
        if chance.random() < 0.001 and self.rows:
            members[late] = len(self.rows)
            if late not in self.labels:
                self.labels.append(late)
        separator = self.separator()
        self.rows.append([json_cell(members.get(label)) for label in self.labels])
        self.put(separator + json.dumps(members, ensure_ascii=chance.random() < 0.5, separators=(",", ":")))

    @property
    def data(self):
        for row in self.rows:
            row += [None] * (len(self.labels) - len(row))
        return b"".join(self.lines) + (b"]" if self.list else b"")


# ---- reading a dataset ----

def open_dataset(path):
    return sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)


def is_date(text):
    found = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?(Z|[+-](\d\d)(?::?(\d\d))?)?)?", text, re.ASCII)
    if not found:
        return False
    year, month, day, hour, minute, second = (int(g or 0) for g in found.groups()[:6])
    if not 1 <= month <= 12 or hour > 23 or minute > 59 or second > 60 or int(found[8] or 0) > 23 or int(found[9] or 0) > 59:
        return False
    days = 29 if month == 2 and calendar.isleap(year) else [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
    return 1 <= day <= days


def type_of(cells):
    """The hint of a column with these first cells."""
    cells = [c for c in cells if c is not None]
    if cells and all(isinstance(c, (int, float)) for c in cells):
        return "integer" if all(isinstance(c, int) for c in cells) else "real"
    if cells and all(isinstance(c, str) and is_date(c) for c in cells):
        return "date"
    if cells and all(isinstance(c, str) and re.fullmatch("true|false", c, re.I | re.A) for c in cells):
        return "boolean"
    return "text"


def shown(value):
    return cut(value) if isinstance(value, str) else value


def shown_alike(given, value):
    """Whether a text of the statistics stands for a cell; 1 and 1.0 are one value there."""
    if isinstance(value, str) or given is None or value is None:
        return given == shown(value)
    return cell_of(given) == value and not isinstance(cell_of(given), str)


def statistics_differ(db, table="data"):
    """What _alisio_columns says of a table and SQL does not: a list of texts, empty when all is well."""
    wrong = []
    known = db.execute("SELECT name, inferred_type, nulls, distinct_count, distinct_exact, min, max, mean, text_fallbacks, top_values "
                       "FROM _alisio_columns WHERE table_name = ? ORDER BY ordinal", (table,)).fetchall()
    for name, kind, nulls, distinct, exact, least, most, mean, fallbacks, top in known:
        column = f'"{name}"'

        def one(what, where="1"):
            return db.execute(f'SELECT {what} FROM "{table}" WHERE {where}'.replace("@", column)).fetchone()

        number = "typeof(@) IN ('integer', 'real')"
        numbers, texts, none, differing = one(f"count(CASE WHEN {number} THEN 1 END), count(CASE WHEN typeof(@) = 'text' THEN 1 END), "
                                              "count(*) - count(@), count(DISTINCT @)")
        first = [c for c, in db.execute(f'SELECT {column} FROM "{table}" ORDER BY rowid LIMIT {HINT_ROWS}')]
        want = {"type": (kind, type_of(first)), "nulls": (nulls, none), "distinct": (distinct, differing), "exact": (exact, 1)}
        if numbers:
            want["fallbacks"] = (fallbacks, texts)
        else:
            want["fallbacks"] = (fallbacks, 0 if kind != "text" else
                                 one("count(*)", "typeof(@) = 'text' AND @ GLOB '*[0-9]*' AND NOT @ GLOB '*[a-zA-Z]*'")[0])
        for key, (given, right) in want.items():
            if given != right:
                wrong.append(f"{name}: {key} {given!r}, not {right!r}")
        low, high = one("min(@), max(@)", number if numbers and numbers >= texts else "typeof(@) = 'text'")
        if not shown_alike(least, low) or not shown_alike(most, high):
            wrong.append(f"{name}: min, max {least!r}, {most!r}, not {low!r}, {high!r}")
        right = mean_of([v for v, in db.execute(f'SELECT {column} FROM "{table}" WHERE {number.replace("@", column)}')])
        if (mean is None) != (right is None) or mean is not None and not math.isclose(mean, right, rel_tol=1e-9, abs_tol=1e-300):
            wrong.append(f"{name}: mean {mean!r}, not {right!r}")
        frequent = db.execute(f'SELECT {column}, count(*) FROM "{table}" WHERE {column} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5').fetchall()
        given = json.loads(top)
        if len(given) != len(frequent) or any(g["count"] != n or not shown_alike(g["value"], v) for g, (v, n) in zip(given, frequent)):
            wrong.append(f"{name}: top {given!r}, not {frequent!r}")
    return wrong


def mean_of(numbers):
    """Exactly rounded; None where there is no finite one. Sums beyond the doubles are fine."""
    if not numbers:
        return None
    total = math.fsum(v / 2**64 for v in numbers) if any(abs(v) > 1e290 for v in numbers) else math.fsum(numbers) / 2**64
    mean = total / len(numbers) * 2.0**64
    return mean if math.isfinite(mean) else None
