"""Standstill: no worker runs anything, and yet ready tasks were sent nowhere.

By itself that does not change: what such a task is held for will not come, and a directive that got
lost is not given again. A plan must not keep a cluster idle for longer than a hold is allowed to.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING

from distributed.metrics import monotonic

from orchestrator_core.execute.directives import Key

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, TaskState

LONGEST = 2.0
"""Seconds for which a task may stand ready if nothing runs then: as long as the longest hold of
`execute.measures` lets a worker stand idle."""


class Standstill:
    """Looks for one; what stands still is told to `end`."""

    def __init__(
        self,
        scheduler: Scheduler,
        planned: Container[Key],
        waiting: Sequence[Container[Key]],
        end: Callable[[list[Key]], None],
    ) -> None:
        """`planned` keys and all that any worker may run are looked at, but none that are
        `waiting` for what comes by itself."""
        self._scheduler, self._end = scheduler, end
        self._planned, self._waiting = planned, waiting

    def look(self) -> None:
        """Look once."""
        keys = self._standing()
        if keys:
            self._end(keys)

    def _standing(self) -> list[Key]:
        scheduler, since = self._scheduler, monotonic() - LONGEST
        if not scheduler.unrunnable or not scheduler.running:
            return []
        if any(worker.processing for worker in scheduler.workers.values()):
            return []
        aside = scheduler.unrunnable.items()
        return [task.key for task, at in aside if at <= since and self._is_kept(task)]

    def _is_kept(self, task: TaskState) -> bool:
        """Would Dask run it, were it not for us?"""
        if any(task.key in keys for keys in self._waiting):
            return False
        bound = task.worker_restrictions or task.host_restrictions or task.resource_restrictions
        return not bound or task.key in self._planned
