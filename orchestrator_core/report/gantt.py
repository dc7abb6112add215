"""A run as columns for the browser: bars for each worker, planned and actual, and transfers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any

from orchestrator_core.execute.record import RunRecord
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.report.critical_path import CLOCK_JITTER, Bar

PRECISION = 4
"""Decimal places of a time in the page: a tenth of a millisecond."""


@dataclass(frozen=True, slots=True)
class Bars:
    """Planned and actual bars of a run; either may be empty."""

    planned: list[Bar]
    actual: list[Bar]

    @staticmethod
    def of(run: RunRecord) -> Bars:
        planned = _planned(run.plan.schedule, run.graph) if run.plan else []
        stored = run.stored
        planned = [bar for bar in planned if bar.task not in stored]
        threads = {bar.task: bar.threads for bar in planned}
        actual = [
            Bar(
                t.task, t.worker, t.start, t.end, threads.get(t.task) or _threads(run.graph, t.task)
            )
            for t in run.tasks
        ]
        return Bars(planned, actual)


def threads_of(run: RunRecord) -> dict[str, int]:
    """How many threads each worker of the run has, by name."""
    return {worker.name: worker.threads for worker in run.cluster.workers}


def _planned(schedule: Schedule, graph: TaskGraph) -> list[Bar]:
    tasks, workers = schedule.task_names, schedule.worker_names
    columns = (schedule.task, schedule.worker, schedule.start, schedule.end, schedule.mode)
    rows = enumerate(zip(*(column.tolist() for column in columns), strict=True))
    return [
        Bar(
            tasks[task],
            workers[worker],
            start,
            end,
            _threads(graph, tasks[task], mode),
            schedule.segments.get(i, ()),
        )
        for i, (task, worker, start, end, mode) in rows
    ]


def _threads(graph: TaskGraph, task: str, mode: int = 0) -> int:
    """That the task occupies in a mode; one if the graph does not know it."""
    place = graph.index.get(task)
    return 1 if place is None else int(graph.mode_threads[graph.mode_ptr[place] + mode])


def gantt_data(run: RunRecord, bars: Bars, critical: set[str]) -> dict[str, Any]:
    """What the page's script draws; names once, bars as rows of numbers.

    A bar is ``[task, kind, worker, row, start, end, critical]``, a transfer
    ``[task, worker, start, end]`` on the worker that receives.
    """
    workers = list(dict.fromkeys([*run.cluster.names, *(bar.worker for bar in bars.actual)]))
    tasks = list(dict.fromkeys(bar.task for bar in (*bars.planned, *bars.actual)))
    task_index = {name: i for i, name in enumerate(tasks)}
    worker_index = {name: i for i, name in enumerate(workers)}
    kinds, kind_of = _kinds(run, tasks)

    def rows(of: list[Bar]) -> list[list[float]]:
        return [
            [
                task_index[bar.task],
                kind_of[bar.task],
                worker_index[bar.worker],
                row,
                round(bar.start, PRECISION),
                round(bar.end, PRECISION),
                int(bar.task in critical),
            ]
            for bar, row in _pack(of)
        ]

    kind_by_name = {worker.name: worker.kind for worker in run.cluster.workers}
    return {
        "tasks": tasks,
        "kinds": kinds,
        "workers": [[name, kind_by_name.get(name, "")] for name in workers],
        "planned": rows([piece for bar in bars.planned for piece in bar.pieces]),
        "actual": rows(bars.actual),
        "plannedTransfers": _planned_transfers(run, task_index, worker_index),
        "actualTransfers": _actual_transfers(run, task_index, worker_index),
        "bound": (run.plan.lower_bound or None) if run.plan else None,
        "predicted": run.plan.forecast if run.plan else None,
    }


@lru_cache(maxsize=4096)
def short_kind(kind: str) -> str:
    """A kind as people say it: the last part of a dotted name, without a trailing hash."""
    name = re.split(r"[.:/]", kind)[-1] or kind
    head, _, tail = name.rpartition("-")
    is_hash = len(tail) >= 8 and all(c in "0123456789abcdef" for c in tail)
    return head if head and is_hash else name


def short_kinds(kinds: Sequence[str]) -> list[str]:
    """Each as people say it, or whole where several would read the same."""
    short = [short_kind(kind) for kind in kinds]
    often = Counter(short)
    return [name if often[name] == 1 else kind for name, kind in zip(short, kinds, strict=True)]


def _kinds(run: RunRecord, tasks: list[str]) -> tuple[list[str], dict[str, int]]:
    graph = run.graph
    kind_by_task = {name: graph.kind(i) for i, name in enumerate(graph.names)}
    kind_by_task |= {record.task: record.kind for record in run.tasks}
    kinds = list(dict.fromkeys(kind_by_task.get(name, "") for name in tasks))
    place = {kind: i for i, kind in enumerate(kinds)}
    return short_kinds(kinds), {name: place[kind_by_task.get(name, "")] for name in tasks}


def _pack(bars: list[Bar]) -> list[tuple[Bar, int]]:
    """Bars of a worker that overlap get different rows, as few as possible."""
    free_at: dict[str, list[float]] = {}
    packed = []
    for bar in sorted(bars, key=attrgetter("start", "end", "task")):
        rows = free_at.setdefault(bar.worker, [])
        latest = bar.start + (CLOCK_JITTER + 0.01 * (bar.end - bar.start))
        row = 0
        for end in rows:
            if end <= latest:
                break
            row += 1
        else:
            rows.append(0.0)
        rows[row] = bar.end
        packed.append((bar, row))
    return packed


def _planned_transfers(
    run: RunRecord, task_index: dict[str, int], worker_index: dict[str, int]
) -> list[list[float]]:
    if run.plan is None:
        return []
    plan = run.plan.schedule
    task = [task_index.get(name, -1) for name in plan.task_names]
    worker = [worker_index.get(name) for name in plan.worker_names]
    columns = (
        plan.transfer_task,
        plan.transfer_destination,
        plan.transfer_start,
        plan.transfer_end,
    )
    return [
        [task[t], there, round(start, PRECISION), round(end, PRECISION)]
        for t, w, start, end in zip(*(column.tolist() for column in columns), strict=True)
        if end > start and (there := worker[w]) is not None
    ]


def _actual_transfers(
    run: RunRecord, task_index: dict[str, int], worker_index: dict[str, int]
) -> list[list[float]]:
    return [
        [
            task_index[record.task],
            worker_index[record.worker],
            round(record.start - record.transfer_seconds, PRECISION),
            round(record.start, PRECISION),
        ]
        for record in run.tasks
        if record.transfer_seconds > 0
    ]
