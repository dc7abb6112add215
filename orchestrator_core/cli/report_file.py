"""Writing a report without writing over somebody's work."""

from __future__ import annotations

from pathlib import Path

from orchestrator_core.errors import InvalidInput
from orchestrator_core.execute.record import RunRecord

MARK = b"Content-Security-Policy"
HEAD = 2048
"""A report's first bytes hold its policy; other pages of the sort hardly do."""


def check_writable(path: Path, force: bool) -> None:
    """May a report be written there?

    Raises:
        InvalidInput: if something is there that is no report, or its folder is missing.
    """
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder; give the name of a file, such as r.html")
    if not path.parent.is_dir():
        raise InvalidInput(
            f"there is no folder {path.parent} to write {path.name} to; make it first"
        )
    if path.exists() and not force and not _is_report(path):
        raise InvalidInput(
            f"{path} is there and is no report; give another name, or --force to write over it"
        )


def write_report(run: RunRecord, path: Path) -> Path:
    """Write the page of a run; returns its absolute path."""
    from orchestrator_core.report import write

    return write(run, path)


def _is_report(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(HEAD)
    return not head or (head.lstrip().startswith(b"<!doctype html>") and MARK in head)
