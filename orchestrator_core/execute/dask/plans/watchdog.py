"""Watchdog: a worker that has gone silent is taken off the cluster while a plan waits for it.

A stopped process keeps its connections, so Dask waits for `distributed.scheduler.worker-ttl`, five
minutes as a rule, and whoever needs an output of it waits as long. A worker is given three times
what its longest task should take, for a task may well keep its whole process busy.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from distributed.metrics import time
from distributed.scheduler import heartbeat_interval

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, WorkerState

log = logging.getLogger("orchestrator.dask")

MISSED = 10
"""Heartbeats that must be missing at least."""

TASKS = 3.0
"""So many times its longest task may a worker be silent."""


class Watchdog:
    """Looks for workers that are silent for too long."""

    def __init__(
        self, scheduler: Scheduler, patience: float, longest: Callable[[WorkerState], float]
    ) -> None:
        """Args:
        patience: seconds of silence that any worker is allowed; 0 to watch nothing.
        longest: seconds that the longest of the tasks sent to a worker should take.
        """
        self._scheduler, self._patience, self._longest = scheduler, patience, longest
        self._leaving: set[asyncio.Task[object]] = set()

    def look(self) -> int:
        """Remove those that are silent for too long; how many."""
        hung = list(self._hung()) if self._patience > 0 else []
        for worker in hung:
            silent = time() - worker.last_seen
            log.warning(
                "worker %s has not been heard of for %.1f s and is taken off the cluster; what it "
                "had is computed elsewhere",
                worker.name,
                silent,
            )
            # Expected, so that its tasks are not suspected of having killed it.
            leaving = asyncio.ensure_future(
                self._scheduler.remove_worker(
                    worker.address,
                    stimulus_id=f"orchestrator-hung-{time()}",
                    close=False,
                    expected=True,
                )
            )
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)
        return len(hung)

    def _hung(self) -> Iterable[WorkerState]:
        now = time()
        least = max(self._patience, MISSED * heartbeat_interval(len(self._scheduler.workers)))
        for worker in self._scheduler.workers.values():
            silent = now - worker.last_seen
            needed = bool(worker.processing or worker.has_what)
            if needed and silent > least and silent > TASKS * self._longest(worker):
                yield worker
