"""What no worker makes shorter, found where work differs much from task to task."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from orchestrator_core.costs.observation import Observation
from orchestrator_core.graph.task_graph import Floats, TaskGraph
from orchestrator_core.learn.estimator import fit
from tests.learn.observed import SPEEDS, WORKERS, cluster

SEEDS = range(8)


@dataclass(frozen=True)
class Simulations:
    """16 parameter sets, each with a run of a model that takes 1 s, two that take 0.15 or 2 s, and
    a parser that takes 10 ms; on workers of speeds 4 : 2 : 1 : 1.

    Every task takes `least` seconds and an exponential `more` beside its work. Whoever is free
    first takes the next task, as in Dask.
    """

    seed: int
    least: float
    more: float

    @property
    def kinds(self) -> list[str]:
        return ["even", "uneven", "other", "parser"] * 16

    @property
    def work(self) -> Floats:
        rng = np.random.default_rng(self.seed)
        uneven = rng.choice([0.15, 2.0], (16, 2), p=[0.25, 0.75])
        base = np.column_stack([np.full(16, 1.0), uneven, np.full(16, 0.01)])
        return (base * np.exp(rng.normal(0.0, 0.12, base.shape))).ravel()

    def run(self) -> list[Observation]:
        rng = np.random.default_rng(1000 + self.seed)
        free, observed = np.zeros(len(WORKERS)), []
        for i, (kind, work) in enumerate(zip(self.kinds, self.work.tolist(), strict=True)):
            at = int(np.argmin(free))
            name, worker_kind = WORKERS[at]
            seconds = work / SPEEDS[worker_kind] + self.least + rng.exponential(self.more)
            free[at] += seconds
            observed.append(Observation(f"t{i}", kind, name, worker_kind, seconds, 0.0, "run"))
        return observed

    def truth(self) -> Floats:
        """(tasks, workers) the expected seconds."""
        speeds = np.array([SPEEDS[kind] for _, kind in WORKERS])
        return self.work[:, None] / speeds + self.least + self.more

    def graph(self) -> TaskGraph:
        builder = TaskGraph.build()
        for i, kind in enumerate(self.kinds):
            builder.task(f"t{i}", kind=kind)
        return builder.done()


def learned(least: float, more: float) -> tuple[Floats, Floats]:
    """From one run each: (seeds,) overhead of a long kind; (seeds, workers) what all tasks take on
    a worker by what was learned, over the truth."""
    overhead, bias = [], []
    for seed in SEEDS:
        world = Simulations(seed, least, more)
        costs = fit(world.run())
        found = costs.compute_seconds(world.graph(), cluster())
        overhead.append(max(kind.overhead for kind in costs.kinds))
        bias.append(found.sum(axis=0) / world.truth().sum(axis=0))
    return np.array(overhead), np.array(bias)


def test_tasks_of_an_engine_that_costs_a_tenth_of_a_second() -> None:
    """0.125 s on average. Uneven work alone would pass for more."""
    overhead, bias = learned(0.075, 0.05)
    assert float(np.mean(overhead)) == pytest.approx(0.125, abs=0.02)
    assert np.abs(bias.mean(axis=0) - 1.0).max() < 0.05


def test_uneven_work_is_no_overhead() -> None:
    """2 ms, as under Dask alone."""
    overhead, bias = learned(0.0, 0.002)
    assert overhead.max() < 0.02
    assert np.abs(bias.mean(axis=0) - 1.0).max() < 0.05
