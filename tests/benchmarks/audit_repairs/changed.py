"""The problem itself changes: a new task, a worker that joins or leaves, other durations."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Set
from dataclasses import replace

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InfeasibleInstance
from orchestrator_core.graph import Cluster, Edge, Task, TaskGraph
from orchestrator_core.plan.schedule import Schedule


def changed(
    rng: random.Random,
    instance: Instance,
    schedule: Schedule,
    now: float,
    tick: float,
    lost: Set[str],
) -> tuple[Instance, list[str]]:
    """The instance as it is now, and what is new in it; some worker is left that is not lost."""
    kinds: list[str] = []
    for name, change in (("NewTask", _new_task), ("Joined", _joined), ("Left", _left)):
        if rng.random() < 0.15:
            with contextlib.suppress(InfeasibleInstance):
                after = change(rng, instance, now, tick)
                if set(after.cluster.names) - lost:
                    instance = after
                    kinds.append(name)
    if rng.random() < 0.2:
        instance = _repriced(rng, instance, schedule, now, tick)
        kinds.append("Repriced")
    return instance, kinds


def _new_task(rng: random.Random, instance: Instance, now: float, tick: float) -> Instance:
    graph, n = instance.graph, len(instance.graph)
    name = f"new{n}"
    producer = rng.choice([None, *graph.names])
    edges = [*graph.edges(), *([] if producer is None else [_edge(instance, producer, name)])]
    row = [rng.choice([0, 2, 2, 4]) * tick for _ in instance.cluster.workers]
    late = now + rng.choice([6, 10]) * tick if rng.random() < 0.3 else None
    tasks = [*graph.tasks(), Task(name, deadline=late)]
    return Instance(
        TaskGraph.from_tasks(tasks, edges), instance.cluster, np.vstack([instance.seconds, row])
    )


def _edge(instance: Instance, producer: str, consumer: str) -> Edge:
    count = int(instance.graph.count[instance.graph.index[producer]])
    return Edge(producer, consumer, None, count)


def _joined(rng: random.Random, instance: Instance, now: float, tick: float) -> Instance:
    """One like another, and as near to it as to itself or a tick away."""
    cluster = instance.cluster
    w, like = len(cluster), rng.randrange(len(cluster))
    keep = [*range(w), like]
    latency = cluster.latency[np.ix_(keep, keep)].copy()
    latency[w, like] = latency[like, w] = rng.choice([0, 1]) * tick
    others = {
        name: getattr(cluster, name)[np.ix_(keep, keep)]
        for name in ("seconds_per_byte", "encode_seconds_per_byte")
    }
    workers = [
        *cluster.workers,
        replace(cluster.workers[like], name=f"joined-{rng.randrange(10**9)}"),
    ]
    larger = Cluster.from_matrices(workers, latency=latency, stock=cluster.stock, **others)
    return Instance(instance.graph, larger, instance.seconds[:, keep])


def _left(rng: random.Random, instance: Instance, now: float, tick: float) -> Instance:
    """Without a worker; as it was if it is the only one."""
    cluster = instance.cluster
    keep = list(range(len(cluster)))
    if len(keep) > 1:
        keep.remove(rng.choice(keep))
    matrices = {
        name: getattr(cluster, name)[np.ix_(keep, keep)]
        for name in ("latency", "seconds_per_byte", "encode_seconds_per_byte")
    }
    smaller = Cluster.from_matrices(
        [cluster.workers[w] for w in keep], stock=cluster.stock, **matrices
    )
    return Instance(instance.graph, smaller, instance.seconds[:, keep])


def _repriced(
    rng: random.Random, instance: Instance, schedule: Schedule, now: float, tick: float
) -> Instance:
    """Some of what has not begun takes other times."""
    graph, seconds = instance.graph, instance.seconds.copy()
    begun = {run.task for run in schedule.assignments if run.start <= now}
    for mode in range(graph.n_modes):
        if graph.names[graph.mode_task[mode]] not in begun and rng.random() < 0.5:
            factor = np.array([rng.choice([0, 1, 2]) for _ in instance.cluster.workers])
            can = np.isfinite(seconds[mode])
            seconds[mode, can] *= factor[can]
    with contextlib.suppress(InfeasibleInstance):
        return Instance(graph, instance.cluster, seconds)
    return instance
