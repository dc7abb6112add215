"""Where tasks of a flow in this process wait for each other; a module is never pickled."""

from __future__ import annotations

from threading import Event, Lock

_lock = Lock()
_complete = Event()
_missing = 0


def open_for(number: int) -> None:
    """So many are to come."""
    global _missing
    _missing = number
    _complete.clear()


def come() -> None:
    """One more has come."""
    global _missing
    with _lock:
        _missing -= 1
        if _missing <= 0:
            _complete.set()


def wait(seconds: float) -> bool:
    """Have all come within that time?"""
    return _complete.wait(seconds)
