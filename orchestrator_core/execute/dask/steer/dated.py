"""Dated: tasks that are not to begin before a moment of their own, whoever places them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Set

from distributed.metrics import monotonic

from orchestrator_core.execute.dask.steer.alarm import Alarm
from orchestrator_core.execute.directives import Key


class Dated:
    """Which keys wait for their dates; `come` is told those whose date is there."""

    def __init__(self, come: Callable[[list[Key]], None], longest: float = math.inf) -> None:
        """`longest`: seconds that nothing may wait beyond."""
        self._come, self._longest = come, longest
        self._moment: dict[Key, float] = {}
        self._alarm = Alarm(self._look)

    @property
    def keys(self) -> Set[Key]:
        """The keys that wait; always the same live view, for those who ask often."""
        return self._moment.keys()

    def begin(self, dates: Mapping[Key, float]) -> None:
        """These keys wait so many seconds from now on; who waits already, as long as before."""
        now, known = monotonic(), self._moment
        fresh = {key: seconds for key, seconds in dates.items() if key not in known}
        moments = {key: now + min(seconds, self._longest) for key, seconds in fresh.items()}
        self._moment.update(moments)
        if moments:
            self._alarm.set(min(moments.values()))

    def forget(self, keys: Iterable[Key]) -> None:
        """These wait for nothing."""
        if self._moment:
            for key in keys:
                self._moment.pop(key, None)

    def clear(self) -> list[Key]:
        """Nothing waits any longer; who calls sees to it that these keys go on."""
        keys = list(self._moment)
        self._moment.clear()
        return keys

    def cancel(self) -> None:
        """Leave nothing on the event loop."""
        self._alarm.cancel()

    def _look(self) -> None:
        now = monotonic()
        come = [key for key, moment in self._moment.items() if moment <= now]
        self.forget(come)
        if self._moment:
            self._alarm.set(min(self._moment.values()))
        if come:
            self._come(come)
