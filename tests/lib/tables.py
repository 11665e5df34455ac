"""Tables made by chance: what they must become, the files they are written to, and the statistics of a
dataset as SQL counts them.

A cell of a table is a Python value: None, int, float, str, bool, and Raw for a number that is to be
written in just that way. The rules are those of docs/datasets.md, written down a second time here and
in other means than the program's (regular expressions, Python's doubles, unicodedata, SQLite).
"""
import calendar
import io
import json
import math
import re
import sqlite3
import unicodedata

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

WORDS = ("cash express before noon señal acción Lefèvre Ångström mañana 東京 Ωμέγα привет 😀 👩‍👩‍👧 naïve straße I.V.A. "
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


# ---- CSV ----

class Csv:
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


SEGMENT = 8 << 20  # bytes of text that a thread parses on its own


class Segments:
    """CSV of several segments; at each border stands what a cut may hurt: quotes, doubled quotes, line
    ends, characters of several bytes, rows that look like others when the quotes are counted wrongly."""

    name = "data.csv"
    options = {"delimiter": ",", "header": True}

    def __init__(self, chance, size, step=SEGMENT):
        self.labels, self.irregular, self.rows = ["n", "note", "tail"], 0, []
        self.chance, self.lines, self.at = chance, [], 0
        self.put(b"n,note,tail\r\n")
        inside = 'x,"y",\r\n7,",\n"",é€😀\n\n'
        while self.at < size:
            gap = step - self.at % step
            if gap > 1 << 17:
                self.plain()
            else:
                self.delicate(gap, chance.choice(['"', "\r\n", "\n\n", "ñ€😀", inside, inside * 300, ""]))

    def put(self, line):
        self.lines.append(line)
        self.at += len(line)

    def row(self, note, raw, tail, end):
        self.rows.append([len(self.rows) + 1, note, tail])
        self.put(f"{len(self.rows)},{raw},{text_of(tail)}{end}".encode())

    def plain(self):
        chance = self.chance
        note = chance.choice(["cash", 'a 5" pipe', "", "é" * chance.randint(1, 300), "line\nbreak", 'he said "no"', "p" * chance.randint(1, 2000), "1.50", "007"])
        quoted = '"' in note and chance.random() < 0.5 or "\n" in note or chance.random() < 0.2
        raw = '"' + note.replace('"', '""') + '"' if quoted else note
        tail = text_of(chance.choice([None, True, 12, 2.5, "x", "x", "t" * 900]))
        self.row(cell_of(note), raw, cell_of(tail), chance.choice(["\r\n", "\n"]))

    def delicate(self, gap, text):
        """A row over the border, which falls anywhere from its delicate part to the line end behind it."""
        quoted = bool(re.search('[",\r\n]', text)) or self.chance.random() < 0.5
        quote, raw, end = '"' if quoted else "", text.replace('"', '""'), self.chance.choice(["\r\n", "\n", "\r\n\r\n", "\n\n"])
        head = len(f"{len(self.rows) + 1},{quote}")
        zone = len(f"{raw}{quote},t{end}".encode())
        pad = gap - head - self.chance.randint(0, zone)
        while pad < 0:
            pad += SEGMENT // 16
        self.row("y" * pad + text, quote + "y" * pad + raw + quote, "t", end)

    @property
    def data(self):
        return b"".join(self.lines)


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
