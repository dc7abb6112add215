"""Planned: a schedule in the single tasks and workers of an instance (stage 3, repair)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.errors import InvalidInput
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.repair.basis import Basis
from orchestrator_core.plan.repair.rest import Sends
from orchestrator_core.plan.schedule import Schedule


@dataclass(frozen=True, eq=False)
class Planned:
    """n single tasks, x transfers.

    Attributes:
        worker_names: the cluster's, then those of workers that only the schedule knows.
        known: (n,) is the task in the schedule?
        start, end, worker, mode: (n,) modes among all modes; undefined for tasks that are new.
        pieces: (start, end) of each piece of the tasks that are paused.
        sends: the transfers.
    """

    worker_names: tuple[str, ...]
    known: NDArray[np.bool_]
    start: Floats
    end: Floats
    worker: Ints
    mode: Ints
    pieces: Mapping[int, tuple[tuple[float, float], ...]]
    sends: Sends


def read_schedule(basis: Basis, schedule: Schedule) -> Planned:
    """The schedule in positions of the instance, some of whose tasks and workers may be new to it.

    Raises:
        InvalidInput: if it is a schedule of other tasks, or names one twice.
    """
    problem, n = basis.problem, basis.problem.n_tasks
    names = worker_names(basis, schedule)
    place = np.array([names.index(name) for name in schedule.worker_names], dtype=np.int64)
    unit = _units(basis, schedule, schedule.task, schedule.instance)
    times = np.bincount(unit, minlength=n)
    if (times > 1).any():
        at = int(np.argmax(times > 1))
        raise InvalidInput(f"the schedule runs {basis.label(at)} {times[at]} times")
    start, end, worker = np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int64)
    mode = problem.mode_begin.copy()
    start[unit], end[unit], worker[unit] = schedule.start, schedule.end, place[schedule.worker]
    mode[unit] += schedule.mode
    wrong = (schedule.mode < 0) | (mode[unit] >= problem.mode_end[unit])
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InvalidInput(
            f"{basis.label(int(unit[at]))} is planned in mode {schedule.mode[at]}; it has "
            f"{problem.mode_end[unit[at]] - problem.mode_begin[unit[at]]}, counted from 0"
        )
    if not (np.isfinite(start) & np.isfinite(end)).all():
        raise InvalidInput("the schedule has times that are not finite")
    pieces = {int(unit[row]): pieces for row, pieces in schedule.segments.items()}
    sends = Sends(
        _units(basis, schedule, schedule.transfer_task, schedule.transfer_instance),
        place[schedule.transfer_source],
        place[schedule.transfer_destination],
        schedule.transfer_start.copy(),
        schedule.transfer_encoded.copy(),
        schedule.transfer_end.copy(),
    )
    return Planned(names, times > 0, start, end, worker, mode, pieces, sends)


def worker_names(basis: Basis, schedule: Schedule) -> tuple[str, ...]:
    """The cluster's workers, then those that only the schedule knows."""
    names = basis.instance.cluster.names
    if schedule.worker_names == names:
        return names
    return (*names, *(name for name in schedule.worker_names if name not in names))


def _units(basis: Basis, schedule: Schedule, task: Ints, number: Ints) -> Ints:
    graph = basis.instance.graph
    if len(task) == 0:
        return np.zeros(0, dtype=np.int64)
    if schedule.task_names == graph.names[: len(schedule.task_names)]:
        position = task  # New tasks stand behind the old ones, mostly.
    else:
        index = graph.index
        every = np.array([index.get(name, -1) for name in schedule.task_names], dtype=np.int64)
        position = every[task]
        if (position < 0).any():
            missing = schedule.task_names[task[int(np.argmax(position < 0))]]
            raise InvalidInput(
                f"the schedule names task {missing!r}, which {graph!r} does not have: it is a "
                "schedule of another instance. Hand in the old tasks together with the new ones"
            )
    if ((number < 0) | (number >= graph.count[position])).any():
        at = int(np.argmax((number < 0) | (number >= graph.count[position])))
        raise InvalidInput(
            f"the schedule names instance {number[at]} of task {graph.names[position[at]]!r}; it "
            f"has {graph.count[position[at]]}, counted from 0"
        )
    return np.asarray(basis.first[position] + number, dtype=np.int64)
