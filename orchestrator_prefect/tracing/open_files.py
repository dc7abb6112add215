"""Files that the user's module opened for writing: the trace must not write to them.

Nobody hears of a write, only of opening (`effects`); so who is asked to write is looked at.
"""

from __future__ import annotations

import io
import sys
from typing import Any

WRITES = frozenset({"write", "writelines", "truncate"})
"""Methods of files that change them."""


def may_write(thing: Any) -> bool:
    """Is it a file that is open for writing? Not what is in memory, nor where prints go."""
    if not isinstance(thing, io.IOBase) or isinstance(thing, io.StringIO | io.BytesIO):
        return False
    return not thing.closed and thing.writable() and not _is_screen(thing)


def writes(function: Any) -> bool:
    """Would a call of it write to such a file?"""
    return _method(function) and may_write(function.__self__)


def prints(function: Any) -> bool:
    """Would a call of it write where prints go?"""
    return _method(function) and _is_screen(function.__self__)


def _method(function: Any) -> bool:
    return (
        getattr(function, "__name__", None) in WRITES
        and getattr(function, "__self__", None) is not None
    )


def _is_screen(thing: Any) -> bool:
    return any(thing is each for each in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__))
