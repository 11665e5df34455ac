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
from typing import Literal, TypedDict
from urllib.parse import quote

from ._folders import input_dir


class Input(TypedDict):
    """A file or dataset that was copied to input_dir()."""
    name: str
    kind: Literal["file", "dataset"]
    source: str
    """The path in the workspace, or the id of the dataset."""
    sha256: str
    bytes: int


class Table(TypedDict):
    """A table of a dataset; a workbook has one for each worksheet."""
    table: str
    sheet: str
    """Its name in the file it was read from."""
    rows: int
    columns: int


class Value(TypedDict):
    """One of the most frequent values of a column."""
    value: str
    count: int


class Column(TypedDict):
    """A column with its type hint and statistics. min, max and mean are None without values."""
    name: str
    label: str
    """The header as it stood in the file."""
    type: Literal["integer", "real", "date", "boolean", "text"]
    nulls: int
    distinct: int
    distinct_exact: bool
    """False where `distinct` is an estimate."""
    min: str | None
    max: str | None
    mean: float | None
    text_fallbacks: int
    """Cells that are text in a column that looks like numbers."""
    top: list[Value]


def inputs() -> list[Input]:
    """What was copied to input_dir(), in the order it was asked for."""
    listing = input_dir() / "inputs.json"
    if not listing.exists():
        return []
    listed: list[Input] = json.loads(listing.read_text(encoding="utf-8"))["inputs"]
    return listed


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


def tables(name: str) -> list[Table]:
    """The tables of a dataset, in the order of the file."""
    connection = open(name)
    try:
        rows = connection.execute(
            'SELECT table_name AS "table", name AS sheet, rows, columns FROM _alisio_sheets ORDER BY ordinal')
        return [Table(table=row["table"], sheet=row["sheet"], rows=row["rows"], columns=row["columns"]) for row in rows]
    finally:
        connection.close()


def columns(name: str, table: str | None = None) -> list[Column]:
    """The columns of a table, of the first without `table`, with hints and statistics."""
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


def _column(row: sqlite3.Row) -> Column:
    return Column(
        name=row["name"], label=row["label"], type=row["type"], nulls=row["nulls"], distinct=row["distinct"],
        distinct_exact=bool(row["distinct_exact"]), min=row["min"], max=row["max"], mean=row["mean"],
        text_fallbacks=row["text_fallbacks"], top=json.loads(row["top"]) if row["top"] else [])
