"""Where text goes: results to stdout, progress and errors to stderr, JSON for programs.

Names come from other people's flows: no markup is ever read from them, and whatever could steer a
terminal is taken out (`clean`).
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

from rich.console import Console
from rich.text import Text

from orchestrator_core.clean_text import clean as clean

WIDTH_WITHOUT_TERMINAL = 120
"""Columns where the output is no terminal and `COLUMNS` says nothing."""


def results() -> Console:
    """The console on stdout."""
    return _console(sys.stdout)


def complain(message: str) -> None:
    """One red line on stderr."""
    line = Text.assemble(("error: ", "bold red"), (clean(message), "red"))
    _console(sys.stderr).print(line, soft_wrap=True)


def remark(message: str) -> None:
    """A line on stderr that is no part of the result."""
    _console(sys.stderr).print(Text(clean(message), "dim"), soft_wrap=True)


@contextmanager
def working(on: str) -> Iterator[None]:
    """Shows that something is under way, on a terminal only."""
    console = _console(sys.stderr)
    if not console.is_terminal:
        yield
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as progress:
        progress.add_task(clean(on), total=None)
        yield


def print_json(value: Any) -> None:
    """One JSON document on stdout; numbers that JSON does not have become null."""
    sys.stdout.write(json.dumps(_plain(value), indent=2, allow_nan=False) + "\n")


def toned(text: str, style: str) -> Text:
    """Cleaned text in a style."""
    return Text(clean(text), style)


def _console(stream: IO[str]) -> Console:
    console = Console(file=stream, markup=False, highlight=False, emoji=False)
    if not console.is_terminal and not os.environ.get("COLUMNS"):
        console.width = WIDTH_WITHOUT_TERMINAL
    return console


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
