"""Tasks in this process that begin in an order and end when they may; a module is never pickled."""

from __future__ import annotations

from threading import Condition

_changed = Condition()
_starts: list[str] = []
_allowed = 0


def begin() -> None:
    """Nobody has begun yet, nobody may end."""
    global _allowed
    with _changed:
        _starts.clear()
        _allowed = 0


def allow(number: int) -> None:
    """So many more may end, in the order in which they began or will begin."""
    global _allowed
    with _changed:
        _allowed += number
        _changed.notify_all()


def take(who: str) -> None:
    """Begin; returns when it is allowed."""
    with _changed:
        number = len(_starts)
        _starts.append(who)
        if not _changed.wait_for(lambda: number < _allowed, timeout=60.0):
            raise TimeoutError(f"{who} was never allowed to end")


def starts() -> list[str]:
    """Who has begun, in order."""
    with _changed:
        return list(_starts)
