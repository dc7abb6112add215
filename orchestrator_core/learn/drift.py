"""Drift: planned against actual. How far a run was from what its plan promised, and where."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import numpy as np

from orchestrator_core.execute.record import RunRecord, TaskRecord
from orchestrator_core.plan.schedule import Schedule


@dataclass(frozen=True, slots=True)
class TaskDrift:
    """One execution beside its plan; `planned` and `actual` in seconds."""

    task: str
    planned_worker: str
    worker: str
    planned: float
    actual: float

    @property
    def ratio(self) -> float:
        """``actual / planned``; above 1: slower than planned."""
        return self.actual / self.planned

    @property
    def error(self) -> float:
        """``|actual - planned| / planned``."""
        return abs(self.ratio - 1.0)


@dataclass(frozen=True, slots=True)
class Drift:
    """A run beside its plan.

    Attributes:
        predicted, actual: makespan in seconds.
        compared: task executions that could be compared. moved: those on another worker.
        median_error: median of ``|actual - planned| / planned`` of their durations; 0 without any.
        worst: the executions that cost most seconds more or less than planned, the worst first.
    """

    run_id: str
    predicted: float
    actual: float
    compared: int
    moved: int
    median_error: float
    worst: tuple[TaskDrift, ...]

    @property
    def ratio(self) -> float:
        """Makespan, ``actual / predicted``; above 1: later than promised. NaN if 0 was promised."""
        return self.actual / self.predicted if self.predicted > 0 else float("nan")


def drift(run: RunRecord, worst: int = 5) -> Drift | None:
    """How far the run was from its plan; None if it had none.

    Only executions that succeeded are compared. Identical instances of a task are paired in the
    order of their starts.
    """
    if run.plan is None:
        return None
    pairs = _compare(run.plan.schedule, run.tasks)
    pairs.sort(key=lambda pair: (-abs(pair.actual - pair.planned), pair.task))
    return Drift(
        run_id=run.run_id,
        predicted=run.plan.forecast,
        actual=run.seconds,
        compared=len(pairs),
        moved=sum(pair.worker != pair.planned_worker for pair in pairs),
        median_error=median(pair.error for pair in pairs) if pairs else 0.0,
        worst=tuple(pairs[:worst]),
    )


def _compare(schedule: Schedule, records: tuple[TaskRecord, ...]) -> list[TaskDrift]:
    done: dict[str, list[TaskRecord]] = defaultdict(list)
    for record in sorted(records, key=lambda record: record.start):
        if record.status == "ok":
            done[record.task].append(record)
    turn: dict[str, int] = defaultdict(int)
    pairs = []
    for task, worker, seconds in _planned(schedule):
        at = turn[task]
        turn[task] += 1
        if at < len(done[task]) and seconds > 0:
            actual = done[task][at]
            pairs.append(TaskDrift(task, worker, actual.worker, seconds, actual.seconds))
    return pairs


def _planned(schedule: Schedule) -> Iterator[tuple[str, str, float]]:
    """(task, worker, seconds) of each assignment, in the order of their starts."""
    task, worker = schedule.task.tolist(), schedule.worker.tolist()
    seconds = (schedule.end - schedule.start).tolist()
    for row in np.argsort(schedule.start, kind="stable").tolist():
        pieces = schedule.segments.get(row, ())
        lasting = sum(end - start for start, end in pieces) if pieces else seconds[row]
        yield schedule.task_names[task[row]], schedule.worker_names[worker[row]], lasting
