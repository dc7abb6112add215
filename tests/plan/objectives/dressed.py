"""Tiny random instances with prices, due dates and weights."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph import Cluster, TaskGraph
from tests.plan.tiny import tiny_instances


def dressed_instances(seeds: Iterable[int]) -> Iterator[tuple[int, Instance]]:
    """Those of `tiny_instances`, with a price for each worker and a due date for most tasks."""
    for seed, bare in tiny_instances(seeds):
        rng = random.Random(seed)
        tasks = [
            replace(
                task,
                due=float(rng.randint(0, 12)) if rng.random() < 0.7 else None,
                weight=float(rng.randint(0, 4)),
            )
            for task in bare.graph.tasks()
        ]
        workers = [replace(w, price=float(rng.randint(0, 4))) for w in bare.cluster.workers]
        cluster = Cluster.from_matrices(
            workers,
            latency=bare.cluster.latency,
            seconds_per_byte=bare.cluster.seconds_per_byte,
            encode_seconds_per_byte=bare.cluster.encode_seconds_per_byte,
            stock=bare.cluster.stock,
        )
        graph = TaskGraph.from_tasks(tasks, bare.graph.edges())
        yield seed, Instance(graph, cluster, bare.seconds)
