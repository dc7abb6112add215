"""What mending makes of plans that save memory: the bytes that they were chosen for.

Peaks of emulated runs over the peak of a simulated run of Dask alone; once with a plan that nobody
mends, once as the director mends it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from orchestrator_core import Budget, plan
from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.live import Correction, Course, Sight
from orchestrator_core.execute.simulate import simulate_default
from orchestrator_core.execute.simulate.footprint import footprint
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.orchestrate.forecast import Forecast
from orchestrator_core.orchestrate.thrifty import Thrift, thrifty
from tests.benchmarks.live.made import reduction
from tests.benchmarks.mending.cases import SPEEDS, instance_from, instance_of
from tests.benchmarks.mending.emulated import Emulated

PLANNED = Budget(seconds=60.0, iterations=300)
SEARCH = Budget(seconds=0.0075)
Row = dict[str, float]


def measure_memory() -> dict[str, Any]:
    rows: dict[str, list[Row]] = defaultdict(list)
    for believed in _graphs():
        found = plan(believed, PLANNED, ("heft", "heft-near", "local-search"))
        thrift = thrifty(Forecast(believed, believed, found, found.makespan, "miss"))
        if thrift is not None:
            plain = footprint(believed, simulate_default(believed)).peak
            for mistake, factors in _mistakes(believed):
                rows[mistake].append(_row(believed, thrift, believed.seconds * factors, plain))
    return {mistake: _summed(found) for mistake, found in rows.items()}


def _row(believed: Instance, thrift: Thrift, seconds: Floats, plain: float) -> Row:
    kept = _run(Unmended, believed, thrift, seconds)
    mended = _run(Course, believed, thrift, seconds)
    return {
        "peak_kept": kept.peak / plain,
        "peak_mended": mended.peak / plain,
        "time": mended.makespan / kept.makespan,
        "moves": mended.moves,
    }


class Unmended(Course):
    """Nothing is ever changed."""

    def correct(self, sight: Sight, budget: Budget | None = None) -> Correction:
        return replace(super().correct(sight, budget), pays=False)


def _run(kind: type[Course], believed: Instance, thrift: Thrift, seconds: Floats) -> Emulated:
    course = kind(believed, thrift.result.schedule, thrifty=True)
    run = Emulated(course, seconds, SEARCH, thrift.measures.holds)
    run.run()
    return run


def _summed(rows: list[Row]) -> dict[str, Any]:
    def column(name: str) -> Floats:
        return np.array([row[name] for row in rows])

    return {
        "runs": len(rows),
        "peak_kept": round(float(np.exp(np.log(column("peak_kept")).mean())), 3),
        "peak_mended": round(float(np.exp(np.log(column("peak_mended")).mean())), 3),
        "worst_peak_mended": round(float(column("peak_mended").max()), 2),
        "time": round(float(np.exp(np.log(column("time")).mean())), 3),
        "tasks_moved": round(float(column("moves").mean()), 1),
    }


def _mistakes(instance: Instance) -> Iterator[tuple[str, Floats]]:
    n, w = instance.seconds.shape
    yield "none", np.ones((n, w))
    for seed in range(3):
        rng = np.random.default_rng(seed)
        yield "jitter", np.exp(0.15 * rng.standard_normal((n, w)))
        yield "noise", np.exp(0.4 * rng.standard_normal((n, 1)))
        stalls = np.where(rng.random((n, 1)) < 0.05, 5.0, 1.0)
        yield "stalls", stalls * np.exp(0.1 * rng.standard_normal((n, w)))
    for order in ((1, 0, 2, 3), (0, 3, 2, 1), (3, 2, 1, 0)):
        yield "wrong speeds", np.tile(SPEEDS / SPEEDS[list(order)], (n, 1))


def _graphs() -> Iterator[Instance]:
    yield instance_of(reduction())
    yield _tree(96, 3, 4e6)
    yield _tree(128, 2, 8e6)
    yield _stages(6, 40, 6e6)


def _tree(leaves: int, arity: int, chunk: float) -> Instance:
    """Loads, all of which read six small tasks, merged `arity` by `arity`."""
    seconds, kinds, edges = [0.02] * 6, ["index"] * 6, []
    level: list[int] = []
    for _ in range(leaves):
        edges += [(i, len(seconds), 100.0) for i in range(6)]
        level.append(len(seconds))
        seconds.append(0.3)
        kinds.append("load")
    while len(level) > 1:
        groups = [level[i : i + arity] for i in range(0, len(level), arity)]
        level = []
        for group in groups:
            edges += [(each, len(seconds), chunk) for each in group]
            level.append(len(seconds))
            seconds.append(0.06)
            kinds.append(f"merge{len(groups)}")
    return instance_from(seconds, edges, kinds)


def _stages(groups: int, wide: int, chunk: float) -> Instance:
    """Groups of loads that are each cleaned and then summed up, group after group."""
    seconds, kinds, edges = [0.02] * 6, ["index"] * 6, []
    for _ in range(groups):
        first = len(seconds)
        for i in range(wide):
            edges += [(j, first + 2 * i, 100.0) for j in range(6)]
            edges.append((first + 2 * i, first + 2 * i + 1, chunk))
            seconds += [0.2, 0.1]
            kinds += ["load", "clean"]
        edges += [(first + 2 * i + 1, len(seconds), chunk / 10) for i in range(wide)]
        seconds.append(0.1)
        kinds.append("sum")
    return instance_from(seconds, edges, kinds)
