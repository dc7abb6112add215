"""Watch: what one trace must keep to, and where it is refused."""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType

import orchestrator_core
import orchestrator_prefect

SHOWN = 100
"""Characters of a source line in a message."""

_OURS = (orchestrator_core, orchestrator_prefect)
_NOT_USERS = (
    *(str(Path(*package.__path__)) + os.sep for package in _OURS),
    *(sysconfig.get_path(n) + os.sep for n in ("stdlib", "platstdlib", "purelib", "platlib")),
)


class Refused(BaseException):
    """The trace cannot go on; the text says where, why, and what to do.

    No `Exception`, as the flow's code may catch those.
    """


class Watch:
    """What one trace may take, and what it was refused for.

    Args:
        seconds: that the body may take. tasks: that it may submit.
    """

    def __init__(self, seconds: float, tasks: int) -> None:
        self.seconds, self.tasks = seconds, tasks
        self.refused: Refused | None = None
        # What other threads do, nobody in the body has asked them to do.
        self.thread = threading.get_ident()
        self._until = time.monotonic() + seconds

    def tick(self) -> None:
        """Something goes on.

        Raises:
            Refused: if it has gone on for too long, or what was refused before was caught.
        """
        if self.refused is not None:
            raise self.refused
        if time.monotonic() > self._until:
            refuse(f"the code is still going after {self.seconds:g} s", "give it less to do")


_watch: Watch | None = None


def watching() -> Watch | None:
    """The watch of the trace under way, if one is."""
    return _watch


@contextmanager
def watch(over: Watch) -> Iterator[None]:
    """Within it, the trace is under way; one at a time in a process."""
    global _watch
    _watch = over
    try:
        yield
    finally:
        _watch = None


def refuse(why: str, advice: str = "run it once with @optimized_flow, then plan it") -> None:
    """End the trace at the line of the user's code that is under way.

    Raises:
        Refused: always, while a trace is under way; else nothing happens.
    """
    if _watch is None:
        return
    if _watch.refused is None:
        _watch.refused = Refused(f"{line_of(sys._getframe(1))}{why}; {advice}")
    raise _watch.refused


def is_users(code: CodeType) -> bool:
    """Is it code of a file that is neither installed nor part of this project?"""
    return is_users_file(code.co_filename)


def is_users_file(name: str) -> bool:
    """The same of a file by its path."""
    installed = name.startswith(_NOT_USERS) or "-packages" + os.sep in name
    return name.endswith(".py") and not installed


def line(file: str, number: int) -> str:
    """A line of source as messages begin with it."""
    text = linecache.getline(file, number).strip()
    text = text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
    near = os.path.relpath(file)
    place = f"{file if near.startswith('..') else near}:{number}"
    return f"{place}: `{text}`: " if text else f"{place}: "


def line_of(frame: FrameType | None) -> str:
    """The line of the user's code that is under way in this frame or around it, as of `line`."""
    while frame is not None and not is_users(frame.f_code):
        frame = frame.f_back
    return "" if frame is None else line(frame.f_code.co_filename, frame.f_lineno)
