"""A graph and a cluster with the memory of accelerators: a resource of which tasks take their part.

So no plan lets two tasks fill one device beyond what it has.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from orchestrator_core.costs.feasible import eligible_pairs
from orchestrator_core.graph.amounts import Amounts
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import Demand, Floats, TaskGraph

DEVICE_MEMORY = "device-memory"
"""The resource; its amounts are mebibytes."""

MEBIBYTE = 2.0**20


def with_devices(graph: TaskGraph, cluster: Cluster, believed: Floats) -> tuple[TaskGraph, Cluster]:
    """Both, with `believed` (tasks,) bytes on a device for the tasks that state none of their own.

    Workers that say nothing of a device have their own memory for it, since there the processor is
    the device. A task that needs more than any worker has takes all of it; as with memory, nothing
    is believed where it could make a task impossible, or where devices cannot be scarce.
    """
    need = np.ceil(np.where(believed > 0, believed, 0.0) / MEBIBYTE)
    if not need.any():
        return graph, cluster
    plenty = float(max(worker.threads for worker in cluster.workers) * need.max())
    offers = [_offered(worker, plenty) for worker in cluster.workers]
    pairs = list(zip(cluster.workers, offers, strict=True))
    if all(worker.threads * need.max() <= offer for worker, offer in pairs):
        return graph, cluster
    sized = _offering(cluster, offers)
    wished = _needing(graph, np.minimum(need, max(offers)))
    before, after = eligible_pairs(graph, cluster), eligible_pairs(wished, sized)
    if (before.any(axis=1) & ~after.any(axis=1)).any():
        return graph, cluster
    return wished, sized


def _offered(worker: Worker, plenty: float) -> float:
    """Mebibytes."""
    stated = worker.resources.get(DEVICE_MEMORY, 0.0)
    if stated:
        return stated
    return plenty if math.isinf(worker.memory) else max(1.0, worker.memory // MEBIBYTE)


def _offering(cluster: Cluster, offers: list[float]) -> Cluster:
    return Cluster.from_matrices(
        [
            replace(worker, resources={**worker.resources, DEVICE_MEMORY: offer})
            for worker, offer in zip(cluster.workers, offers, strict=True)
        ],
        latency=cluster.latency,
        seconds_per_byte=cluster.seconds_per_byte,
        encode_seconds_per_byte=cluster.encode_seconds_per_byte,
        stock=cluster.stock,
    )


def _needing(graph: TaskGraph, need: Floats) -> TaskGraph:
    """The graph whose modes ask for so many mebibytes of their task's; (tasks,)."""
    demands: dict[Demand, int] = {}
    places = [
        demands.setdefault(_more(graph.demand(mode), float(need[task])), len(demands))
        for mode, task in enumerate(graph.mode_task.tolist())
    ]
    demand_of = np.array(places, dtype=graph.demand_of.dtype)
    demand_of.flags.writeable = False
    return replace(graph, demands=tuple(demands), demand_of=demand_of)


def _more(demand: Demand, need: float) -> Demand:
    if not need or DEVICE_MEMORY in demand.resources:
        return demand
    return replace(demand, resources=Amounts({**demand.resources, DEVICE_MEMORY: need}))
