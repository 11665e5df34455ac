#!/usr/bin/env python3
"""Makes the files that are measured with, always the same bytes: generate.py NAME ROWS OUT

NAME: sales.csv, sales.jsonl, sales.xlsx (orders of a shop: 12 columns of every type, notes with quotes
and line breaks), numeric.csv (20 columns of decimals), wide.csv (1,000 mixed columns)."""
import datetime
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))
import workbook

HEADER = "id date region city customer quantity unit_price discount total active note zip".split()
REGIONS = "Norte Sur Este Oeste Centro Noroeste Sureste Litoral".split()
SYLLABLES = "ba ca da fe ga lo mi no pe ri sa tu va zu ñe li mo ra tó qui".split()
FIRST = ("José María Andrés Lucía Iñaki Zoë François Jürgen Ana Luis Søren Noémie Óscar Pía Raúl Begoña Carlos Elena Tomás Inés "
         "John Emily Michael Sarah David Laura Peter Olga Ivan Chloé").split()
LAST = ("García Muñoz López Fernández Gutiérrez Núñez Peña Müller Schröder Lefèvre Dubois Smith Johnson Brown Ångström Østergaard "
        "Castaño Ibáñez Pérez Sánchez").split()
WORDS = ("urgent deliver before noon call customer fragile box left at door gift wrap invoice pending paid cash express backorder "
         "partial tax exempt return window extended loyal member señal acción repeat mixed pallet cold chain index").split()
DISCOUNTS = [0.0, 0.05, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3333]
FIRST_DAY, DAYS = datetime.date(2019, 1, 1), 2200
LINES = 8192  # written at once


def note(chance):
    kind = chance()
    if kind < 0.55:
        return None
    words = [WORDS[int(chance() * len(WORDS))] for _ in range(2 + int(chance() * 9))]
    if kind < 0.80:
        return " ".join(words)
    if kind < 0.92:
        return ", ".join(words)
    if kind < 0.96:
        return f'{words[0]} "{" ".join(words[1:])}"'
    if kind < 0.995:
        return words[0] + "\n" + " ".join(words[1:])
    return " ".join(words * (20 if kind < 0.9999 else 150))


def customer(chance):
    if chance() <= 0.01:
        return None
    first, last, second = FIRST[int(chance() * 30)], LAST[int(chance() * 20)], LAST[int(chance() * 20)]
    return f"{first} {last} {second} {int(chance() * 40000):05d}"


def sales(rows):
    """Tuples of values, in the order of HEADER."""
    source = random.Random(20240607)
    cities = ["".join(source.choice(SYLLABLES) for _ in range(source.randint(2, 4))).capitalize() for _ in range(800)]
    days = [(FIRST_DAY + datetime.timedelta(days=i)).isoformat() for i in range(DAYS)]
    chance = source.random
    for number in range(1, rows + 1):
        quantity = 1 + int(chance() * chance() * 100)
        cents = 99 + int(chance()**3 * 250000)
        discount = DISCOUNTS[int(chance() * 8)]
        total = round(quantity * cents * (1 - discount)) / 100
        said = note(chance)
        day = days[int(chance() * DAYS)]
        region, city = REGIONS[int(chance() * chance() * 8)], cities[int(chance() * chance() * 800)]
        who = customer(chance)
        active = chance() < 0.7
        yield number, day, region, city, who, quantity, cents / 100, discount, total, active, said, f"{int(chance() * 99999):05d}"


def quoted(text):
    if text is None:
        return ""
    if '"' in text or "," in text or "\n" in text:
        return '"' + text.replace('"', '""') + '"'
    return text


def sales_csv(rows):
    yield ",".join(HEADER) + "\n"
    for n, day, region, city, who, quantity, price, discount, total, active, said, code in sales(rows):
        yield (f"{n},{day},{region},{city},{who or ''},{quantity},{price:.2f},{discount!r},{total:.2f},"
               f"{'true' if active else 'false'},{quoted(said)},{code}\n")


def sales_jsonl(rows):
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    for row in sales(rows):
        yield encode(dict(zip(HEADER, row))) + "\n"


def numeric_csv(rows, columns=20):
    chance = random.Random(7).random
    yield ",".join(f"m{i:02d}" for i in range(columns)) + "\n"
    line = ",".join(("%.6f", "%.3f", "%.9g", "%.2f", "%.15g")[i % 5] for i in range(columns)) + "\n"
    scales = [10 ** (i % 6) for i in range(columns)]
    for _ in range(rows):
        yield line % tuple([(chance() - 0.5) * scale for scale in scales])


def wide_csv(rows, columns=1000):
    chance = random.Random(11).random
    makers = [lambda: str(int(chance() * 100000)), lambda: f"{chance() * 1000:.3f}", lambda: REGIONS[int(chance() * 8)],
              lambda: "" if chance() < 0.3 else WORDS[int(chance() * 35)] + str(int(chance() * 1000)),
              lambda: "true" if chance() < 0.5 else "false"]
    yield ",".join(f"col_{i:04d}" for i in range(columns)) + "\n"
    for _ in range(rows):
        yield ",".join([makers[i % 5]() for i in range(columns)]) + "\n"


def write_lines(path, lines):
    with open(path, "w", encoding="utf-8", newline="", buffering=1 << 20) as out:
        some = []
        for line in lines:
            some.append(line)
            if len(some) == LINES:
                out.write("".join(some))
                some.clear()
        out.write("".join(some))


def sales_xlsx(rows, path):
    workbook.write(path, [("sales", (HEADER, *sales(rows)))])


KINDS = {"sales.csv": sales_csv, "sales.jsonl": sales_jsonl, "numeric.csv": numeric_csv, "wide.csv": wide_csv}


def make(kind, rows, path):
    """Writes the file; it is there only when it is whole."""
    part = path + ".part"
    if kind == "sales.xlsx":
        sales_xlsx(rows, part)
    else:
        write_lines(part, KINDS[kind](rows))
    os.replace(part, path)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in (*KINDS, "sales.xlsx"):
        sys.exit(__doc__)
    make(sys.argv[1], int(sys.argv[2]), sys.argv[3])
