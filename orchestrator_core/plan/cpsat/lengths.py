"""Lengths: the seconds that the model measures in ticks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats


def serial_seconds(instance: Instance) -> float:
    """Seconds in which everything can be done one after another, if it can be done at all.

    A gap in which nothing runs, is encoded or in transit, and no release is awaited, can be cut out
    of a schedule; so some optimal schedule is not longer than this.
    """
    graph, cluster = instance.graph, instance.cluster
    longest = np.where(instance.eligible, instance.seconds, 0.0).max(axis=1, initial=0.0)
    per_task = np.maximum.reduceat(longest, graph.mode_ptr[:-1]) if len(graph) else longest
    sent = graph.output_bytes * (np.diff(graph.successor_ptr) > 0)
    per_byte = float((cluster.seconds_per_byte + cluster.encode_seconds_per_byte).max())
    away = (len(cluster) - 1) * (float(cluster.latency.max()) + sent * per_byte)
    return float(graph.release.max(initial=0.0) + (graph.count * (per_task + away)).sum())


def piece_seconds(instance: Instance, mode: int, worker: int) -> tuple[float, ...]:
    """Seconds of the pieces between the task's checkpoints, run in a mode on a worker."""
    marks = (0.0, *instance.graph.checkpoints(int(instance.graph.mode_task[mode])), 1.0)
    whole = float(instance.seconds[mode, worker])
    if len(marks) == 2:
        return (whole,)
    return tuple((b - a) * whole for a, b in pairwise(marks))


def all_times(instance: Instance) -> list[float]:
    """All times that must be whole ticks for the model to be exact."""
    graph, cluster = instance.graph, instance.cluster
    times = list(graph.release.tolist())
    for mode, worker in np.argwhere(instance.eligible).tolist():
        times += piece_seconds(instance, mode, worker)
    if len(cluster) > 1 and graph.n_edges:
        away = ~np.eye(len(cluster), dtype=bool)
        sent = np.unique(graph.output_bytes[graph.producer])
        parts = np.unique(np.concatenate([sent, graph.nbytes]))
        times += _products(cluster.encode_seconds_per_byte[away], sent)
        pairs = np.unique(np.stack([cluster.latency[away], cluster.seconds_per_byte[away]]), axis=1)
        times += (pairs[0][:, None] + pairs[1][:, None] * parts[None, :]).ravel().tolist()
    return times


def _products(rates: Floats, sizes: Floats) -> list[float]:
    products: list[float] = (np.unique(rates)[:, None] * sizes[None, :]).ravel().tolist()
    return products
