"""A cluster whose links are shared by transfers that meet."""

from __future__ import annotations

from orchestrator_core.graph.cluster import Cluster


def crowded(cluster: Cluster, factor: float) -> Cluster:
    """The same where each byte takes `factor` times as long on its way."""
    if factor == 1.0:
        return cluster
    return Cluster.from_matrices(
        cluster.workers,
        latency=cluster.latency,
        seconds_per_byte=cluster.seconds_per_byte * factor,
        encode_seconds_per_byte=cluster.encode_seconds_per_byte,
        stock=cluster.stock,
    )
