#!/usr/bin/env python3
"""Twenty phrasings, English and Spanish, on three tables the program has never seen: every number of an
answer is computed again by SQL on the same rows."""
import csv
import os
import pathlib
import random
import re
import sqlite3

from alisio_test import Case, main


def clinic(rng):
    for n in range(240):
        yield {"Visita": 5000 + n, "Fecha": f"2025-{rng.randint(1, 6):02}-{rng.randint(1, 28):02}",
               "Servicio": rng.choice(["Cardiología", "Pediatría", "Radiología", "Urgencias"]),
               "Médico": rng.choice(["Íñigo Peña", "Ana Ruiz", "Sofía Núñez", "Luis Gil", "O'Connor, Pat"]),
               "Minutos": rng.randint(5, 90), "Importe": f"{rng.randint(2000, 40000) / 100:.2f}"}


def freight(rng):
    for n in range(310):
        yield {"shipment_no": f"{n:06}", "shipped_on": f"2024-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
               "carrier": rng.choice(["Blue Line", "Hermes", "Norte", "Pacific \"Fast\""]),
               "destination": rng.choice(["Oslo", "Kraków", "Lima", "Porto", "Tunis", ""]),
               "weight_kg": f"{rng.randint(10, 90000) / 10:.1f}", "cost_usd": rng.randint(20, 900)}


def courses(rng):
    for n in range(150):
        yield {"Student": f"S{n:03}", "Course": rng.choice(["Algebra", "Biology", "Chemistry", "Drama", "Español"]),
               "Teacher": rng.choice(["Kim", "Lopez", "Meyer"]), "Score": f"{rng.randint(30, 100) / 10:.1f}",
               "Lesson hours": rng.randint(1, 12), "Term": rng.choice(["Autumn", "Spring"])}


# file, rows, measure and dimension as asked in each language, their columns, whether the measure adds up
TABLES = [
    ("visitas.csv", clinic, {"en": ("importe", "servicio"), "es": ("importe", "servicio")}, "Importe", "Servicio"),
    ("freight 2024.csv", freight, {"en": ("cost", "carrier"), "es": ("costo", "carrier")}, "cost_usd", "carrier"),
    ("courses.csv", courses, {"en": ("lesson hours", "teacher"), "es": ("lesson hours", "teacher")}, "Lesson hours", "Teacher"),
]

PHRASES = [
    ("en", "describe {file}", "describe"),
    ("en", "What is in {file}?", "describe"),
    ("en", "how many rows are there in {file}", "rows"),
    ("en", "count by {d}", "count"),
    ("en", "How many rows per {d} in {file}?", "count"),
    ("en", "total {m} by {d}", "sum"),
    ("en", "Show me the sum of {m} for each {d} of {file}", "sum"),
    ("en", "average {m} by {d}, please", "avg"),
    ("en", "What is the average {m}?", "avg1"),
    ("en", "top 2 {d} by {m}", "top2"),
    ("en", "Summarize {file} into overview.md", "report"),
    ("en", "Write me a limerick about the sea", "help"),
    ("es", "describe {file}", "describe"),
    ("es", "¿Cuántas filas hay en {file}?", "rows"),
    ("es", "cuenta por {d}", "count"),
    ("es", "suma de {m} por {d}", "sum"),
    ("es", "¿Cuál es el total de {m} por cada {d}?", "sum"),
    ("es", "promedio de {m} por {d} en {file}", "avg"),
    ("es", "los 2 {d} con más {m}", "top2"),
    ("es", "Haz un informe de {file} en resumen.md", "report"),
    ("es", "gráfico de barras de {m} por {d}", "sum"),
    ("es", "cuéntame algo del mar", "help"),
]


def number(text, locale):
    text = text.replace("−", "-")
    text = text.replace(".", "").replace(",", ".") if locale == "es" else text.replace(",", "")
    return float(text)


def tables_of(markdown):
    """Every Markdown table as a list of rows, its cells unescaped."""
    out, rows = [], []
    for line in markdown.splitlines() + [""]:
        if line.startswith("|"):
            cells = [re.sub(r"\\(.)", r"\1", c.strip()) for c in re.split(r"(?<!\\)\|", line)[1:-1]]
            if not all(re.fullmatch(r"-+:?", c) for c in cells):
                rows.append(cells)
        elif rows:
            out.append(rows)
            rows = []
    return out


