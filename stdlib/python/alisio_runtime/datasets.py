"""The datasets among the inputs of a job: SQLite files, read-only.

    db = datasets.open("sales")
    total = db.execute("SELECT sum(revenue) FROM data").fetchone()[0]
    for column in datasets.columns("sales"):
        print(column["name"], column["type"], column["nulls"])
"""
from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ._folders import input_dir


def inputs() -> list[dict[str, Any]]:
    """What was copied to input_dir(): name, kind ("file" or "dataset"), source, sha256, bytes."""
    listing = input_dir() / "inputs.json"
    if not listing.exists():
        return []
    return json.loads(listing.read_text(encoding="utf-8"))["inputs"]


def path(name: str) -> Path:
    """The file of a dataset, by its name with or without `.sqlite`, or by its id (`ds_…`)."""
    known = [entry for entry in inputs() if entry["kind"] == "dataset"]
    for entry in known:
        if name in (entry["name"], entry["name"].removesuffix(".sqlite"), entry["source"]):
            return input_dir() / entry["name"]
    names = ", ".join(entry["name"].removesuffix(".sqlite") for entry in known) or "none"
    raise FileNotFoundError(f"no dataset {name!r} among the inputs of this run (there: {names})")


def open(name: str) -> sqlite3.Connection:  # noqa: A001 - reads well as datasets.open
    """A connection that cannot change the file. Rows answer to position and to column name."""
    connection = sqlite3.connect(f"file:{quote(str(path(name)))}?mode=ro&immutable=1", uri=True)
    connection.row_factory = sqlite3.Row
    return connection


def tables(name: str) -> list[dict[str, Any]]:
    """The tables of a dataset: table, sheet (its name in the file), rows, columns."""
    connection = open(name)
    try:
        rows = connection.execute(
            'SELECT table_name AS "table", name AS sheet, rows, columns FROM _alisio_sheets ORDER BY ordinal')
        return [dict(row) for row in rows]
    finally:
        connection.close()


def columns(name: str, table: str | None = None) -> list[dict[str, Any]]:
    """The columns of a table, of the first without `table`, with hints and statistics:

    name, label, type, nulls, distinct, distinct_exact, min, max, mean, text_fallbacks, top.
    """
    known = tables(name)
    names = [entry["table"] for entry in known]
    if table is None and names:
        table = names[0]
    if table not in names:
        raise ValueError(f"no table {table!r} in {name} (there: {', '.join(names) or 'none'})")
    connection = open(name)
    try:
        rows = connection.execute(
            'SELECT name, label, inferred_type AS type, nulls, distinct_count AS "distinct", '
            "distinct_exact, min, max, mean, text_fallbacks, top_values AS top "
            "FROM _alisio_columns WHERE table_name = ? ORDER BY ordinal", (table,))
        return [_column(row) for row in rows]
    finally:
        connection.close()


def _column(row: sqlite3.Row) -> dict[str, Any]:
    column = dict(row)
    column["distinct_exact"] = bool(column["distinct_exact"])
    column["top"] = json.loads(column["top"]) if column["top"] else []
    return column
