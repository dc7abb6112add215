"""Tasks in this process that begin in an order and end when they may; a module is never pickled."""

from __future__ import annotations

from threading import Lock, Semaphore

_lock = Lock()
_starts: list[str] = []
_turns = Semaphore(0)


def begin() -> None:
    """Nobody has begun yet, nobody may end."""
    global _turns
    with _lock:
        _starts.clear()
        _turns = Semaphore(0)


def allow(number: int) -> None:
    """So many more may end."""
    _turns.release(number)


def take(who: str) -> None:
    """Begin; returns when it is allowed."""
    with _lock:
        _starts.append(who)
    if not _turns.acquire(timeout=60.0):
        raise TimeoutError(f"{who} was never allowed to end")


def starts() -> list[str]:
    """Who has begun, in order."""
    with _lock:
        return list(_starts)
