"""The folders of the running job, from its environment."""
from __future__ import annotations

import os
from pathlib import Path


def _folder(variable: str, fallback: str) -> Path:
    """The folder a variable names; outside a job, one below the working folder."""
    named = os.environ.get(variable)
    folder = Path(named) if named else Path.cwd() / fallback
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def output_dir() -> Path:
    """Where to write what is published: every file left there becomes an artifact."""
    return _folder("ALISIO_OUTPUT_DIR", "output")


def input_dir() -> Path:
    """Copies of the requested inputs; `inputs.json` lists them."""
    return _folder("ALISIO_INPUT_DIR", "input")


def work_dir() -> Path:
    """Scratch space, which is the working folder of a job; nothing in it is published."""
    return _folder("ALISIO_WORK_DIR", "work")


def execution_id() -> str:
    """The id of this run, `exec_…`; empty outside a job."""
    return os.environ.get("ALISIO_EXECUTION_ID", "")


def beneath(folder: Path, name: str | os.PathLike[str]) -> Path:
    """The path of `name` in `folder`; its folders are made. ValueError when it leads outside."""
    relative = Path(name)
    if relative.is_absolute() or ".." in relative.parts or not relative.parts:
        raise ValueError(f"{name!s} is not a path inside the output folder")
    path = folder / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
