"""Prefetch: outputs go ahead to the workers where they will be needed.

Dask tells a worker of a task, and with it of its inputs, only when all of these are there. Where a
consumer is planned on another worker and still waits for others of its inputs, this one can travel
in the meantime. Copies take memory, so they are limited in bytes for each worker.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING

from distributed.metrics import time

from orchestrator_core.execute.dask.workers.roster import Roster
from orchestrator_core.execute.directives import Key
from orchestrator_core.execute.follower import Follower
from orchestrator_core.execute.stage import Stage

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, TaskState, WorkerState

SMALLEST = 100_000
"""Bytes below which a transfer takes hardly longer than asking for it."""

FULLEST = 0.6
"""Part of a worker's memory beyond which nothing is sent ahead to it."""


class Prefetcher:
    """Asks workers to fetch what they will need."""

    def __init__(
        self,
        scheduler: Scheduler,
        roster: Roster,
        follower: Follower,
        fault: Callable[[str, Exception], None],
    ) -> None:
        self._scheduler, self._roster, self._follower = scheduler, roster, follower
        self._fault = fault
        self._loop = asyncio.get_running_loop()
        self._due: list[Key] = []

    def finished(self, key: Key) -> None:
        """The key has an output; called in a transition."""
        if not self._due:
            self._loop.call_soon(self._flush)
        self._due.append(key)

    def _flush(self) -> None:
        due, self._due = self._due, []
        try:
            wanted: dict[str, list[Key]] = defaultdict(list)
            for key in due:
                for worker in self._destinations(key):
                    wanted[worker.address].append(key)
            for address, keys in wanted.items():
                self._scheduler.request_acquire_replicas(
                    address,
                    keys,  # type: ignore[arg-type]
                    stimulus_id=f"orchestrator-prefetch-{time()}",
                )
        except Exception as error:
            self._fault("prefetch", error)

    def _destinations(self, key: Key) -> list[WorkerState]:
        """Workers where the output is needed, is not, and will not be fetched at once."""
        state: TaskState | None = self._scheduler.tasks.get(key)  # type: ignore[call-overload]
        if state is None or not state.who_has or state.nbytes < SMALLEST:
            return []
        found: dict[WorkerState, None] = {}
        for consumer in state.dependents:
            worker = self._planned_on(consumer)
            if worker is not None and worker not in state.who_has and _has_room(worker, state):
                found[worker] = None
        return list(found)

    def _planned_on(self, consumer: TaskState) -> WorkerState | None:
        """Where the consumer will run, if it still waits for other inputs."""
        slot = self._follower.slot(consumer.key)
        if slot is None or not consumer.waiting_on:
            return None
        if self._follower.stage(consumer.key) is not Stage.PLANNED:
            return None
        return self._roster.running(slot.worker)


def _has_room(worker: WorkerState, state: TaskState) -> bool:
    limit = worker.memory_limit
    return not limit or worker.nbytes + state.nbytes <= FULLEST * limit
