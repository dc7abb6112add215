"""Lookout: twice a second it is looked whether something stands still that no event tells of."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

PERIOD = 0.5
"""Seconds between two looks."""


class Lookout:
    """Calls each of `looks`, from `watch` on; none of them may raise."""

    def __init__(self, *looks: Callable[[], None]) -> None:
        self._looks = looks
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def watch(self) -> None:
        """Begin to look."""
        self._timer = self._loop.call_later(PERIOD, self._look)

    def cancel(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        self.watch()
        for look in self._looks:
            look()
