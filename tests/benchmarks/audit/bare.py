"""Instances in which only threads are scarce, as the local search takes them; some are shops."""

from __future__ import annotations

import contextlib
import math
import random

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InfeasibleInstance
from orchestrator_core.graph import Cluster, Edge, Task, TaskGraph, Worker
from tests.benchmarks.audit.drawn import Drawn

TICKS = (1.0, 1.0, 0.1, 1 / 3)


def bare_instance(seed: int) -> Drawn | None:
    """None where the instance is refused at once."""
    rng = random.Random(f"bare {seed}")
    tick, n_workers, n = rng.choice(TICKS), rng.randint(2, 3), rng.randint(3, 8)
    is_shop, is_dated = rng.random() < 0.4, rng.random() < 0.3
    tasks = [_task(rng, i, tick, is_dated) for i in range(n)]
    edges = _jobs(rng, n) if is_shop else _edges(rng, n)
    seconds = [_durations(rng, n_workers, is_shop) for _ in tasks]
    with contextlib.suppress(InfeasibleInstance):
        graph, cluster = TaskGraph.from_tasks(tasks, edges), _cluster(rng, n_workers, tick)
        return Drawn(Instance(graph, cluster, np.array(seconds) * tick), tick)
    return None


def _task(rng: random.Random, i: int, tick: float, is_dated: bool) -> Task:
    release = rng.choice([0, 0, 0, 1, 3])
    return Task(
        name=f"t{i}",
        output_bytes=rng.choice([0, 1, 2]),
        release=release * tick,
        deadline=(release + rng.randint(4, 12)) * tick if is_dated and rng.random() < 0.5 else None,
        due=rng.randint(0, 8) * tick if rng.random() < 0.7 else None,
        weight=float(rng.choice([0, 1, 1, 3])),
    )


def _durations(rng: random.Random, n_workers: int, is_shop: bool) -> list[float]:
    """Ticks on each worker; in a shop only one of them may run the task."""
    ticks = [float(rng.choice([0, 1, 1, 2, 3])) for _ in range(n_workers)]
    home = rng.randrange(n_workers)
    barred = [w != home and (is_shop or rng.random() < 0.1) for w in range(n_workers)]
    return [math.inf if b else t for b, t in zip(barred, ticks, strict=True)]


def _jobs(rng: random.Random, n: int) -> list[Edge]:
    """Chains, as of jobs that go from machine to machine."""
    width = rng.randint(2, 3)
    return [Edge(f"t{i - width}", f"t{i}") for i in range(width, n)]


def _edges(rng: random.Random, n: int) -> list[Edge]:
    return [
        Edge(f"t{a}", f"t{b}", rng.choice([None, 0.0]))
        for b in range(n)
        for a in range(b)
        if rng.random() < 0.3
    ]


def _cluster(rng: random.Random, n_workers: int, tick: float) -> Cluster:
    workers = [
        Worker(f"w{w}", threads=rng.choice([1, 1, 1, 2]), price=float(rng.choice([0, 1, 3])))
        for w in range(n_workers)
    ]
    slow, far = rng.choice([0, 1, 1]), rng.choice([0, 1])
    return Cluster.from_matrices(
        workers,
        latency=[[rng.randint(0, far) * tick for _ in workers] for _ in workers],
        seconds_per_byte=[[rng.randint(0, slow) * tick for _ in workers] for _ in workers],
    )
