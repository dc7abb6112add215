"""Dask with a plan's places and order, as far as Dask itself keeps them.

Dask tells a worker of a task only when all its inputs are done, so a worker fetches late; and a
worker begins whatever is ready, so a task that was planned later overtakes one that still waits.
Holds keep such a task back; prefetching sends outputs ahead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator_core.execute.directives import Hold, Key
from orchestrator_core.execute.holds import Holds
from orchestrator_core.execute.simulate.event_loop import EventLoop


class PlacedPolicy:
    """Gives each unit to its worker as soon as its inputs are done."""

    def __init__(self, loop: EventLoop, workers: list[int]) -> None:
        self.loop, self.workers = loop, workers

    def ready(self, unit: int) -> None:
        self.loop.give(unit, self.workers[unit])

    def done(self, unit: int) -> None:
        """Nothing to decide."""

    def arrived(self, unit: int, worker: int) -> None:
        """Nothing to decide."""

    def settle(self) -> None:
        """Nothing to decide."""


class SteeredPolicy(PlacedPolicy):
    """The same, with holds of units, and with outputs that are sent ahead if `prefetch` is set."""

    def __init__(
        self, loop: EventLoop, workers: list[int], holds: Mapping[int, Hold], prefetch: bool
    ) -> None:
        """`holds` are by unit."""
        super().__init__(loop, workers)
        self.prefetch = prefetch
        self.holds = Holds()
        by_key: dict[Key, Hold] = dict(holds.items())
        self.holds.add(by_key, sent=_not_yet, done=_not_yet)

    def ready(self, unit: int) -> None:
        if self.holds.begin(unit, self.loop.now):
            self.loop.wake(self.holds.waiting[unit])
        else:
            self._send([unit])

    def done(self, unit: int) -> None:
        self._send(self.holds.done(unit))
        if self.prefetch:
            self._send_ahead(unit)

    def settle(self) -> None:
        if self.holds.waiting:
            self._send(self.holds.expired(self.loop.now))

    def _send(self, units: list[Any]) -> None:
        """Send these, and whatever waits for nothing but their being sent."""
        while units:
            unit = units.pop()
            self.loop.give(unit, self.workers[unit])
            units += self.holds.sent(unit)

    def _send_ahead(self, unit: int) -> None:
        """Send the output to where it will be needed by what still waits for other inputs."""
        loop, workers = self.loop, self.workers
        for consumer in loop.units.consumers[unit]:
            if loop.inputs_left[consumer] > 1:
                loop.send_ahead(unit, workers[consumer])


def _not_yet(unit: object) -> bool:
    return False
