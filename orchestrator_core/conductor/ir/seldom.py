"""Python's garbage collector, looking less often while a graph is built."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator

TIMES_AS_SELDOM = 100

_lock = threading.Lock()
_inside = 0
_before = (0, 0, 0)


@contextlib.contextmanager
def collecting_seldom() -> Iterator[None]:
    """Meanwhile the collector looks at new objects a hundredth as often.

    A graph is ten thousands of objects that stay. To look through them again and again for some
    that could go takes a quarter to a third of the time in which one is read and planned. The
    threshold holds for the whole process: it is as before when the last one inside has left,
    whatever thread it is in. A program that has turned the collector off, or changes its threshold
    meanwhile, has it so.
    """
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _inside, _before
    with _lock:
        if _inside == 0:
            _before = gc.get_threshold()
            gc.set_threshold(*_seldom())
        _inside += 1


def _leave() -> None:
    global _inside
    with _lock:
        _inside -= 1
        if _inside == 0 and gc.get_threshold() == _seldom():
            gc.set_threshold(*_before)


def _seldom() -> tuple[int, int, int]:
    first, second, third = _before
    return first * TIMES_AS_SELDOM, second, third
