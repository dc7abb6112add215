"""Clusters as JSON: strict, data only; one default link and the pairs that differ from it."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from orchestrator_core.errors import InvalidFormat
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.mixing import combine
from orchestrator_core.graph.task_graph import Floats

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
    matrices = (cluster.latency, cluster.seconds_per_byte, cluster.encode_seconds_per_byte)
    usual = _most_frequent(matrices)
    differs = np.zeros((len(cluster), len(cluster)), dtype=np.bool_)
    for matrix, value in zip(matrices, usual, strict=True):
        differs |= matrix != value
    np.fill_diagonal(differs, False)
    a, b = np.nonzero(differs)
    links = zip(*(matrix[a, b].tolist() for matrix in matrices), strict=True)
    return ClusterWire(
        format=FORMAT,
        workers=[_worker_to_wire(worker) for worker in cluster.workers],
        link=usual,
        links=list(zip(a.tolist(), b.tolist(), links, strict=True)),
        stock=dict(cluster.stock),
    )


def _most_frequent(matrices: tuple[Floats, ...]) -> LinkWire:
    """The link of most pairs of workers; of several, that of the first pair."""
    away = ~np.eye(len(matrices[0]), dtype=np.bool_)
    columns = [matrix[away] for matrix in matrices]
    if not len(columns[0]):
        return (0.0, 0.0, 0.0)
    _, first, times = np.unique(combine(*columns), return_index=True, return_counts=True)
    pair = int(first[times == times.max()].min())
    latency, per_byte, encode = (float(column[pair]) for column in columns)
    return latency, per_byte, encode


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
