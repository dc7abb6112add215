"""The decoder: tasks placed in a second, by HEFT's order, on random graphs.

Of the largest, gaps are not looked for.
"""

from __future__ import annotations

import resource
import statistics
import time
from typing import Any

import numpy as np

from orchestrator_core import Instance
from orchestrator_core.plan.engine.decoder import decode
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.lists.orders import heft
from orchestrator_core.plan.warm import warm_up

SIZES = ((1_000, 8), (10_000, 8), (100_000, 64), (1_000_000, 64))


def measure() -> dict[str, Any]:
    warm_up()
    found: dict[str, Any] = {f"{n} x {w}": _one(n, w) for n, w in SIZES}
    found["peak_bytes"] = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return found


def _one(n: int, w: int) -> dict[str, float]:
    problem = expand(random_graph(n, w))
    choice = next(heft(problem))
    decode(problem, choice)
    seconds = []
    for _ in range(5):
        begun = time.process_time()
        decode(problem, choice)
        seconds.append(time.process_time() - begun)
    median = statistics.median(seconds)
    return {"cpu_seconds": round(median, 4), "tasks_per_second": round(n / median)}


def random_graph(n: int, w: int) -> Instance:
    """n tasks, each with up to three producers among the 50 before it; unrelated durations."""
    rng = np.random.default_rng(7)
    consumer = np.repeat(np.arange(1, n), 3)
    producer = consumer - rng.integers(1, 51, len(consumer))
    pairs = np.unique(np.stack([producer, consumer], 1)[producer >= 0], axis=0)
    edges = np.column_stack([pairs, np.ones(len(pairs))])
    return Instance.from_arrays(rng.uniform(0.5, 1.5, (n, w)), edges, seconds_per_byte=1.0)
