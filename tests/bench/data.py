#!/usr/bin/env python3
"""How fast files become datasets, against other programs in the same run: tests/bench/data.py [--check]
[NAME...]

A figure is the median of RUNS (5) whole processes, the program's and its peers' in turn: from a file in
the page cache to a synced dataset with exact statistics and the file's SHA-256. docs/performance.md says
what the peers do and what the limits of this are. The files are made once, in build/bench. SCALE=0.01
measures with a hundredth of the rows, to try the measurement itself. With --check the exit status says
whether all targets were met; a peer that is not there is named and left out.
"""
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys

import generate
from measure import ALISIO, BUILD, ROOT, Failed, Place, in_turn

RUNS = int(os.environ.get("RUNS") or 5)
SCALE = float(os.environ.get("SCALE") or 1)
FILES = os.path.join(BUILD if not os.environ.get("SAN") else "build", "bench")

# name: generator, rows, SHA-256 of the file (of the workbook none: zip's bytes depend on zlib)
SOURCES = {
    "sales-1m.csv": ("sales.csv", 1000000, "b3801becd56e3200ac5c4328d9c84c20f40e6f1ba73f613707aaac1e20d8f34a"),
    "sales-5m.csv": ("sales.csv", 5000000, "42c35c608425e5ffa167f20281bc57271c70dedf40536381cc5aaf075c18d3bb"),
    "numeric-1m.csv": ("numeric.csv", 1000000, "d03abaa2f7b45f48ccd1267fdb2e13594279192b041a2d46a500637a47e0ed60"),
    "wide-10k.csv": ("wide.csv", 10000, "2812aad7b611a63bd28023830204f3f75298be53cbee8908c053a8d3b5b54eac"),
    "500k.jsonl": ("sales.jsonl", 500000, "1f038c32cbe057281f5d5c44465b624e137b5b4efac66aebe0f3f82d7db5a40f"),
    "200k.xlsx": ("sales.xlsx", 200000, None),
}

# file, most MiB, {peer: (at least so many times as fast, aim)}
TABLE = [
    ("sales-1m.csv", 250, {"sqlite3": (5, 10), "duckdb": (7, 15)}),
    ("sales-5m.csv", 450, {"sqlite3": (5, 9)}),
    ("numeric-1m.csv", None, {"sqlite3": (5, 9)}),
    ("wide-10k.csv", None, {"sqlite3": (2.5, 4)}),
    ("500k.jsonl", None, {"duckdb": (6, 12)}),
    ("200k.xlsx", None, {"xlsx2csv": (7, 25)}),
]
THREADS = ("sales-5m.csv", (1.6, 1.9))  # two threads against one
GROWTH = 2.2                            # what twice the rows may cost

PEERS = {"sqlite3": "sqlite3 .import", "duckdb": "DuckDB load + statistics", "xlsx2csv": "xlsx2csv"}


def file_of(name):
    """The path of a file, made when it is not there."""
    kind, rows, digest = SOURCES[name]
    rows = max(1, int(rows * SCALE))
    path = os.path.join(FILES, name if SCALE == 1 else f"{SCALE:g}-{name}")
    if not os.path.exists(path):
        os.makedirs(FILES, exist_ok=True)
        print(f"making {path}", flush=True)
        generate.make(kind, rows, path)
        if digest and SCALE == 1 and sha256(path) != digest:
            os.unlink(path)
            sys.exit(f"{name} came out with other bytes than it has to")
    with open(path, "rb") as f:  # into the page cache
        while f.read(1 << 20):
            pass
    return path


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else hashlib.sha256(f.read()).hexdigest()


def missing(peer):
    """Why a peer cannot take part, or None."""
    if peer == "duckdb":
        if not shutil.which("node"):
            return "node is not installed"
        if not os.path.isdir(os.path.join(ROOT, "vendor/bench/node_modules/@duckdb/node-api")):
            return "its package is not there (npm ci --prefix vendor/bench)"
        return None
    return None if shutil.which(peer) else f"{peer} is not installed"


