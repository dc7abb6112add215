"""Watchdog: a worker that has gone silent is taken off the cluster while a plan waits for it.

A stopped process keeps its connections, so Dask waits for `distributed.scheduler.worker-ttl`, five
minutes as a rule, and whoever needs an output of it waits as long. A worker is given three times
what its longest task should take, for a task may well keep its whole process busy. Who cannot hear
says nothing of others: while the scheduler's own loop stands still, nobody is silent; and if nobody
at all is heard, it is hardly the workers that are hung.
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

DEAF = 1.0
"""After so many seconds without a look, silence is counted from anew."""


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
        self._looked = self._awake = 0.0

    def look(self) -> int:
        """Remove those that are silent for too long; how many."""
        now = time()
        if now - self._looked > DEAF:
            self._awake = now
        self._looked = now
        hung = list(self._hung(now)) if self._patience > 0 else []
        if len(hung) == len(self._scheduler.workers):
            return 0
        for worker in hung:
            silent = now - worker.last_seen
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

    def _hung(self, now: float) -> Iterable[WorkerState]:
        least = max(self._patience, MISSED * heartbeat_interval(len(self._scheduler.workers)))
        for worker in self._scheduler.workers.values():
            silent = now - max(worker.last_seen, self._awake)
            needed = bool(worker.processing or worker.has_what)
            if needed and silent > least and silent > TASKS * self._longest(worker):
                yield worker
