"""Paced: something that takes a while is not done all the time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

SHARE = 0.05
"""Part of the time that may be spent on it."""

LONGEST = 20.0
"""Seconds that it has to wait at most, however long it takes."""


class Paced:
    """After something was done that took so long, when it may be done again: at once what is quick,
    and what takes long only now and then. What had to wait is done in the end.

    Safe to use from several threads.
    """

    def __init__(
        self,
        do: Callable[[], object],
        *,
        share: float = SHARE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`do`: called on a thread of its own when what had to wait may be done; is to return
        soon."""
        self._do, self._share, self._clock = do, share, clock
        self._rests_until = -float("inf")
        self._timer: threading.Timer | None = None
        self._closed = False
        self._lock = threading.Lock()

    def is_due(self) -> bool:
        """May it be done?"""
        return self._clock() >= self._rests_until

    def done(self, seconds: float) -> None:
        """It was done just now, which took so long; nothing waits any more."""
        with self._lock:
            self._rests_until = self._clock() + min(LONGEST, seconds / self._share)
            self._stop()

    def later(self) -> None:
        """Do it as soon as it may be done; after `close`, never."""
        with self._lock:
            if self._timer is None and not self._closed:
                self._timer = threading.Timer(self._rests_until - self._clock(), self.hurry)
                self._timer.daemon = True
                self._timer.start()

    def hurry(self) -> None:
        """Do what waits, if anything does, now."""
        with self._lock:
            if self._timer is None:
                return
            self._stop()
        self._do()

    def close(self) -> None:
        """What waits is not done, nor what will be asked for later."""
        with self._lock:
            self._closed = True
            self._stop()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
