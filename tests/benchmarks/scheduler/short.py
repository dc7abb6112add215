"""Short graphs one after the other, beside a history: what is done beside the scheduler, and what
that takes from them where there are few cores."""

from __future__ import annotations

import contextlib
import statistics
import time
from typing import Any

from tests.benchmarks.scheduler import inside
from tests.benchmarks.scheduler.processes import fresh

LEAVES = 32
"""Of the tree that each graph is."""

SECONDS = 0.02
"""Of each task."""

HISTORY = 60
"""Graphs before anything is measured, of tasks that take a tenth as long."""

SETTLING = 10.0
"""Seconds after these, in which all that they teach is learned."""

MODES = ("plain", "auto")


def short_graphs(graphs: int = 15) -> dict[str, Any]:
    """Medians of a graph's seconds and their ratio, and what processes beside the scheduler take
    of a core meanwhile. The clusters are there at once; each has its graphs in a row."""
    seconds: dict[str, list[float]] = {mode: [] for mode in MODES}
    beside: dict[str, float] = {}
    with contextlib.ExitStack() as opened:
        clients = {mode: opened.enter_context(fresh(mode)) for mode in MODES}
        for number in range(HISTORY):
            for mode in MODES:
                _tree(clients[mode], f"before{number}", 0.1 * SECONDS)
        time.sleep(SETTLING)
        for mode in MODES:
            before, began = _processor_time(clients[mode]), time.perf_counter()
            for number in range(graphs):
                each = time.perf_counter()
                _tree(clients[mode], f"graph{number}", SECONDS)
                seconds[mode].append(time.perf_counter() - each)
            passed = time.perf_counter() - began
            beside[mode] = (_processor_time(clients[mode]) - before) / passed
    plain, ours = (statistics.median(seconds[mode]) for mode in MODES)
    return {
        "tasks": 2 * LEAVES - 1,
        "plain_s": round(plain, 3),
        "ours_s": round(ours, 3),
        "ratio": round(ours / plain, 3),
        "cores_beside": round(beside["auto"], 3),
    }


def _processor_time(client: Any) -> float:
    return float(client.run_on_scheduler(inside.processor_seconds_beside))


def _tree(client: Any, tag: str, seconds: float) -> None:
    """Compute a tree of sums."""
    graph: dict[Any, Any] = {("leaf", tag, i): (_leaf, i, seconds) for i in range(LEAVES)}
    level, width = "leaf", LEAVES
    while width > 1:
        width //= 2
        above = f"sum-of-{LEAVES // width}"
        for i in range(width):
            inputs = ((level, tag, 2 * i), (level, tag, 2 * i + 1))
            graph[above, tag, i] = (_sum, *inputs, seconds)
        level = above
    client.get(graph, (level, tag, 0))


def _leaf(i: int, seconds: float) -> int:
    time.sleep(seconds)
    return i


def _sum(a: int, b: int, seconds: float) -> int:
    time.sleep(seconds)
    return a + b
