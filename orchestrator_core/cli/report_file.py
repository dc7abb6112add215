"""Writing a report or a trace without writing over somebody's work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from orchestrator_core.errors import InvalidInput
from orchestrator_core.execute.record import RunRecord

MARK = b"Content-Security-Policy"
TRACE_MARK = b'"format":"orchestrator.trace/'
HEAD = 2048
"""A report's first bytes hold its policy, a trace's its format; other files of the sort hardly."""


def check_writable(path: Path, force: bool) -> None:
    """May a report be written there?

    Raises:
        InvalidInput: if something is there that is no report, or its folder is missing.
    """
    _check(path, force, "report", "r.html", _is_report)


def check_writable_trace(path: Path, force: bool) -> None:
    """May a trace be written there?

    Raises:
        InvalidInput: if something is there that is no trace of ours, or its folder is missing.
    """
    _check(path, force, "trace", "t.json", _is_trace)


def write_report(run: RunRecord, path: Path) -> Path:
    """Write the page of a run; returns its absolute path."""
    from orchestrator_core.report import write

    return write(run, path)


def _check(
    path: Path, force: bool, what: str, example: str, is_ours: Callable[[bytes], bool]
) -> None:
    if str(path) == "-":
        raise InvalidInput(
            f"a {what} goes into a file, not to stdout; give a name, such as {example}"
        )
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder; give the name of a file, such as {example}")
    if not path.parent.is_dir():
        raise InvalidInput(
            f"there is no folder {path.parent} to write {path.name} to; make it first"
        )
    if path.exists() and not force and not is_ours(_head(path)):
        raise InvalidInput(
            f"{path} is there and is no {what}; give another name, or --force to write over it"
        )


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD)


def _is_report(head: bytes) -> bool:
    return not head or (head.lstrip().startswith(b"<!doctype html>") and MARK in head)


def _is_trace(head: bytes) -> bool:
    return not head or TRACE_MARK in head
