"""An adversary: it looks for the small instance on which a planner is worst (stage 3).

J. Coleman, B. Krishnamachari: PISA, comparing task graph scheduling algorithms by simulated
annealing over instances, 2024. An instance is changed a little at a time, its graph, durations,
transfers or links; changes that make the planner look worse are kept, others now and then. All
times are whole, so that equal plans are equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats

LONGEST = 12
"""Longest duration, and the most bytes, of the instances."""


@dataclass(frozen=True)
class Small:
    """(n, w) seconds; (n, n) bytes from a to b, a < b, -1 for no edge; (w, w) seconds per byte."""

    seconds: Floats
    nbytes: Floats
    links: Floats

    def instance(self) -> Instance:
        a, b = np.nonzero(self.nbytes >= 0)
        edges = np.column_stack([a, b, self.nbytes[a, b]])
        return Instance.from_arrays(self.seconds, edges, seconds_per_byte=self.links)


@dataclass(frozen=True)
class Worst:
    """The instance that was found, and the planner's makespan over that of the other."""

    small: Small
    ratio: float
    tried: int


def drawn(rng: np.random.Generator, tasks: int, workers: int, *, related: bool = False) -> Small:
    """A random instance to begin with; `related` workers have a speed each (1 over 1, 2 or 4)."""
    seconds = rng.integers(1, LONGEST, (tasks, workers)).astype(float)
    if related:
        seconds = np.outer(seconds[:, 0], rng.choice([1.0, 2.0, 4.0], workers))
    size = rng.integers(0, LONGEST, (tasks, tasks))
    nbytes = np.where(rng.random((tasks, tasks)) < 0.35, size, -1.0)
    nbytes[np.tril_indices(tasks)] = -1.0
    links = rng.integers(0, 3, (workers, workers)).astype(float)
    links = np.triu(links, 1) + np.triu(links, 1).T
    return Small(seconds, nbytes, links)


def changed(rng: np.random.Generator, small: Small, *, related: bool = False) -> Small:
    """One duration, one edge or one link is another one."""
    n, w = small.seconds.shape
    what = int(rng.integers(0, 4))
    if what == 0:
        seconds, t = small.seconds.copy(), int(rng.integers(n))
        if related:
            seconds[t] *= int(rng.integers(1, LONGEST)) / seconds[t].min()
        else:
            seconds[t, int(rng.integers(w))] = int(rng.integers(1, LONGEST))
        return replace(small, seconds=seconds)
    if what == 3 and w > 1:
        links = small.links.copy()
        a, b = rng.choice(w, 2, replace=False)
        links[a, b] = links[b, a] = int(rng.integers(0, 4))
        return replace(small, links=links)
    nbytes = small.nbytes.copy()
    a, b = sorted(rng.choice(n, 2, replace=False).tolist())
    there = nbytes[a, b] >= 0
    nbytes[a, b] = -1.0 if there and rng.random() < 0.5 else int(rng.integers(0, LONGEST))
    return replace(small, nbytes=nbytes)


def search(
    ours: Callable[[Instance], float],
    others: Callable[[Instance, float], float],
    *,
    tasks: int,
    workers: int,
    tries: int,
    seed: int,
    related: bool = False,
) -> Worst:
    """Anneal over instances for the largest ours / others.

    Args:
        ours: the makespan of the planner under attack.
        others: the makespan of its rival; it is told ours.
    """
    rng = np.random.default_rng(seed)

    def ratio(small: Small) -> float:
        instance = small.instance()
        mine = ours(instance)
        return mine / others(instance, mine)

    small = drawn(rng, tasks, workers, related=related)
    value = ratio(small)
    worst = Worst(small, value, 1)
    for step in range(1, tries):
        heat = 0.1 * (1 - step / tries)
        other = changed(rng, small, related=related)
        there = ratio(other)
        if there >= value or rng.random() < math.exp((there - value) / max(heat, 1e-9)):
            small, value = other, there
        if value > worst.ratio:
            worst = Worst(small, value, step + 1)
    return replace(worst, tried=tries)
