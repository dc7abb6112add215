"""Awaiting: tasks of a graph whose plan is being made, kept at the scheduler for a moment.

A plan that comes after the first tasks were sent has lost their placement, and to block the event
loop until it comes would stop everybody else. So ready tasks wait in Dask's state "no-worker".
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Hashable, Set

from orchestrator_core.execute.directives import Key


class Awaiting:
    """Which keys wait for a plan; `release` is told those that need not wait any more."""

    def __init__(
        self, release: Callable[[Collection[Key]], None], longest: float = math.inf
    ) -> None:
        """`longest`: seconds that nothing may wait beyond."""
        self._release, self._longest = release, longest
        self._loop = asyncio.get_running_loop()
        self._keys: set[Key] = set()
        self._graphs: dict[Hashable, tuple[Collection[Key], asyncio.TimerHandle]] = {}

    @property
    def keys(self) -> Set[Key]:
        """The keys that wait; always the same live set, for those who ask often."""
        return self._keys

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __len__(self) -> int:
        return len(self._keys)

    def begin(self, graph: Hashable, keys: Collection[Key], seconds: float) -> None:
        """These keys of `graph` wait, `seconds` at most; said again, nothing changes."""
        if graph in self._graphs:
            return
        self._keys.update(keys)
        timer = self._loop.call_later(min(seconds, self._longest), self.end, graph)
        self._graphs[graph] = (keys, timer)

    def end(self, graph: Hashable) -> None:
        """The keys of `graph` wait no longer."""
        self._release(self.forget(graph))

    def forget(self, graph: Hashable) -> Collection[Key]:
        """The same, but who calls sees to it that they go on; they are returned."""
        keys, timer = self._graphs.pop(graph, ((), None))
        if timer is not None:
            timer.cancel()
        self._keys.difference_update(keys)
        return keys

    def clear(self) -> Collection[Key]:
        """Nothing waits any longer; who calls sees to it that these keys go on."""
        keys = list(self._keys)
        for graph in list(self._graphs):
            self.forget(graph)
        return keys
