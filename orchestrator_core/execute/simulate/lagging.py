"""Lagging: a rehearsal in which the scheduler hears and tells everything a little late.

A worker that has ended a task begins the next one that it was given, long before the scheduler
tells it of what the ended task made ready. For the end of a run that matters little; for what is
held it matters much, since each worker has produced one output more before it consumes the first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.directives import Hold
from orchestrator_core.execute.simulate.event_loop import EventLoop
from orchestrator_core.execute.simulate.placed_policy import PlacedPolicy, SteeredPolicy
from orchestrator_core.execute.simulate.rehearsal import Rehearsal
from orchestrator_core.plan.schedule import Schedule

LAG = 0.01
"""Seconds from the end of a task until a worker knows of what it made ready."""


class LaggingRehearsal(Rehearsal):
    """A rehearsal with `lag` seconds between what happens and what is done about it."""

    def __init__(self, instance: Instance, schedule: Schedule, lag: float = LAG) -> None:
        super().__init__(instance, schedule)
        self.lag = lag

    def _policy(self, loop: EventLoop, holds: Mapping[str, Hold], prefetch: bool) -> PlacedPolicy:
        return LaggingPolicy(loop, self.workers, self._of_units(holds), prefetch, self.lag)


class LaggingPolicy(SteeredPolicy):
    """Sends each unit `lag` seconds after it may be sent."""

    def __init__(
        self,
        loop: EventLoop,
        workers: list[int],
        holds: Mapping[int, Hold],
        prefetch: bool,
        lag: float,
    ) -> None:
        super().__init__(loop, workers, holds, prefetch)
        self.lag = lag
        self._under_way: deque[tuple[float, list[Any]]] = deque()

    def settle(self) -> None:
        super().settle()
        while self._under_way and self._under_way[0][0] <= self.loop.now:
            super()._send(self._under_way.popleft()[1])

    def _send(self, units: list[Any]) -> None:
        if units:
            moment = self.loop.now + self.lag
            self._under_way.append((moment, units))
            self.loop.wake(moment)
