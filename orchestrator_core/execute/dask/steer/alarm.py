"""Alarm: one call on the event loop at a moment of `distributed.metrics.monotonic`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from distributed.metrics import monotonic

SLACK = 1e-3
"""Seconds that it rings late, so that the moment is past on every clock."""


class Alarm:
    """Rings once, at the earliest of the moments that it was set to since it rang."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def set(self, moment: float) -> None:
        """Ring at that moment at the latest."""
        when = self._loop.time() + max(0.0, moment - monotonic()) + SLACK
        if self._timer is None or self._timer.when() > when:
            self.cancel()
            self._timer = self._loop.call_at(when, self._rings)

    def cancel(self) -> None:
        """Do not ring."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _rings(self) -> None:
        self._timer = None
        self._ring()
