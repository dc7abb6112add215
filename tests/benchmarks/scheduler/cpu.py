"""Processor time of the scheduler for many trivial tasks, and the part that is our own code."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.benchmarks.scheduler import inside
from tests.benchmarks.scheduler.processes import MODES, fresh, register, run

WARM_UP = 2_000
"""Trivial tasks before anything is measured."""

PLAN_WAIT = 30.0
"""Seconds; else most tasks would have run before their plan is there."""


def processor_time(tasks: int, rounds: int) -> dict[str, Any]:
    """Medians over the rounds; ratios to plain Dask."""
    found: dict[str, list[tuple[float, float, float]]] = {mode: [] for mode in MODES}
    for _ in range(rounds):
        for mode in MODES:
            found[mode].append(_one(mode, tasks))
    rows: dict[str, Any] = {}
    for mode, values in found.items():
        process, loop, wall = (statistics.median(column) for column in zip(*values, strict=True))
        plain = rows.get("plain")
        rows[mode] = {
            "process_us_per_task": round(1e6 * process / tasks, 1),
            "loop_us_per_task": round(1e6 * loop / tasks, 1),
            "wall_s": round(wall, 2),
        }
        if plain:
            for each in ("process", "loop"):
                name = f"{each}_us_per_task"
                rows[mode][f"{each}_ratio"] = round(rows[mode][name] / plain[name], 3)
    return rows


def _one(mode: str, tasks: int) -> tuple[float, float, float]:
    """Seconds: the process's, the event loop's thread's, and on the clock."""
    with fresh(mode, PLAN_WAIT) as client:
        run(client, WARM_UP, "warm")
        process, loop = client.run_on_scheduler(inside.processor_seconds)
        begun = time.perf_counter()
        run(client, tasks, "run")
        wall = time.perf_counter() - begun
        process_end, loop_end = client.run_on_scheduler(inside.processor_seconds)
        return process_end - process, loop_end - loop, wall


def own_code(tasks: int) -> dict[str, Any]:
    """Microseconds of our own code for each task, by hook; looking at the clock included."""
    rows = {}
    for mode in MODES[1:]:
        with tempfile.TemporaryDirectory() as folder, fresh("plain") as client:
            client.run_on_scheduler(inside.watch_dask)
            register(client, mode, Path(folder) / "fresh.db", PLAN_WAIT)
            client.run_on_scheduler(inside.watch_ours)
            run(client, WARM_UP, "warm")
            client.run_on_scheduler(inside.watched)
            run(client, tasks, "run")
            seconds = client.run_on_scheduler(inside.watched)
        per_task = {name: round(1e6 * value / tasks, 2) for name, value in seconds.items()}
        rows[mode] = {**per_task, "total": round(sum(per_task.values()), 2)}
    return rows
