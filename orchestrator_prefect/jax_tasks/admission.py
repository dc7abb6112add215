"""Admission: running tasks book a device's memory, so that together they never take too much."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Condition
from typing import Protocol

LOOK_AGAIN = 0.05
"""Seconds after which a waiting task looks again: nobody tells it of results that are dropped, nor
of what other processes do."""


class Others(Protocol):
    """Who shares the device, as `Neighbours`."""

    def alone(self) -> AbstractContextManager[None]: ...
    def say(self, nbytes: int, running: int) -> None: ...
    def others(self) -> tuple[int, int]: ...


class Nobody:
    """No other process uses the device."""

    def alone(self) -> AbstractContextManager[None]:
        return nullcontext()

    def say(self, nbytes: int, running: int) -> None:
        return

    def others(self) -> tuple[int, int]:
        return 0, 0


class Admission:
    """The memory of one device, in one process. Threads wait in the order in which they came.

    A task gets in if what is on the device and what others have booked leaves room for it; or if
    no other runs, since then nothing is won by waiting.

    Args:
        capacity: bytes; infinity for no limit.
        taken: tells the bytes that are on the device now. others: who else uses it.

    Attributes:
        booked: bytes that running tasks have booked. running: so many tasks run.
        most: the most that was ever booked, in bytes.
    """

    def __init__(
        self, capacity: float, taken: Callable[[], int] = lambda: 0, others: Others | None = None
    ) -> None:
        self.capacity = capacity
        self.booked = self.running = self.most = 0
        self._taken, self._others = taken, others or Nobody()
        self._queue: deque[object] = deque()
        self._changed = Condition()

    @contextmanager
    def admitted(self, nbytes: int) -> Iterator[None]:
        """Within it, so many bytes more than are there now may be put on the device."""
        self._wait_for(nbytes)
        try:
            yield
        finally:
            with self._changed, self._others.alone():
                self._book(-nbytes, -1)
                self._changed.notify_all()

    def _wait_for(self, nbytes: int) -> None:
        turn = object()
        with self._changed:
            self._queue.append(turn)
            try:
                while self._queue[0] is not turn or not self._has_booked(nbytes):
                    self._changed.wait(LOOK_AGAIN)
            finally:
                self._queue.remove(turn)
                self._changed.notify_all()

    def _has_booked(self, nbytes: int) -> bool:
        """Books it, if there is room."""
        with self._others.alone():
            theirs, they_run = self._others.others()
            free = self.capacity - theirs - self.booked
            fits = math.isinf(free) or nbytes + self._taken() <= free
            if fits or not (self.running or they_run):
                self._book(nbytes, 1)
                return True
        return False

    def _book(self, nbytes: int, tasks: int) -> None:
        self.booked += nbytes
        self.running += tasks
        self.most = max(self.most, self.booked)
        if not isinstance(self._others, Nobody):
            self._others.say(self.booked + self._taken(), self.running)
