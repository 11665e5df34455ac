#!/usr/bin/env python3
"""How fast a dataset of 5,000,000 rows answers: tests/bench/questions.py [--check] [NAME...]

A figure is the median of RUNS (5), in milliseconds from the request to the last byte of the answer, of an
engine that is spoken to as the host does. A cold one was just started; the dataset is in the page cache.
docs/performance.md says more. SCALE=0.01 takes a hundredth of the rows, to try the measurement itself.
With --check the exit status says whether all targets were met.
"""
import os
import random
import statistics
import sys
import time

from data import FILES, RUNS, SCALE, file_of
from measure import ROOT, in_turn

sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from engine_client import ENGINE, Engine  # noqa: E402

PAGE = 100  # rows
PAGES = 200


def dataset():
    """The dataset of sales-5m.csv, made anew when the engine or the file is newer."""
    source = file_of("sales-5m.csv")
    path = os.path.join(FILES, f"{SCALE:g}-sales-5m.sqlite")
    if not os.path.exists(path) or os.path.getmtime(path) < max(os.path.getmtime(source), os.path.getmtime(ENGINE)):
        with Engine() as engine:
            engine.ingest(source, path + ".part")
        os.replace(path + ".part", path)
    return path


class Asked:
    """An engine and the open dataset; `.ms(op, …)` is how long an answer takes."""

    def __init__(self, path):
        self.engine = Engine()
        self.fd = os.open(path, os.O_RDONLY)
        self.engine.call("hello")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)
        self.engine.close()

    def call(self, op, **fields):
        return self.engine.call(op, (self.fd,), **fields)

    def ms(self, *asked):
        begin = time.perf_counter()
        for op, fields in asked:
            self.call(op, **fields)
        return (time.perf_counter() - begin) * 1000


def first_page(*sort, filter=None):
    """Until the first page of a view is there."""
    asked = [("view", {"view": 1, "sort": [{"column": c.lstrip("-"), "descending": c[0] == "-"} for c in sort], "filter": filter}),
             ("rows", {"view": 1, "count": PAGE})]

    def cold(path):
        with Asked(path) as engine:
            return engine.ms(*asked)

    def warm(path):
        with Asked(path) as engine:
            engine.ms(*asked)
            return engine.ms(*asked)
    return cold, warm


def later_pages(sort):
    """The slowest but two of 200 pages anywhere; without sort, of the sheet itself."""
    def run(path):
        with Asked(path) as engine:
            rows = engine.call("rows", count=1)["total"]
            view = {"view": 1} if sort else {}
            if sort:
                engine.call("view", view=1, sort=[{"column": sort}])
            chance = random.Random(1)
            times = [engine.ms(("rows", {**view, "count": PAGE, "first": chance.randint(1, max(1, rows - PAGE))})) for _ in range(PAGES)]
            return sorted(times)[-3]
    return run


CUSTOMER, TOTAL, THREE = first_page("customer"), first_page("total"), first_page("-date", "city", "-total")
SOME = first_page("-total", filter=[{"column": "region", "eq": "Oeste"}, {"column": "quantity", "range": {"ge": 10}}])

def sums(*by, fn="sum"):
    return {"by": list(by), "measures": [{"fn": fn, "column": "total"}, {"fn": "count"}]}


DASHBOARD = [
    sums({"column": "region"}), sums({"column": "city", "top": 10}), sums({"column": "date", "unit": "month"}),
    sums({"column": "active"}), sums({"column": "discount"}, fn="avg"), sums({"column": "quantity", "width": 10}),
    sums({"column": "region"}, {"column": "date", "unit": "year"}), sums({"column": "customer", "top": 10}),
]
TWO = [{"column": "active", "eq": "true"}, {"column": "quantity", "range": {"ge": 10}}]


def group_bys(groups, **fields):
    """A new engine, and one that has the columns."""
    asked = ("aggregate", {"groups": groups, **fields})

    def cold(path):
        with Asked(path) as engine:
            return engine.ms(asked)

    def warm(path):
        with Asked(path) as engine:
            engine.ms(asked)
            return engine.ms(asked)
    return cold, warm


ALL, FILTERED = group_bys(DASHBOARD), group_bys(DASHBOARD, filter=TWO)

# name, at most so many milliseconds (None: nothing is promised), how
MEASURES = [
    ("view by text, cold", 1000, CUSTOMER[0]),
    ("view by text, columns kept", None, CUSTOMER[1]),
    ("view by number, cold", 500, TOTAL[0]),
    ("view by number, columns kept", None, TOTAL[1]),
    ("view by three columns, cold", None, THREE[0]),
    ("view filtered by two, cold", None, SOME[0]),
    ("eight group-bys, cold", 600, ALL[0]),
    ("eight group-bys, columns kept", 40, ALL[1]),
    ("the same, filtered by two", None, FILTERED[1]),
    ("one group-by, columns kept", None, group_bys(DASHBOARD[:1])[1]),
    ("page of the sheet", 5, later_pages(None)),
    ("page of a view by text", 5, later_pages("customer")),
]


def main():
    names = [a for a in sys.argv[1:] if a != "--check"]
    chosen = [m for m in MEASURES if not names or any(n in m[0] for n in names)]
    if not chosen:
        return 0
    path = dataset()
    with open(path, "rb") as f:
        while f.read(1 << 24):  # fills the page cache
            pass
    met = True
    for (name, most, _), times in zip(chosen, in_turn([RUNS] * len(chosen), [lambda run=m[2]: run(path) for m in chosen]), strict=True):
        ms = statistics.median(times)
        good = most is None or ms <= most
        met = met and good
        print(f"{name:32} {ms:8.1f} ms ({min(times):.1f} to {max(times):.1f})" + (f"  at most {most} ms" if most else "") +
              ("" if good else "  MISSED"), flush=True)
    return 0 if met or "--check" not in sys.argv else 1


if __name__ == "__main__":
    sys.exit(main())
