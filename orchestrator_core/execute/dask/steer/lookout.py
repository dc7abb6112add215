"""Lookout: twice a second it is looked whether something stands still that no event tells of."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

PERIOD = 0.5
"""Seconds between two looks."""


class Lookout:
    """Calls each of `looks` by its name, from `watch` on; `failed` is told what one of them raised.

    It is what is left when all else has failed, so it goes through nothing else of the plugin's.
    """

    def __init__(
        self, failed: Callable[[str, Exception], None], **looks: Callable[[], None]
    ) -> None:
        self._failed, self._looks = failed, looks
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
        for name, look in self._looks.items():
            try:
                look()
            except Exception as error:
                self._failed(name, error)
