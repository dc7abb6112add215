"""Worked: how long the threads of all workers have been busy, whatever with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from distributed.metrics import time

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler


class Worked:
    """A clock that goes as fast as there are busy threads: what a run had not, others had."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._ended = 0.0

    def ended(self, startstops: Iterable[Mapping[str, Any]] | None) -> None:
        """A task has ended; Dask says what it did when."""
        for span in startstops or ():
            if span["action"] == "compute":
                self._ended += max(0.0, span["stop"] - span["start"])

    def now(self) -> float:
        """Seconds of threads until now, as far as heartbeats tell."""
        moment, running = time(), 0.0
        for worker in self._scheduler.workers.values():
            for task, seconds in worker.executing.items():
                if task.processing_on is worker and task not in worker.long_running:
                    running += seconds + max(0.0, moment - worker.last_seen)
        return self._ended + running
