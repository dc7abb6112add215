"""Grown: an instance on a larger cluster."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.cluster import Cluster


def grown(instance: Instance, like: int, number: int) -> Instance:
    """The instance with `number` more workers like the one at that position.

    Links between workers that are alike take what the slowest link of the original one takes.
    """
    cluster = instance.cluster
    w, pattern = len(cluster), cluster.workers[like]
    new = [replace(pattern, name=name) for name in _free_names(cluster, pattern.kind, number)]
    rows = np.array([*range(w), *[like] * number])
    alike = (rows[:, None] == like) & (rows[None, :] == like)
    links = {
        name: np.where(alike, matrix[like].max(), matrix[np.ix_(rows, rows)])
        for name in ("latency", "seconds_per_byte", "encode_seconds_per_byte")
        for matrix in (getattr(cluster, name),)
    }
    larger = Cluster.from_matrices((*cluster.workers, *new), stock=cluster.stock, **links)
    return Instance(instance.graph, larger, instance.seconds[:, rows])


def _free_names(cluster: Cluster, kind: str, number: int) -> list[str]:
    names: list[str] = []
    at = 0
    while len(names) < number:
        at += 1
        if f"{kind}+{at}" not in cluster.index:
            names.append(f"{kind}+{at}")
    return names