class Offline(Case):
    def table(self, file, rows):
        self.dir = folder = os.path.join(self.top, re.sub(r"\W", "_", file))
        os.mkdir(folder)
        rows = list(rows(random.Random(7)))
        with open(os.path.join(folder, file), "w", newline="", encoding="utf-8") as out:
            writer = csv.DictWriter(out, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
        db = sqlite3.connect(":memory:")
        names = ", ".join(f'"{name}"' for name in rows[0])
        db.execute(f"CREATE TABLE t ({names})")
        for row in rows:
            values = [None if v == "" else float(v) if re.fullmatch(r"\d+\.\d+", str(v)) else v for v in row.values()]
            db.execute(f"INSERT INTO t VALUES ({', '.join('?' * len(row))})", values)
        return db, rows

    def report(self, done, name):
        found = [p for p in pathlib.Path(self.env["ALISIO_STATE_HOME"]).rglob(name) if "files" in p.parts]
        self.assertEqual(len(found), 1, f"{name} is not published\n{done.stderr}")
        self.assertIn(str(found[0]), done.stdout + done.stderr)
        text = found[0].read_text(encoding="utf-8")
        found[0].rename(found[0].with_suffix(".seen"))
        return text

    def check_groups(self, rows, want, locale, digits):
        got = {cells[0]: number(cells[1], locale) for cells in rows[1:]}
        empty = "(vacío)" if locale == "es" else "(empty)"
        self.assertEqual(got, {empty if key is None else key: round(v, digits) for key, v in want})

    def check(self, kind, locale, db, rows, columns, done):
        measure, dimension = columns
        out = done.stdout

        def groups(sql):
            return db.execute(f'SELECT "{dimension}", {sql} FROM t GROUP BY 1 ORDER BY 2 DESC').fetchall()

        if kind == "help":
            self.assertIn("top 5" if locale == "en" else "los 5", out)
        elif kind == "describe":
            described = tables_of(out)[0][1:]
            self.assertEqual([r[0] for r in described], list(rows[0]))
            for cells in described:
                nulls, distinct = db.execute(
                    f'SELECT sum("{cells[0]}" IS NULL), count(DISTINCT "{cells[0]}") FROM t').fetchone()
                self.assertEqual((number(cells[2], locale), number(cells[3], locale)), (nulls, distinct), cells)
        elif kind == "rows":
            self.assertIn(f"**{len(rows)}**", out)
        elif kind == "count":
            self.check_groups(tables_of(out)[0], groups("count(*)"), locale, 0)
        elif kind == "sum":
            self.check_groups(tables_of(out)[0], groups(f'sum("{measure}")'), locale, 2)
        elif kind == "avg":
            self.check_groups(tables_of(out)[0], groups(f'avg("{measure}")'), locale, 2)
        elif kind == "avg1":
            value = db.execute(f'SELECT avg("{measure}") FROM t').fetchone()[0]
            self.assertEqual(number(re.search(r"\*\*([\d.,]+)\*\*", out)[1], locale), round(value, 2))
        elif kind == "top2":
            want = groups(f'sum("{measure}")')
            table = tables_of(out)[0][1:3]
            self.assertEqual([(c[0], number(c[1], locale)) for c in table], [(k, round(v, 2)) for k, v in want[:2]])
        elif kind == "report":
            text = self.report(done, "overview.md" if locale == "en" else "resumen.md")
            sections = {rows_[0][0]: rows_ for rows_ in tables_of(text)}
            figures = {r[0]: r[1] for r in tables_of(text)[0][1:]}
            self.assertEqual(number(figures["Rows" if locale == "en" else "Filas"], locale), len(rows))
            total = db.execute(f'SELECT sum("{measure}") FROM t').fetchone()[0]
            name = ("Total " if locale == "en" else "Total de ") + measure.replace("_", " ")
            self.assertEqual(number(figures[name], locale), round(total, 2))
            self.assertIn(dimension[0].upper() + dimension[1:], sections)

    def test_phrasings(self):
        for file, make, asked, measure, dimension in TABLES:
            db, rows = self.table(file, make)
            for locale, phrase, kind in PHRASES:
                m, d = asked[locale]
                prompt = phrase.format(file=file, m=m, d=d)
                with self.subTest(file=file, prompt=prompt):
                    done = self.alisio("run", prompt)
                    self.check(kind, locale, db, rows, (measure, dimension), done)


main()
