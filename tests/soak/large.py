#!/usr/bin/env python3
"""A dataset larger than 1 GiB: the page at that place is never used, and rows with overflow pages lie on
both sides of it."""
import os
import sqlite3
import tempfile

from engine_client import Engine

ROWS, LONG = 1100000, 40  # every 1000th row has a text of LONG KiB


def main():
    folder = tempfile.mkdtemp(prefix="large-", dir=os.environ.get("B") or "build")
    source, dataset = os.path.join(folder, "large.csv"), os.path.join(folder, "large.sqlite")
    try:
        with open(source, "w", encoding="utf-8") as f:
            f.write("n,text\n")
            for i in range(ROWS):
                f.write(f"{i},{chr(97 + i % 26) * (LONG * 1024 if i % 1000 == 0 else 950)}\n")
        with Engine() as engine:
            result = engine.ingest(source, dataset)
        assert result["rows"] == ROWS, result["rows"]
        size = os.path.getsize(dataset)
        assert size > (1 << 30) + (8 << 20), size
        db = sqlite3.connect(f"file:{dataset}?immutable=1", uri=True)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        wrong = db.execute(
            "SELECT count(*) FROM data WHERE rowid <> n + 1 OR text <> "
            "replace(hex(zeroblob(iif(n % 1000 = 0, ?, 950))), '00', char(97 + n % 26))",
            (LONG * 1024,)).fetchone()
        assert wrong == (0,), wrong
    finally:
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)
    print(f"{size >> 20} MiB, {ROWS} rows: whole\n1 passed, 0 failed, 0 skipped")


if __name__ == "__main__":
    main()
