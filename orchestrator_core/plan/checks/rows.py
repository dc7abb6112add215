"""Rows: a schedule in the positions of its instance; the rules names, once, mode and eligible.

A *unit* is one instance of a task: instance r of task i is unit ``offset[i] + r``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidSchedule
from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Rows:
    """A schedule whose names are resolved: k assignments, x transfers, u units.

    Attributes:
        eps: tolerance in seconds.
        task, unit, worker, mode: (k,) positions in graph and cluster; mode among all modes.
        row_of: (u,) the assignment of each unit.
        sent: (x,) the unit whose output is sent; source, destination: (x,) positions of workers.
    """

    instance: Instance
    schedule: Schedule
    eps: float
    task: Ints
    unit: Ints
    worker: Ints
    mode: Ints
    row_of: Ints
    sent: Ints
    source: Ints
    destination: Ints

    def label(self, row: int) -> str:
        """The assignment's task, as a message calls it."""
        return task_label(self.instance, int(self.task[row]), int(self.schedule.instance[row]))

    def name(self, row: int) -> str:
        return str(self.instance.graph.names[self.task[row]])

    def place(self, worker: int) -> str:
        """The worker's name, quoted."""
        return repr(self.instance.cluster.workers[worker].name)

    def task_of_unit(self, unit: Ints) -> Ints:
        return self.task[self.row_of[unit]]


def task_label(instance: Instance, task: int, number: int) -> str:
    name, count = instance.graph.names[task], int(instance.graph.count[task])
    return f"task {name!r}" if count == 1 else f"instance {number} of task {name!r}"


def offsets(instance: Instance) -> Ints:
    """(n + 1,) the first unit of each task, and the number of units."""
    return np.concatenate([[0], np.cumsum(instance.graph.count)]).astype(np.int64)


def resolve(instance: Instance, schedule: Schedule) -> Rows:
    """The schedule in positions of the instance.

    Raises:
        InvalidSchedule: rules names, once, mode, eligible; and transfer for one of no unit.
    """
    graph, cluster = instance.graph, instance.cluster
    tasks = _positions(schedule.task_names, graph.names, graph.index)
    workers = _positions(schedule.worker_names, cluster.names, cluster.index)
    task = _look_up(schedule.task, tasks, schedule.task_names, "assignment", "task")
    worker = _look_up(schedule.worker, workers, schedule.worker_names, "assignment", "worker")
    sent = _look_up(schedule.transfer_task, tasks, schedule.task_names, "transfer", "task")
    source, destination = (
        _look_up(column, workers, schedule.worker_names, "transfer", "worker")
        for column in (schedule.transfer_source, schedule.transfer_destination)
    )
    _check_instances(instance, task, schedule.instance, "is assigned", "once")
    _check_instances(instance, sent, schedule.transfer_instance, "is sent", "transfer")
    first = offsets(instance)
    unit = first[task] + schedule.instance
    rows = Rows(
        instance=instance,
        schedule=schedule,
        eps=1e-9 * max(1.0, schedule.makespan),
        task=task,
        unit=unit,
        worker=worker,
        mode=_modes(instance, task, schedule),
        row_of=_rows_of_units(instance, unit, first),
        sent=first[sent] + schedule.transfer_instance,
        source=source,
        destination=destination,
    )
    _check_eligible(rows)
    return rows


def _positions(names: tuple[str, ...], known: tuple[str, ...], index: Mapping[str, int]) -> Ints:
    if names == known:
        return np.arange(len(names), dtype=np.int64)
    return np.fromiter((index.get(name, -1) for name in names), np.int64, len(names))


def _look_up(column: Ints, positions: Ints, names: tuple[str, ...], row: str, what: str) -> Ints:
    outside = (column < 0) | (column >= len(positions))
    if outside.any():
        at = int(np.argmax(outside))
        raise InvalidSchedule(
            f"{row} {at} points to {what} number {column[at]}; the schedule names "
            f"{len(positions)} {what}s",
            rule="names",
        )
    found = positions[column] if len(column) else np.zeros(0, dtype=np.int64)
    if (found < 0).any():
        at = int(np.argmax(found < 0))
        name = names[column[at]]
        raise InvalidSchedule(
            f"{row} {at} names {what} {name!r}; the instance has no such {what}",
            rule="names",
            task=name if what == "task" else None,
        )
    return found


def _check_instances(instance: Instance, task: Ints, number: Ints, done: str, rule: str) -> None:
    count = instance.graph.count[task]
    wrong = (number < 0) | (number >= count)
    if wrong.any():
        at = int(np.argmax(wrong))
        name = instance.graph.names[task[at]]
        raise InvalidSchedule(
            f"instance {number[at]} of task {name!r} {done}; the task has {count[at]}, "
            "counted from 0",
            rule=rule,
            task=name,
        )


def _rows_of_units(instance: Instance, unit: Ints, first: Ints) -> Ints:
    times = np.bincount(unit, minlength=int(first[-1]))
    if (times != 1).any():
        at = int(np.argmax(times != 1))
        task = int(np.searchsorted(first, at, side="right")) - 1
        found = "is not assigned" if times[at] == 0 else f"is assigned {times[at]} times"
        raise InvalidSchedule(
            f"{task_label(instance, task, at - int(first[task]))} {found}; "
            "each instance of each task runs exactly once",
            rule="once",
            task=instance.graph.names[task],
        )
    row_of = np.empty(len(times), dtype=np.int64)
    row_of[unit] = np.arange(len(unit))
    return row_of


def _modes(instance: Instance, task: Ints, schedule: Schedule) -> Ints:
    """(k,) the mode of each assignment, among all modes."""
    graph = instance.graph
    number = np.diff(graph.mode_ptr)[task]
    wrong: NDArray[np.bool_] = (schedule.mode < 0) | (schedule.mode >= number)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InvalidSchedule(
            f"{task_label(instance, int(task[at]), int(schedule.instance[at]))} runs in mode "
            f"{schedule.mode[at]}; its modes are 0 to {number[at] - 1}",
            rule="mode",
            task=graph.names[task[at]],
        )
    return np.asarray(graph.mode_ptr[task] + schedule.mode, dtype=np.int64)


def _check_eligible(rows: Rows) -> None:
    wrong = ~np.isfinite(rows.instance.seconds[rows.mode, rows.worker])
    if not wrong.any():
        return
    at = int(np.argmax(wrong))
    graph, cluster = rows.instance.graph, rows.instance.cluster
    where = np.flatnonzero(rows.instance.eligible[rows.mode[at]])
    possible = [cluster.workers[w].name for w in where[:8].tolist()]
    more = f" and {len(where) - 8} more" if len(where) > 8 else ""
    one = np.diff(graph.mode_ptr)[rows.task[at]] == 1
    mode = "" if one else f" in mode {rows.schedule.mode[at]}"
    raise InvalidSchedule(
        f"{rows.label(at)} runs on {rows.place(int(rows.worker[at]))}{mode}, which does not offer "
        f"what it needs; it may run on {possible}{more}",
        rule="eligible",
        task=rows.name(at),
    )
