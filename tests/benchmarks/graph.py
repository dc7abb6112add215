"""How long a task graph of a million tasks takes to build, and how much memory.

    python -m tests.benchmarks.graph [tasks]

Prints one JSON object: seconds of each way to build it, of one JSON round trip at a tenth of the
size, and the process's peak memory in bytes.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable

import numpy as np

from orchestrator_core.graph.task_graph import TaskGraph


def one_by_one(tasks: int) -> TaskGraph:
    """A binary tree of tasks, one builder call for each task."""
    g = TaskGraph.build()
    g.task("t0", seconds=1.0)
    for i in range(1, tasks):
        g.task(f"t{i}", kind="k", seconds=1.0, after=[f"t{i // 2}"])
    return g.done()


def by_columns(tasks: int) -> TaskGraph:
    """The same tree as whole columns."""
    consumer = np.arange(1, tasks)
    return TaskGraph.from_columns(
        [f"t{i}" for i in range(tasks)],
        kinds=["t0"] + ["k"] * (tasks - 1),
        seconds=1.0,
        producer=consumer // 2,
        consumer=consumer,
    )


def timed(function: Callable[[], TaskGraph]) -> tuple[float, TaskGraph]:
    start = time.perf_counter()
    graph = function()
    return round(time.perf_counter() - start, 3), graph


def measure(tasks: int = 1_000_000) -> dict[str, float]:
    columns, graph = timed(lambda: by_columns(tasks))
    builder, same = timed(lambda: one_by_one(tasks))
    if graph != same:
        raise AssertionError("the two ways to build the graph differ")
    tenth = by_columns(tasks // 10)
    json_seconds, _ = timed(lambda: TaskGraph.from_json(tenth.to_json()))
    # Linux counts kilobytes.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "tasks": tasks,
        "by_columns_seconds": columns,
        "one_by_one_seconds": builder,
        "json_round_trip_of_a_tenth_seconds": json_seconds,
        "peak_memory_bytes": peak,
    }


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)))
