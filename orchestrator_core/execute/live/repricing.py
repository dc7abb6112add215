"""The instance of a run as it is now: other workers, other durations."""

from __future__ import annotations

from collections.abc import Set

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.live.pace import Pace
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.finer_kind import plain_kind
from orchestrator_core.graph.task_graph import Floats

PAUSED = 1000.0
"""By how much longer a task takes on a worker that takes none for now."""


def reprice(instance: Instance, cluster: Cluster, paused: Set[str], pace: Pace) -> Instance:
    """The graph of `instance` on the workers that there are now, at their pace.

    A worker that `instance` does not know takes as long as one of its kind; where there is none, as
    long as the declared speeds say. A paused one stays, with what it holds, but is avoided.

    Raises:
        InfeasibleInstance: if a task can run nowhere any more.
    """
    away = paused - cluster.index.keys()
    kept = [worker for worker in instance.cluster.workers if worker.name in away]
    workers = (*cluster.workers, *kept)
    columns = [_column(instance, worker) for worker in workers]
    seconds = np.stack(columns, axis=1) * _factors(instance, workers, pace)
    seconds[:, [worker.name in paused for worker in workers]] *= PAUSED
    whole = _extended(cluster, instance.cluster, kept)
    return Instance(instance.graph, whole, seconds)


def _column(instance: Instance, worker: Worker) -> Floats:
    known = instance.cluster.workers
    kind = plain_kind(worker.kind)
    alike = [i for i, other in enumerate(known) if plain_kind(other.kind) == kind]
    # Else rather one that is like most of its kind than one that was seen to differ from it.
    alike.sort(key=lambda i: (known[i].name != worker.name, known[i].kind != worker.kind))
    if alike:
        return instance.seconds[:, alike[0]]
    work = instance.seconds * np.array([other.speed for other in known])
    return np.asarray(work.min(axis=1) / worker.speed, dtype=np.float64)


def _factors(instance: Instance, workers: tuple[Worker, ...], pace: Pace) -> Floats:
    """(modes, workers) from the pace."""
    graph = instance.graph
    by_kind = np.array(
        [[pace.factor(kind, worker.name) for worker in workers] for kind in graph.kinds]
    ).reshape(len(graph.kinds), len(workers))
    return np.asarray(by_kind[graph.kind_of[graph.mode_task]], dtype=np.float64)


def _extended(cluster: Cluster, before: Cluster, kept: list[Worker]) -> Cluster:
    """The cluster and the kept workers, with the links that these had, or as they mostly are."""
    if not kept:
        return cluster
    n, m = len(cluster), len(kept)

    def links(now: Floats, then: Floats) -> Floats:
        usual = float(np.median(then[~np.eye(len(then), dtype=bool)])) if len(then) > 1 else 0.0
        matrix = np.full((n + m, n + m), usual)
        matrix[:n, :n] = now
        np.fill_diagonal(matrix, 0.0)
        return matrix

    return Cluster.from_matrices(
        (*cluster.workers, *kept),
        latency=links(cluster.latency, before.latency),
        seconds_per_byte=links(cluster.seconds_per_byte, before.seconds_per_byte),
        encode_seconds_per_byte=links(
            cluster.encode_seconds_per_byte, before.encode_seconds_per_byte
        ),
        stock=cluster.stock,
    )
