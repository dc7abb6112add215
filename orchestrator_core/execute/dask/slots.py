"""From a plan, which speaks of names, to slots and holds, which speak of keys."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

import numpy as np

from orchestrator_core.errors import InvalidSchedule
from orchestrator_core.execute.dask.snapshot import Snapshot
from orchestrator_core.execute.directives import Hold, Key, Slot
from orchestrator_core.plan.schedule import Schedule


def slots_of(
    schedule: Schedule,
    snapshot: Snapshot,
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
    slots: dict[Key, Slot] = {}
    seen: set[str] = set()
    order = np.lexsort((np.arange(len(schedule)), schedule.start))
    tasks, places, modes = (column.tolist() for column in _columns(schedule))
    for rank, i in enumerate(order.tolist()):
        name, worker = schedule.task_names[tasks[i]], schedule.worker_names[places[i]]
        if only is not None and snapshot.key_of.get(name) not in only:
            continue
        key = _checked(name, worker, snapshot, workers, seen)
        if key in snapshot.plannable:
            slots[key] = Slot(worker, rank, modes[i])
    return slots


def _columns(schedule: Schedule) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return schedule.task, schedule.worker, schedule.mode


def _checked(
    name: str, worker: str, snapshot: Snapshot, workers: Container[str], seen: set[str]
) -> Key:
    if name not in snapshot.key_of:
        raise InvalidSchedule(
            f"the schedule places {name!r}, which is not among the {len(snapshot)} tasks of the "
            "graph",
            rule="known task",
            task=name,
        )
    if worker not in workers:
        raise InvalidSchedule(
            f"the schedule places {name!r} on {worker!r}, which is no worker of the cluster",
            rule="known worker",
            task=name,
        )
    if name in seen:
        raise InvalidSchedule(f"the schedule places {name!r} twice", rule="once", task=name)
    seen.add(name)
    return snapshot.key_of[name]


def holds_of(holds: Mapping[str, Hold], snapshot: Snapshot) -> dict[Key, Hold]:
    """The holds by key; what speaks of tasks that are not in the graph is left out."""

    def keys(names: Iterable[Key]) -> frozenset[Key]:
        found = (snapshot.key_of.get(str(name)) for name in names)
        return frozenset(key for key in found if key is not None)

    return {
        snapshot.key_of[name]: Hold(keys(hold.sent), keys(hold.done), hold.patience)
        for name, hold in holds.items()
        if name in snapshot.key_of
    }
