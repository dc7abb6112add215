"""The longest callback of the event loop while a first graph arrives and runs."""

from __future__ import annotations

import statistics
from typing import Any

from tests.benchmarks.scheduler import inside
from tests.benchmarks.scheduler.processes import fresh, run

SIZES = (2_000, 20_000)
MODES = ("plain", "observe", "director", "auto")


def longest_blocks(rounds: int) -> dict[str, Any]:
    """Milliseconds of processor time, medians over the rounds; and how many more than plain Dask's.

    Each on a new scheduler, from the submission to the last output.
    """
    return {f"{tasks} tasks": _size(tasks, rounds) for tasks in SIZES}


def _size(tasks: int, rounds: int) -> dict[str, Any]:
    found = {mode: [_one(mode, tasks) for _ in range(rounds)] for mode in MODES}
    medians = {mode: 1e3 * statistics.median(values) for mode, values in found.items()}
    rows: dict[str, Any] = {}
    for mode, longest in medians.items():
        rows[mode] = {
            "longest": round(longest, 1),
            "worst": round(1e3 * max(found[mode]), 1),
            "over_plain": round(longest - medians["plain"], 1),
        }
    return rows


def _one(mode: str, tasks: int) -> float:
    with fresh(mode) as client:
        client.run_on_scheduler(inside.start_watching)
        run(client, tasks, "first")
        return float(client.run_on_scheduler(inside.stop_watching))
