"""Which flows are measured: those made here, and recorded workflows."""

from __future__ import annotations

import argparse
import random

from tests.benchmarks.live.cluster import MIXED
from tests.benchmarks.live.made import chain
from tests.benchmarks.live.traces import traces
from tests.benchmarks.live.workload import Key, Step, Workload

LONGER = 3.0
"""Times the durations of the benchmark for Dask alone: most tasks take 0.2 to 3 s."""

LIGHTER = 0.02
"""Times the bytes: Prefect hashes every argument of every task, so that large ones are CPU time."""


def chosen(options: argparse.Namespace) -> list[Workload]:
    """Those whose names begin as asked, durations in seconds at speed 1; SystemExit if none do."""
    recorded = traces(options.data, options.trace_tasks, MIXED)
    found = [
        chain().scaled(LONGER),
        map_reduce(),
        sweep(),
        *(each.scaled(LONGER, LIGHTER) for each in recorded),
    ]
    starts = tuple(filter(None, options.flows.split(",")))
    asked = [each for each in found if not starts or each.name.startswith(starts)]
    if not asked:
        names = ", ".join(each.name for each in found)
        raise SystemExit(f"./dev bench prefect_flows: no flow {options.flows!r}; there are {names}")
    return asked


def map_reduce(maps: int = 32, reducers: int = 4) -> Workload:
    """Maps of uneven length, each reducer reads all of them, one task sums up."""
    dice = random.Random(11)
    steps: dict[Key, Step] = {("map", i): Step(dice.uniform(0.3, 2.0), 20_000) for i in range(maps)}
    read = tuple(steps)
    steps |= {("reduce", i): Step(1.0, 2_000, read) for i in range(reducers)}
    return Workload(
        "map-reduce", steps | {("sum", 0): Step(0.5, 8, tuple(("reduce", i) for i in range(4)))}
    )


def sweep(features: int = 4, models: int = 6) -> Workload:
    """Features of one table, models of several sizes on each, scores, the best refitted."""
    steps: dict[Key, Step] = {("table", 0): Step(0.6, 40_000)}
    for f in range(features):
        steps[("features", f)] = Step(0.5 + 0.25 * f, 20_000, (("table", 0),))
        for m in range(models):
            steps[(f"train{m}", f)] = Step(0.4 + 0.5 * m, 4_000, (("features", f),))
            steps[("score", (f, m))] = Step(0.2, 8, ((f"train{m}", f), ("features", f)))
    scores = tuple(key for key in steps if isinstance(key, tuple) and key[0] == "score")
    steps[("best", 0)] = Step(0.2, 8, scores)
    return Workload("sweep", steps | {("refit", 0): Step(3.0, 4_000, (("best", 0),))})
