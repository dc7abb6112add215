"""Anytime: what a plan is worth by its budget, and how far it overruns it.

    ./dev bench anytime                 everything, about eight minutes
    ./dev bench anytime --anytime-quick fewer runs, about two

For each size and budget: the makespan over the best known, the wall overrun per run, and whether
more time was ever worse on the same instance. Overruns are wall times: they want an idle machine.
"""

from __future__ import annotations

import argparse
import itertools
import time
from typing import Any

import numpy as np

import orchestrator_core as oc
from orchestrator_core import Budget, Instance
from orchestrator_core.plan.warm import warm_up
from tests.benchmarks.plan.instances import layered

SIZES = (100, 1000, 5000)
BUDGETS = (0.01, 0.1, 0.3, 1.0, 3.0)
MEASURED = 0.1
"""Shortest budget, in seconds, whose overruns are part of the promise."""

RUNS = {0.01: 30, 0.1: 30, 0.3: 30, 1.0: 30, 3.0: 10}
QUICK_RUNS = {0.01: 5, 0.1: 10, 0.3: 5, 1.0: 3, 3.0: 1}
NOISE = 1e-9
"""Relative; a makespan that is larger by more than this at a larger budget is worse."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--anytime-quick", action="store_true", help="fewer runs of `anytime`")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    runs = QUICK_RUNS if options.anytime_quick else RUNS
    warm_up()
    oc.plan(layered(20), Budget(seconds=1.0))
    sizes = {f"n = {n}": _size(n, runs) for n in SIZES}
    every = [ms for size in sizes.values() for ms in size.pop("all_overruns_ms")]
    overruns = {
        "median_ms": round(float(np.median(every)), 1),
        "p99_ms": round(float(np.percentile(every, 99)), 1),
        "worst_ms": round(float(max(every)), 1),
        "runs": len(every),
    }
    return {**sizes, f"overruns of {MEASURED:g} s and more": overruns}


def _size(n: int, runs: dict[float, int]) -> dict[str, Any]:
    """One size: the same seeds at every budget, so that they can be compared instance by instance;
    a new instance object for each run, as for a user who plans it for the first time."""
    found: dict[float, list[tuple[int, float, float]]] = {budget: [] for budget in BUDGETS}
    for budget in BUDGETS:
        for run in range(runs[budget]):
            seed = run % 5
            found[budget].append((seed, *_run(layered(n, 8, 1.0, seed), budget)))
    rows = {f"{budget:g} s": _row(found[budget], found) for budget in BUDGETS}
    late = [ms for budget in BUDGETS if budget >= MEASURED for _, _, ms in found[budget]]
    return {**rows, "worse_with_more_time": _worse(found), "all_overruns_ms": late}


def _run(instance: Instance, budget: float) -> tuple[float, float]:
    """(makespan, overrun in ms)."""
    began = time.perf_counter()
    makespan = oc.plan(instance, Budget(seconds=budget)).makespan
    return makespan, 1000 * (time.perf_counter() - began - budget)


def _row(
    found: list[tuple[int, float, float]], everything: dict[float, list[tuple[int, float, float]]]
) -> dict[str, float]:
    best: dict[int, float] = {}
    for rows in everything.values():
        for seed, makespan, _ in rows:
            best[seed] = min(makespan, best.get(seed, makespan))
    late = np.array([ms for _, _, ms in found])
    ratio = np.array([makespan / best[seed] for seed, makespan, _ in found])
    return {
        "makespan_over_best": round(float(ratio.mean()), 4),
        "overrun_median_ms": round(float(np.median(late)), 1),
        "overrun_p99_ms": round(float(np.percentile(late, 99)), 1),
        "runs": len(found),
    }


def _worse(found: dict[float, list[tuple[int, float, float]]]) -> list[str]:
    """Instances on which the median of a larger budget is worse than that of the one before."""
    said = []
    for less, more in itertools.pairwise(BUDGETS):
        for seed in {seed for seed, *_ in found[less]} & {seed for seed, *_ in found[more]}:
            before, after = (
                float(np.median([m for s, m, _ in found[budget] if s == seed]))
                for budget in (less, more)
            )
            if after > before * (1 + NOISE):
                said.append(f"seed {seed}: {less:g} s {before:.6g}, {more:g} s {after:.6g}")
    return said