class Ingestion:
    """`alisio data inspect FILE --json` with a state folder that has never been used."""

    def __init__(self, place, path, config=None):
        self.place, self.argv = place, [ALISIO, "data", "inspect", path, "--json"]
        self.config = config
        self.size = 0

    def fresh(self):
        os.sync()  # what a peer has left to be written is not to be waited for here
        shutil.rmtree(self.place.env["ALISIO_STATE_HOME"], ignore_errors=True)
        shutil.rmtree(self.place.env["ALISIO_CONFIG_HOME"], ignore_errors=True)
        if self.config:
            os.mkdir(self.place.env["ALISIO_CONFIG_HOME"])
            with open(os.path.join(self.place.env["ALISIO_CONFIG_HOME"], "config.json"), "w", encoding="utf-8") as f:
                json.dump(self.config, f)

    def __call__(self):
        self.fresh()
        return self.place.whole(self.argv)[0]

    def memory(self):
        self.fresh()
        return self.place.memory(self.argv)

    def digest(self):
        """SHA-256 of the dataset that the last run made."""
        return sha256(json.loads(self.place.said())["dataset"]["path"])


class Peer:
    def __init__(self, place, peer, path):
        self.place, self.out = place, os.path.join(place.top, "peer")
        if peer == "sqlite3":
            self.argv = [shutil.which("sqlite3"), "-csv", self.out, "PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF", f".import '{path}' data"]
        elif peer == "duckdb":
            self.argv = [shutil.which("node"), os.path.join(ROOT, "tests/bench/duckdb.mjs"), "measure", self.out, path]
        else:
            self.argv = [shutil.which("xlsx2csv"), path, self.out]

    def __call__(self):
        for name in (self.out, self.out + ".wal"):
            if os.path.exists(name):
                os.unlink(name)
        os.sync()
        return self.place.whole(self.argv)[0]


def spread(times):
    return f"{statistics.median(times) / 1000:7.3f} s ({min(times) / 1000:.3f} to {max(times) / 1000:.3f})"


def verdict(ratio, least, aim):
    return f"{ratio:5.1f} x  (at least {least:g} x, aim {aim:g} x){'' if ratio >= least else '  MISSED'}"


def compare(place, name, most, peers):
    """Measures one file; whether its targets are met, and the median of the program."""
    path = file_of(name)
    absent = {peer: missing(peer) for peer in peers}
    present = [peer for peer in peers if not absent[peer]]
    ours = Ingestion(place, path)
    ours()
    times = in_turn([RUNS] * (1 + len(present)), [ours, *(Peer(place, peer, path) for peer in present)])
    mib = ours.memory()
    good = not most or mib <= most
    print(f"{name:15} {'alisio':25} {spread(times[0])}  {mib:5.0f} MiB" + (f" (at most {most})" if most else "") + ("" if good else "  MISSED"))
    for peer, took in zip(present, times[1:]):
        ratio = statistics.median(took) / statistics.median(times[0])
        good = good and ratio >= peers[peer][0]
        print(f"{'':15} {PEERS[peer]:25} {spread(took)}  {verdict(ratio, *peers[peer])}")
    for peer in peers:
        if absent[peer]:
            print(f"{'':15} {PEERS[peer]:25} left out: {absent[peer]}")
    sys.stdout.flush()
    return good, statistics.median(times[0])


def threads(place):
    name, (least, aim) = THREADS
    path = file_of(name)
    ways = [Ingestion(place, path, {"analysis": {"data": {"threads": n}}}) for n in (1, 2)]
    digests = []
    for way in ways:
        way()
        digests.append(way.digest())
    one, two = in_turn([RUNS] * 2, ways)
    ratio = statistics.median(one) / statistics.median(two)
    same = digests[0] == digests[1]
    print(f"{name:15} {'one thread':25} {spread(one)}\n{'':15} {'two threads':25} {spread(two)}  {verdict(ratio, least, aim)}"
          f"  {'same bytes' if same else 'OTHER BYTES'}", flush=True)
    return ratio >= least and same


def main():
    names = [a for a in sys.argv[1:] if a != "--check"]
    met, medians = [], {}
    with Place() as place:
        for name, most, peers in TABLE:
            if not names or name in names or name.split(".")[0] in names:
                try:
                    good, medians[name] = compare(place, name, most, peers)
                except Failed as failed:
                    print(f"{name:15} {failed}")
                    good = False
                met.append(good)
        if not names or "threads" in names:
            met.append(threads(place))
    if "sales-1m.csv" in medians and "sales-5m.csv" in medians:
        # five times are twice, log2(5) times in a row
        cost = medians["sales-5m.csv"] / medians["sales-1m.csv"]
        most = GROWTH ** 2.321928
        met.append(cost <= most)
        print(f"{'':15} five times the rows cost {cost:.2f} times the time (at most {most:.2f}){'' if met[-1] else '  MISSED'}")
    return 0 if all(met) or "--check" not in sys.argv else 1


if __name__ == "__main__":
    sys.exit(main())
