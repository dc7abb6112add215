"""Variants: what a plan is led to believe, and what then happens."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from orchestrator_core.costs.instance import Instance
from tests.benchmarks.live.cluster import EQUAL, MIXED
from tests.benchmarks.live.workload import Workload

Belief = Callable[[Instance], Instance]

NOISE = 0.4
"""Standard deviation of the logarithm of a believed duration around the learned one."""

STRAGGLER = 10.0
"""Times that one task takes longer than all earlier runs taught."""


@dataclass(frozen=True)
class Variant:
    """One way of being wrong.

    Attributes:
        speeds: of the workers. goal: largest ratio of ours to plain Dask; by workload if they
            differ. belief: by the number of the pair, what is made of a priced graph; None where
            the costs are believed as learned. happens: what really runs in that pair.
        traces: are recorded workflows run in it, too?
    """

    name: str
    speeds: tuple[float, ...] = MIXED
    goal: float = 1.1
    goals: tuple[tuple[str, float], ...] = ()
    belief: Callable[[int], Belief] | None = None
    happens: Callable[[Workload, int], Workload] = lambda workload, pair: workload
    traces: bool = False

    def goal_of(self, workload: Workload) -> float:
        return dict(self.goals).get(workload.name, self.goal)


def noisy(pair: int) -> Belief:
    """Each task is believed to take its learned seconds times a random factor."""

    def believe(instance: Instance) -> Instance:
        graph = instance.graph
        by_name = np.argsort(np.array(graph.names))
        factors = np.empty(len(graph))
        factors[by_name] = np.exp(
            NOISE * np.random.default_rng(100 + pair).standard_normal(len(graph))
        )
        return replace(instance, seconds=instance.seconds * factors[graph.mode_task, None])

    return believe


def swapped(pair: int) -> Belief:
    """The fastest worker is taken for the slowest and the other way round: four times wrong."""

    def believe(instance: Instance) -> Instance:
        names = instance.cluster.names
        true = np.array([MIXED[int(name)] for name in names])
        believed = np.array([MIXED[::-1][int(name)] for name in names])
        return replace(instance, seconds=instance.seconds * (true / believed))

    return believe


def one_straggler(workload: Workload, pair: int) -> Workload:
    """One task, of more than median length but none of the longest, takes ten times as long."""
    ranked = sorted(workload.steps, key=lambda key: workload.steps[key].seconds)
    among = ranked[len(ranked) // 2 : len(ranked) * 9 // 10]
    return workload.with_slow(random.Random(200 + pair).choice(among), STRAGGLER)


EXACT_GOALS = (
    ("chain", 0.55),
    ("layered", 0.75),
    ("montage", 0.85),
    ("tail", 0.90),
    ("transfers", 0.75),
    ("reduction", 1.05),
)

VARIANTS = (
    Variant("exact", goal=1.02, goals=EXACT_GOALS, traces=True),
    Variant("noise", goal=1.00, belief=noisy),
    Variant("wrong-speeds", belief=swapped),
    Variant("straggler", happens=one_straggler),
    Variant("homogeneous", speeds=EQUAL, goal=1.02, traces=True),
)
