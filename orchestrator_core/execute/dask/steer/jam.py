"""Jams: a worker gets no further, and planned tasks wait behind what holds its threads.

That may wait for the very tasks behind it: for what it has submitted itself, or for an event that
one of them sets. Dask's work stealing takes such tasks to who is free; a plan keeps it away from
them, so it has to see to it. What merely takes longer than anybody thought looks the same, and
there, too, whoever is free does better.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import TYPE_CHECKING

from distributed.core import Status
from distributed.metrics import time

from orchestrator_core.execute.directives import Key
from orchestrator_core.execute.stage import PLACED, Stage

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, TaskState, WorkerState

LONGEST = 2.0
TIMES = 3.0
"""A task holds its thread for too long after so many seconds, and so many times as long as was
believed."""

NOBODY: frozenset[Key] = frozenset()

Seconds = Callable[[Key], float]
"""How long a task should take by the plan; 0 where that is not known."""


def jammed(
    scheduler: Scheduler, seconds: Seconds, ours: Container[Key] = NOBODY
) -> list[WorkerState]:
    """Workers all of whose threads are held for too long by tasks that are not `ours`."""
    now = time()
    return [
        worker
        for worker in scheduler.workers.values()
        if len(worker.executing) >= worker.nthreads
        and sum(task.key not in ours for task in _stuck(worker, now, seconds)) >= worker.nthreads
    ]


def idle(scheduler: Scheduler) -> list[WorkerState]:
    """Running workers with a free thread."""
    return [
        worker
        for worker in scheduler.workers.values()
        if worker.status is Status.running
        and len(worker.processing) - len(worker.long_running) < worker.nthreads
    ]


class Jams:
    """Looks for them; tasks that wait in one are told to `end`, with the workers that are idle."""

    def __init__(
        self,
        scheduler: Scheduler,
        stages: Mapping[Key, Stage],
        seconds: Seconds,
        end: Callable[[list[Key], list[WorkerState]], None],
    ) -> None:
        self._scheduler, self._stages = scheduler, stages
        self._seconds, self._end = seconds, end

    def look(self) -> None:
        """Look once."""
        if not self._stages:
            return
        keys = [
            key for worker in jammed(self._scheduler, self._seconds) for key in self._in(worker)
        ]
        free = idle(self._scheduler) if keys else []
        if free:
            self._end(keys, free)

    def _in(self, worker: WorkerState) -> Iterable[Key]:
        """The planned tasks that wait on the worker."""
        for task in worker.processing:
            if task not in worker.executing and self._stages.get(task.key) is PLACED:
                yield task.key


def _stuck(worker: WorkerState, now: float, seconds: Seconds) -> Iterable[TaskState]:
    """What the worker executes for too long; its last heartbeat said since when."""
    for task, took in worker.executing.items():
        if task.processing_on is not worker or task in worker.long_running:
            continue
        believed = max(seconds(task.key), task.prefix.duration_average)
        if took + max(0.0, now - worker.last_seen) > max(LONGEST, TIMES * believed):
            yield task
