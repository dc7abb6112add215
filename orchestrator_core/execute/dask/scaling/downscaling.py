"""Pinned tasks: a worker that alone may run one is not to be retired (dask/distributed#4202).

Dask retires by what workers hold and do now; a task that waits for its inputs, and may run on one
worker only, would then wait for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, TaskState, WorkerState

Grouping = Callable[["WorkerState"], Hashable]
"""Workers for which it returns the same are closed together, such as those of one batch job."""

OPEN = frozenset({"waiting", "queued", "no-worker", "processing"})
"""States of tasks that are still to run, or to end."""


def spared(
    scheduler: Scheduler, workers: Sequence[WorkerState], group: Grouping | None = None
) -> list[WorkerState]:
    """Those of the workers that may all be closed, earlier ones first: of the workers on which a
    task may run, one stays. Workers of a `group`, if there are any, go together or not at all."""
    homes = pins(scheduler)
    together: dict[Hashable, set[WorkerState]] = {}
    for worker in workers:
        together.setdefault(worker if group is None else group(worker), set()).add(worker)
    closing: set[WorkerState] = set()
    for members in together.values():
        if all(home - closing - members for home in homes):
            closing |= members
    return [worker for worker in workers if worker in closing]


def pins(scheduler: Scheduler) -> set[frozenset[WorkerState]]:
    """Sets of running workers to which open tasks are restricted; each only once."""
    found: dict[object, frozenset[WorkerState]] = {}
    for task in scheduler.tasks.values():
        if task.state in OPEN and is_pinned(task):
            terms = _terms(task)
            if terms not in found:
                found[terms] = frozenset(scheduler.valid_workers(task) or ())
    return {home for home in found.values() if home}


def is_pinned(task: TaskState) -> bool:
    """Did the user say where it may run, and strictly so?"""
    if task.resource_restrictions:
        return True
    return bool(task.worker_restrictions or task.host_restrictions) and not task.loose_restrictions


def _terms(task: TaskState) -> object:
    """Equal for tasks that are restricted alike."""
    return (
        frozenset(task.worker_restrictions or ()),
        frozenset(task.host_restrictions or ()),
        frozenset((task.resource_restrictions or {}).items()),
    )
