"""Titles for what is published.

Without declarations every top-level file of the output folder is one artifact, a folder with an
index.html is one dashboard, and any other folder one archive. `declare` gives one of them a title,
or publishes a file from inside a folder. The rest is published as before.
"""
from __future__ import annotations

import atexit
import json
import os
from pathlib import PurePath
from typing import Any

from ._folders import output_dir

_MANIFEST = "outputs.json"
_declared: dict[str, dict[str, Any]] = {}


def declare(path: str | os.PathLike[str], title: str | None = None, entry: str | None = None) -> None:
    """Names an artifact of the output folder, before or after it is written.

    path   relative to output_dir(), or inside it: a file, or a folder
    title  what people read; the file's name without it
    entry  the page to open first, for a folder; index.html without it

    Declaring a path again replaces what was said before.
    """
    relative = _relative(path)
    artifact: dict[str, Any] = {"path": relative}
    if title is not None:
        artifact["title"] = str(title)
    if entry is not None:
        artifact["entry"] = str(entry)
    if not _declared:
        atexit.register(_write, rest=True)
    _declared[relative] = artifact
    _write()


def _relative(path: str | os.PathLike[str]) -> str:
    pure = PurePath(path)
    if pure.is_absolute():
        try:
            pure = pure.relative_to(output_dir())
        except ValueError:
            raise ValueError(f"{path!s} is not in the output folder") from None
    if not pure.parts or ".." in pure.parts:
        raise ValueError(f"{path!s} is not a path inside the output folder")
    return pure.as_posix()


def _write(rest: bool = False) -> None:
    """Writes the manifest; at the end of the script with what was left undeclared, too."""
    artifacts = list(_declared.values())
    folder = output_dir()
    if rest:
        covered = {PurePath(path).parts[0] for path in _declared}
        names = sorted(entry.name for entry in os.scandir(folder) if not entry.name.startswith("."))
        artifacts += [{"path": name} for name in names if name not in covered | {_MANIFEST}]
    text = json.dumps({"artifacts": artifacts}, ensure_ascii=False, indent=2) + "\n"
    (folder / _MANIFEST).write_text(text, encoding="utf-8")
