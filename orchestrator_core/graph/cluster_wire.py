"""Clusters as JSON: strict, data only; one default link and the pairs that differ from it."""

from __future__ import annotations

import math
from collections import Counter

import msgspec
import numpy as np

from orchestrator_core.errors import InvalidFormat
from orchestrator_core.graph.cluster import Cluster, Worker

FORMAT = "orchestrator.cluster/1"

LinkWire = tuple[float, float, float]
"""latency, seconds per byte, encode seconds per byte"""


class WorkerWire(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    name: str
    kind: str = "worker"
    threads: int = 1
    memory: float | None = None
    resources: dict[str, float] = {}
    speed: float = 1.0
    price: float = 0.0


class ClusterWire(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    format: str
    workers: list[WorkerWire]
    link: LinkWire = (0.0, 0.0, 0.0)
    links: list[tuple[int, int, LinkWire]] = []
    stock: dict[str, float] = {}


def encode_cluster(cluster: Cluster) -> bytes:
    return msgspec.json.encode(cluster_to_wire(cluster))


def decode_cluster(text: str | bytes) -> Cluster:
    try:
        wire = msgspec.json.decode(text, type=ClusterWire)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise InvalidFormat(f"no cluster in JSON ({FORMAT}): {error}") from None
    return cluster_from_wire(wire)


def cluster_to_wire(cluster: Cluster) -> ClusterWire:
    pairs: dict[tuple[int, int], LinkWire] = {}
    for a in range(len(cluster)):
        for b in range(len(cluster)):
            if a != b:
                pairs[a, b] = (
                    float(cluster.latency[a, b]),
                    float(cluster.seconds_per_byte[a, b]),
                    float(cluster.encode_seconds_per_byte[a, b]),
                )
    usual = Counter(pairs.values()).most_common(1)[0][0] if pairs else (0.0, 0.0, 0.0)
    return ClusterWire(
        format=FORMAT,
        workers=[_worker_to_wire(worker) for worker in cluster.workers],
        link=usual,
        links=[(a, b, link) for (a, b), link in pairs.items() if link != usual],
        stock=dict(cluster.stock),
    )


def cluster_from_wire(wire: ClusterWire) -> Cluster:
    if wire.format != FORMAT:
        raise InvalidFormat(f"a cluster of format {wire.format!r}; this version reads {FORMAT!r}")
    w = len(wire.workers)
    matrices = np.broadcast_to(np.array(wire.link)[:, None, None], (3, w, w)).copy()
    for a, b, link in wire.links:
        if not (0 <= a < w and 0 <= b < w):
            raise InvalidFormat(f"a link joins workers {a} and {b}; there are {w} workers")
        matrices[:, a, b] = link
    return Cluster.from_matrices(
        [_worker_from_wire(worker) for worker in wire.workers],
        latency=matrices[0],
        seconds_per_byte=matrices[1],
        encode_seconds_per_byte=matrices[2],
        stock=wire.stock,
    )


def _worker_to_wire(worker: Worker) -> WorkerWire:
    return WorkerWire(
        name=worker.name,
        kind=worker.kind,
        threads=int(worker.threads),
        memory=None if math.isinf(worker.memory) else float(worker.memory),
        resources=dict(worker.resources),
        speed=float(worker.speed),
        price=float(worker.price),
    )


def _worker_from_wire(wire: WorkerWire) -> Worker:
    return Worker(
        name=wire.name,
        kind=wire.kind,
        threads=wire.threads,
        memory=math.inf if wire.memory is None else wire.memory,
        resources=wire.resources,
        speed=wire.speed,
        price=wire.price,
    )
