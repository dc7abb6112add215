"""Cluster: on what the graph is to run (stage 1). Workers and the links between them.

Time in seconds, sizes in bytes, rates in bytes per second.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from orchestrator_core.errors import InvalidCluster
from orchestrator_core.graph.amounts import Amounts
from orchestrator_core.graph.link import Link as Link
from orchestrator_core.graph.link import check_links, find_link, inverse
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.graph.worker import Worker as Worker
from orchestrator_core.graph.worker import workers_of


class Cluster:
    """Workers and links, frozen; w workers.

    Attributes:
        workers: (w,) in the order given.
        latency: (w, w) seconds, source first; 0 on the diagonal.
        seconds_per_byte: (w, w) inverse bandwidth; 0 on the diagonal.
        encode_seconds_per_byte: (w, w) inverse encode rate; 0 on the diagonal.
        stock: amounts that tasks take for good, over the whole schedule, such as licence hours.
    """

    __slots__ = (
        "__dict__",
        "encode_seconds_per_byte",
        "latency",
        "seconds_per_byte",
        "stock",
        "workers",
    )
    workers: tuple[Worker, ...]
    latency: Floats
    seconds_per_byte: Floats
    encode_seconds_per_byte: Floats
    stock: Amounts

    def __init__(
        self,
        workers: Iterable[Worker],
        link: Link | None = None,
        links: Mapping[tuple[str, str], Link] | None = None,
        stock: Mapping[str, float] | None = None,
    ) -> None:
        """The cluster of these workers.

        Args:
            workers: at least one.
            link: between any two workers for which `links` says nothing; default: free of delay.
            links: by (source, destination), each a worker's name or kind; a pair of names beats
                a pair of kinds, and a pair holds in both directions unless the reverse is given.
            stock: as the attribute.

        Raises:
            InvalidCluster: naming the first worker or link that cannot be.
        """
        members = workers_of(workers)
        table = {} if links is None else links
        otherwise = Link() if link is None else link
        check_links(members, otherwise, table)
        w = len(members)
        matrices = np.empty((3, w, w))
        matrices[:] = np.array(inverse(otherwise))[:, None, None]
        alike = _alike(members, {name for pair in table for name in pair})
        for one, other in itertools.product(alike, alike):
            between = find_link(members[one[0]], members[other[0]], table, otherwise)
            matrices[:, one[:, None], other] = np.array(inverse(between))[:, None, None]
        matrices[:, np.arange(w), np.arange(w)] = 0.0
        self._fill(members, matrices, Amounts(stock))

    @classmethod
    def from_matrices(
        cls,
        workers: Iterable[Worker],
        *,
        latency: ArrayLike = 0.0,
        seconds_per_byte: ArrayLike = 0.0,
        encode_seconds_per_byte: ArrayLike = 0.0,
        stock: Mapping[str, float] | None = None,
    ) -> Cluster:
        """The cluster with these (w, w) matrices, or scalars for all pairs; diagonals are ignored.

        Raises:
            InvalidCluster: naming the first worker or entry that cannot be.
        """
        members = workers_of(workers)
        shape = (len(members), len(members))
        matrices = np.empty((3, *shape))
        given = {
            "latency": latency,
            "seconds_per_byte": seconds_per_byte,
            "encode_seconds_per_byte": encode_seconds_per_byte,
        }
        for row, (name, value) in enumerate(given.items()):
            try:
                matrices[row] = np.broadcast_to(np.asarray(value, dtype=np.float64), shape)
            except (ValueError, TypeError) as error:
                raise InvalidCluster(
                    f"{name}: expected a number or a matrix of shape {shape} ({error})"
                ) from None
            np.fill_diagonal(matrices[row], 0.0)
            wrong = ~(np.isfinite(matrices[row]) & (matrices[row] >= 0))
            if wrong.any():
                a, b = np.argwhere(wrong)[0]
                raise InvalidCluster(
                    f"{name} from {members[a].name!r} to {members[b].name!r} is "
                    f"{matrices[row, a, b]:g}; it must be finite and >= 0"
                )
        cluster = cls.__new__(cls)
        cluster._fill(members, matrices, Amounts(stock))
        return cluster

    def _fill(self, workers: tuple[Worker, ...], matrices: Floats, stock: Amounts) -> None:
        matrices.flags.writeable = False
        put = object.__setattr__
        put(self, "workers", workers)
        for row, name in enumerate(("latency", "seconds_per_byte", "encode_seconds_per_byte")):
            put(self, name, matrices[row])
        put(self, "stock", stock)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Cluster cannot change: {name}")

    @staticmethod
    def from_json(text: str | bytes) -> Cluster:
        """The cluster that `to_json` wrote.

        Raises:
            InvalidFormat: if the text is no such JSON. InvalidCluster: if it holds no valid one.
        """
        from orchestrator_core.graph.cluster_wire import decode_cluster

        return decode_cluster(text)

    def to_json(self) -> bytes:
        """JSON that leaves out whatever is a default; UTF-8."""
        from orchestrator_core.graph.cluster_wire import encode_cluster

        return encode_cluster(self)

    def __len__(self) -> int:
        return len(self.workers)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(worker.name for worker in self.workers)

    @cached_property
    def index(self) -> dict[str, int]:
        """Position of each worker's name."""
        return {worker.name: i for i, worker in enumerate(self.workers)}

    @property
    def kinds(self) -> tuple[str, ...]:
        """The different kinds, in order of appearance."""
        return tuple(dict.fromkeys(worker.kind for worker in self.workers))

    def link(self, source: str, destination: str) -> Link:
        """The link between two workers, by name."""
        a, b = self.index[source], self.index[destination]
        per_byte, encode = self.seconds_per_byte[a, b], self.encode_seconds_per_byte[a, b]
        return Link(
            latency=float(self.latency[a, b]),
            bandwidth=1.0 / float(per_byte) if per_byte > 0 else math.inf,
            encode_rate=1.0 / float(encode) if encode > 0 else math.inf,
        )

    def transfer_seconds(self, source: int, destination: int, nbytes: float) -> float:
        """Seconds from encoded at the source to present at the destination."""
        if source == destination:
            return 0.0
        per_byte = float(self.seconds_per_byte[source, destination])
        return float(self.latency[source, destination]) + nbytes * per_byte

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Cluster):
            return NotImplemented
        return (
            self.workers == other.workers
            and self.stock == other.stock
            and np.array_equal(self.latency, other.latency)
            and np.array_equal(self.seconds_per_byte, other.seconds_per_byte)
            and np.array_equal(self.encode_seconds_per_byte, other.encode_seconds_per_byte)
        )

    def __hash__(self) -> int:
        return hash((self.workers, self.stock))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Cluster.from_json, (self.to_json(),))

    def __repr__(self) -> str:
        return f"Cluster({len(self)} workers of kinds {', '.join(self.kinds)})"


def _alike(workers: tuple[Worker, ...], named: set[str]) -> list[Ints]:
    """The positions of workers whose names or kinds are among these, those together that have the
    same ones of them."""
    places: dict[tuple[str, str], list[int]] = {}
    for place, worker in enumerate(workers):
        name = worker.name if worker.name in named else ""
        kind = worker.kind if worker.kind in named else ""
        if name or kind:
            places.setdefault((name, kind), []).append(place)
    return [np.array(group, dtype=np.int64) for group in places.values()]
