"""Watchdog: a worker that has gone silent is taken off the cluster while a plan waits for it.

A stopped process keeps its connections, so Dask waits for `distributed.scheduler.worker-ttl`, five
minutes as a rule, and whoever needs an output of it waits as long. A worker is given three times
what its longest task should take, for a task may well keep its whole process busy. A worker reads
its tasks on its event loop, and imports there what they need, which takes long for large libraries
on slow disks: one that has not ended a task yet is given more time, or it would be stopped at each
start anew. Whoever is taken off is begun anew by its nanny, as Dask does it after its five minutes:
a worker that is only told that nobody knows it ends for good, and its nanny with it. Who comes back
may not have been hung: from then on all are given twice the time that it was given, up to Dask's
five minutes. Who cannot hear says nothing of others: while the scheduler's own loop stands still,
nobody is silent; and if nobody at all is heard, it is hardly the workers that are hung.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Hashable, Iterable
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

FIRST = 6.0
"""So many times longer may a worker be silent until it has ended its first task."""

MOST = 300.0
"""Seconds beyond which nobody is given twice the time: Dask looks then, too."""

DEAF = 1.0
"""After so many seconds without a look, silence is counted from anew."""


class Watchdog:
    """Looks for workers that are silent for too long."""

    def __init__(
        self,
        scheduler: Scheduler,
        patience: float,
        longest: Callable[[WorkerState], float],
        has_run: Callable[[str], bool],
    ) -> None:
        """Args:
        patience: seconds of silence that any worker is allowed; 0 to watch nothing.
        longest: seconds that the longest of the tasks sent to a worker should take.
        has_run: has the worker at this address ended a task since it joined?
        """
        self._scheduler, self._patience, self._longest = scheduler, patience, longest
        self._has_run = has_run
        self._taken_off: dict[Hashable, float] = {}
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
            self._taken_off[_lasting(worker)] = self._patience
            silent = now - worker.last_seen
            log.warning(
                "worker %s has not been heard of for %.1f s and is taken off the cluster; what it "
                "had is computed elsewhere",
                worker.name,
                silent,
            )
            leaving = asyncio.ensure_future(_begin_anew(self._scheduler, worker))
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)
        return len(hung)

    def joined(self, worker: WorkerState) -> None:
        """A worker is there; was it taken off for being hung?"""
        given = self._taken_off.pop(_lasting(worker), 0.0)
        # Not doubled for each of several that were taken off together.
        self._patience = max(self._patience, min(2.0 * given, MOST))

    def _hung(self, now: float) -> Iterable[WorkerState]:
        usual = max(self._patience, MISSED * heartbeat_interval(len(self._scheduler.workers)))
        for worker in self._scheduler.workers.values():
            silent = now - max(worker.last_seen, self._awake)
            needed = bool(worker.processing or worker.has_what)
            least = usual if self._has_run(worker.address) else FIRST * usual
            if needed and silent > least and silent > TASKS * self._longest(worker):
                yield worker


async def _begin_anew(scheduler: Scheduler, worker: WorkerState) -> None:
    """Its tasks go elsewhere at once; its process is ended by its nanny, if it has one."""
    why = f"orchestrator-hung-{time()}"
    # Expected, so that its tasks are not suspected of having killed it.
    await scheduler.remove_worker(worker.address, stimulus_id=why, close=False, expected=True)
    if worker.nanny:
        with contextlib.suppress(OSError, TimeoutError):
            await scheduler.rpc(worker.nanny).kill(reason=why)


def _lasting(worker: WorkerState) -> Hashable:
    """What stays the same when its process begins anew."""
    return worker.nanny or worker.name
