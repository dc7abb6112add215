"""Signatures: is this graph, or cluster, one that was met before, under whatever names?

A signature is a digest of the whole content in a canonical order, and that order. Equal digests
therefore mean: the k-th task here is the k-th task there, with the same kind, modes, constraints
and edges. Seconds and bytes are left out, since they are learned anew; see `costs/bucket.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.graph import symmetry, worker_order
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.mixing import Colours, combine, mix, of_texts
from orchestrator_core.graph.refine import levels
from orchestrator_core.graph.task_graph import Demand, Ints, TaskGraph

GRAPH_VERSION = b"orchestrator.graph-signature/1"
CLUSTER_VERSION = b"orchestrator.cluster-signature/1"


@dataclass(frozen=True, eq=False)
class Signature:
    """What a graph or a cluster is, apart from names and numbering.

    Attributes:
        digest: 64 hexadecimal digits (SHA-256).
        order: (n,) position of the task, or worker, at each canonical place.
    """

    digest: str
    order: Ints

    @property
    def place(self) -> Ints:
        """(n,) canonical place of each task, or worker: the inverse of `order`."""
        return _inverse(self.order)

    def __eq__(self, other: object) -> bool:
        """Equal if the same thing was signed; the numbering may differ."""
        return isinstance(other, Signature) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


def graph_signature(graph: TaskGraph) -> Signature:
    """The signature over structure, kinds, modes, counts and constraints, not seconds and bytes.

    Independent of names (but for kinds, and workers named in `eligible`) and of the order of
    insertion; modes keep theirs. About linear in tasks and edges. For a graph whose symmetry is
    too involved the same graph may get several digests; different graphs never share one.

    Which of several symmetric tasks comes first does not show in the digest. It is the one with
    the most seconds, then the first by name: so that a schedule, mapped by these orders, gives
    long tasks the places of long ones.
    """
    kinds = [_text(kind) for kind in graph.kinds]
    demands = [_demand_text(demand) for demand in graph.demands]
    checkpoints = [_text([float(point) for point in points]) for points in graph.checkpoint_sets]
    chosen = _preference(graph)
    rank = _inverse(chosen)
    order = chosen[
        symmetry.canonical_order(
            _task_colours(graph, kinds, demands, checkpoints)[chosen],
            levels(graph)[chosen],
            rank[graph.producer],
            rank[graph.consumer],
            mix(graph.multiplicity.astype(np.uint64)) | np.uint64(1),
        )
    ]
    digest = hashlib.sha256(GRAPH_VERSION)
    for texts, column in (
        (kinds, graph.kind_of[order]),
        (checkpoints, graph.checkpoints_of[order]),
    ):
        _add_texts(digest, texts, column)
    for values in (graph.count, graph.release, graph.deadline, graph.due, graph.weight):
        _add(digest, values[order])
    _add_modes(digest, graph, order, demands)
    _add_edges(digest, graph, order)
    return Signature(digest.hexdigest(), order)


def cluster_signature(cluster: Cluster, graph: TaskGraph | None = None) -> Signature:
    """The signature over the workers, without their names, their links and the stock.

    With `graph`, a worker that it names in an `eligible` list is told apart by its name. Workers
    that nothing tells apart stand in the order of their names.
    """
    named = {name for demand in graph.demands for name in demand.eligible or ()} if graph else set()
    texts = [_worker_text(worker, named) for worker in cluster.workers]
    links = (cluster.latency, cluster.seconds_per_byte, cluster.encode_seconds_per_byte)
    link = combine(*(matrix.ravel() for matrix in links)).reshape(len(cluster), len(cluster))
    chosen = np.array(sorted(range(len(cluster)), key=cluster.names.__getitem__), dtype=np.int64)
    colour = of_texts(texts)[chosen]
    order = chosen[worker_order.canonical_order(colour, link[np.ix_(chosen, chosen)])]
    digest = hashlib.sha256(CLUSTER_VERSION)
    _add_texts(digest, texts, order)
    for matrix in links:
        _add(digest, matrix[np.ix_(order, order)])
    digest.update(_text(dict(cluster.stock)))
    return Signature(digest.hexdigest(), order)


def _preference(graph: TaskGraph) -> Ints:
    """(n,) the tasks by their own seconds, where known, the longest first; then by name."""
    by_name = sorted(range(len(graph)), key=graph.names.__getitem__)
    chosen = np.array(by_name, dtype=np.int64)
    seconds = np.nan_to_num(graph.mode_seconds[graph.mode_ptr[:-1]], nan=0.0)
    return chosen[np.argsort(-seconds[chosen], kind="stable")]


def _inverse(order: Ints) -> Ints:
    inverse = np.empty(len(order), dtype=np.int64)
    inverse[order] = np.arange(len(order))
    return inverse


def _text(content: object) -> bytes:
    """Plain data as text; `ascii` writes any string alike in every version of Unicode."""
    return ascii(content).encode()


def _demand_text(demand: Demand) -> bytes:
    allowed = None if demand.eligible is None else sorted(set(demand.eligible))
    return _text((demand.name, dict(demand.resources), allowed, dict(demand.consumes)))


def _worker_text(worker: Worker, named: set[str]) -> bytes:
    size = (int(worker.threads), float(worker.memory), dict(worker.resources))
    name = worker.name if worker.name in named else None
    return _text((worker.kind, size, float(worker.speed), float(worker.price), name))


def _task_colours(
    graph: TaskGraph, kinds: list[bytes], demands: list[bytes], checkpoints: list[bytes]
) -> Colours:
    """(n,) what is known of each task by itself."""
    if not len(graph):
        return np.zeros(0, dtype=np.uint64)
    which_mode = np.arange(graph.n_modes) - graph.mode_ptr[graph.mode_task]
    demand = of_texts(demands)[graph.demand_of]
    mode = combine(which_mode, graph.mode_threads, graph.mode_memory, demand)
    return combine(
        of_texts(kinds)[graph.kind_of],
        of_texts(checkpoints)[graph.checkpoints_of],
        graph.count,
        graph.release,
        graph.deadline,
        graph.due,
        graph.weight,
        np.add.reduceat(mode, graph.mode_ptr[:-1]),
    )


def _add_modes(digest: Any, graph: TaskGraph, order: Ints, demands: list[bytes]) -> None:
    per_task = np.diff(graph.mode_ptr)[order]
    first = np.cumsum(per_task) - per_task
    shift = np.repeat(graph.mode_ptr[:-1][order] - first, per_task)
    mode = np.arange(graph.n_modes) + shift
    _add(digest, per_task)
    _add(digest, graph.mode_threads[mode])
    _add(digest, graph.mode_memory[mode])
    _add_texts(digest, demands, graph.demand_of[mode])


def _add_edges(digest: Any, graph: TaskGraph, order: Ints) -> None:
    place = _inverse(order)
    producer, consumer = place[graph.producer], place[graph.consumer]
    row = np.lexsort((consumer, producer))
    for column in (producer[row], consumer[row], graph.multiplicity[row]):
        _add(digest, column)


def _add_texts(digest: Any, texts: Sequence[bytes], which: Ints) -> None:
    """The different texts, sorted, and which of them each entry is."""
    ordered = sorted(set(texts))
    rank = {text: k for k, text in enumerate(ordered)}
    digest.update(_text(ordered))
    _add(digest, np.array([rank[text] for text in texts], dtype=np.int64)[which])


def _add(digest: Any, values: NDArray[Any]) -> None:
    """Length, then the numbers, little-endian; -0.0 is 0.0."""
    digest.update(values.size.to_bytes(8, "little"))
    wire = "<f8" if values.dtype.kind == "f" else "<i8"
    digest.update(np.ascontiguousarray(values + 0, dtype=wire).tobytes())
