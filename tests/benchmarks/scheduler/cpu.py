"""Processor time of the scheduler for many trivial tasks, and the part that is our own code."""

from __future__ import annotations

import contextlib
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


Measured = tuple[float, float, float]
"""Seconds: the process's, the event loop's thread's, and on the clock."""


def processor_time(tasks: int, rounds: int) -> dict[str, Any]:
    """Medians over the rounds, and medians of the ratios to plain Dask in the same round.

    The clusters of all modes are there at once and work in turn, so that whatever else the machine
    does meets all of them.
    """
    found: dict[str, list[Measured]] = {mode: [] for mode in MODES}
    with contextlib.ExitStack() as opened:
        clients = {mode: opened.enter_context(fresh(mode, PLAN_WAIT)) for mode in MODES}
        for client in clients.values():
            run(client, WARM_UP, "warm")
        for number in range(rounds):
            for mode in MODES if number % 2 else reversed(MODES):
                found[mode].append(_one(clients[mode], tasks, f"run{number}"))
    return {mode: _row(values, found["plain"], tasks) for mode, values in found.items()}


def _row(values: list[Measured], plain: list[Measured], tasks: int) -> dict[str, float]:
    process, loop, wall = (statistics.median(column) for column in zip(*values, strict=True))
    ratios = [
        [ours / theirs for ours, theirs in zip(*pair, strict=True)]
        for pair in zip(values, plain, strict=True)
    ]
    process_ratio, loop_ratio, _ = (
        statistics.median(column) for column in zip(*ratios, strict=True)
    )
    return {
        "process_us_per_task": round(1e6 * process / tasks, 1),
        "loop_us_per_task": round(1e6 * loop / tasks, 1),
        "wall_s": round(wall, 2),
        "process_ratio": round(process_ratio, 3),
        "loop_ratio": round(loop_ratio, 3),
    }


def _one(client: Any, tasks: int, tag: str) -> Measured:
    process, loop = client.run_on_scheduler(inside.processor_seconds)
    begun = time.perf_counter()
    run(client, tasks, tag)
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
