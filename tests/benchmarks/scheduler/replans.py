"""Replanning 2,000 open tasks on 8 workers, as a deviation makes it necessary."""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from typing import Any

from orchestrator_core import Budget, Instance, Schedule, plan
from orchestrator_core.plan.repair import Event, Repairer, Replan, Running, WorkerLost
from tests.benchmarks.plan.instances import layered

TASKS, WORKERS, TIMES = 2_000, 8, 20


def replan_times() -> dict[str, Any]:
    """Milliseconds, off the event loop; the first of each kind is not counted."""
    instance = layered(TASKS, WORKERS, 1.0, 1)
    schedule = plan(instance, Budget(seconds=0.0), ["heft"]).schedule
    late = int(schedule.end.argmin())
    name, end = schedule.task_names[schedule.task[late]], float(schedule.end[late])
    events: dict[str, list[Event]] = {
        "late": [Running(name, 2 * end)],
        "worker lost": [WorkerLost(instance.cluster.names[-1])],
    }
    found = {kind: _times(instance, schedule, happened) for kind, happened in events.items()}
    return {**found, "slower worker": _slower(instance, schedule)}


def _times(instance: Instance, schedule: Schedule, events: list[Event]) -> dict[str, float]:
    seconds = []
    for _ in range(TIMES + 1):
        begun = time.perf_counter()
        repairer = Repairer(instance, schedule, forgets=True)
        made = time.perf_counter()
        result = repairer.replan(float(schedule.end.min()) / 2, events)
        seconds.append((time.perf_counter() - made, made - begun))
    return {**_milliseconds(seconds[1:]), **_sizes(result)}


def _slower(instance: Instance, schedule: Schedule) -> dict[str, float]:
    """One worker is four times slower than believed: all is priced anew, too."""
    seconds = instance.seconds.copy()
    seconds[:, 0] *= 4
    measured = []
    for _ in range(TIMES + 1):
        repairer = Repairer(instance, schedule, forgets=True)
        begun = time.perf_counter()
        repairer.reprice(replace(instance, seconds=seconds))
        made = time.perf_counter()
        result = repairer.replan(0.0)
        measured.append((time.perf_counter() - made, made - begun))
    return {**_milliseconds(measured[1:]), **_sizes(result)}


def _sizes(result: Replan) -> dict[str, float]:
    """How many tasks were still open, and how many of them were moved."""
    return {"open": len(result.moved) + len(result.kept), "moved": len(result.moved)}


def _milliseconds(seconds: list[tuple[float, float]]) -> dict[str, float]:
    replan = [each for each, _ in seconds]
    prepare = [each for _, each in seconds]
    return {
        "replan_median_ms": round(1e3 * statistics.median(replan), 1),
        "replan_worst_ms": round(1e3 * max(replan), 1),
        "prepare_median_ms": round(1e3 * statistics.median(prepare), 1),
    }
