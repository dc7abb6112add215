"""From a plan, which speaks of names, to slots and holds, which speak of keys."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

import numpy as np

from orchestrator_core.errors import InvalidSchedule
from orchestrator_core.execute.dask.graphs.followed import Tasks
from orchestrator_core.execute.directives import Key, Slot
from orchestrator_core.execute.turns import Turn
from orchestrator_core.plan.schedule import Schedule

Row = tuple[Key | None, str, int, int, int]


def slots_of(
    schedule: Schedule,
    snapshot: Tasks,
    workers: Container[str],
    only: Container[Key] | None = None,
) -> dict[Key, Slot]:
    """The slots of the plannable tasks, ranked by start, then by position in the schedule.

    Args:
        only: keys to which the slots are limited; the others may be placed anywhere.

    Raises:
        InvalidSchedule: if it names a task or worker that does not exist, or a task twice; what
            speaks of another graph cannot be followed.
    """
    rows = _rows(schedule, snapshot)
    if only is not None:
        rows = [row for row in rows if row[0] in only]
    _check(rows, schedule, snapshot, workers)
    plannable = snapshot.plannable
    return {
        key: Slot(worker, rank, mode)
        for key, worker, rank, mode, _ in rows
        if key in plannable  # never None, which `_check` has refused
    }


def turned(slots: Mapping[Key, Slot], turn: Turn) -> dict[Key, Slot]:
    """The slots with the ranks that they have when it is the run's turn."""
    return {key: Slot(slot.worker, turn.rank(slot.rank), slot.mode) for key, slot in slots.items()}


def _rows(schedule: Schedule, snapshot: Tasks) -> list[Row]:
    """Key, worker, rank, mode and task number, in order of the starts; without stored inputs."""
    there = set(snapshot.there.values())
    own = np.array([name not in there for name in schedule.task_names], dtype=np.bool_)
    order = np.lexsort((np.arange(len(schedule)), schedule.start))
    order = order[own[schedule.task[order]]]
    keys = [snapshot.key_of.get(name) for name in schedule.task_names]
    columns = (schedule.task, schedule.worker, schedule.mode)
    tasks, places, modes = (column[order].tolist() for column in columns)
    return [
        (keys[task], schedule.worker_names[place], rank, mode, task)
        for rank, (task, place, mode) in enumerate(zip(tasks, places, modes, strict=True))
    ]


def _check(
    rows: Sequence[Row], schedule: Schedule, snapshot: Tasks, workers: Container[str]
) -> None:
    unknown = {worker for _, worker, *_ in rows if worker not in workers}
    seen: set[Key] = set()
    for key, worker, _, _, task in rows:
        name = schedule.task_names[task]
        if key is None:
            raise InvalidSchedule(
                f"the schedule places {name!r}, which is not among the {len(snapshot)} tasks of "
                "the graph",
                rule="known task",
                task=name,
            )
        if worker in unknown:
            raise InvalidSchedule(
                f"the schedule places {name!r} on {worker!r}, which is no worker of the cluster",
                rule="known worker",
                task=name,
            )
        if key in seen:
            raise InvalidSchedule(f"the schedule places {name!r} twice", rule="once", task=name)
        seen.add(key)
