"""A gate in this process at which tasks wait; a module is never pickled."""

from __future__ import annotations

from threading import Event

_gate = Event()


def close() -> None:
    """Whoever comes, waits."""
    _gate.clear()


def open() -> None:
    """Let all pass, also those who come later."""
    _gate.set()


def wait(seconds: float) -> bool:
    """Was it opened within that time?"""
    return _gate.wait(seconds)
