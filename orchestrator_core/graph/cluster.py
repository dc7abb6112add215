"""Cluster: on what the graph is to run (stage 1). Workers and the links between them.

Time in seconds, sizes in bytes, rates in bytes per second.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from orchestrator_core.errors import InvalidCluster
from orchestrator_core.graph.amounts import NOTHING, Amounts
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.graph.text import ALLOWED, is_name, shown
from orchestrator_core.graph.validate import check_names


@dataclass(frozen=True, slots=True)
class Worker:
    """A place to run.

    Attributes:
        name: unique in its cluster.
        kind: what durations are learned about; workers of one kind are alike.
        threads: tasks' threads that fit beside each other, >= 1.
        memory: bytes for running tasks and held outputs; infinity for no limit.
        resources: renewable amounts that it offers, such as ``{"GPU": 1}``.
        speed: reference compute seconds that it does in a second, > 0.
        price: cost of an hour, >= 0.
    """

    name: str
    kind: str = "worker"
    threads: int = 1
    memory: float = math.inf
    resources: Mapping[str, float] = NOTHING
    speed: float = 1.0
    price: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "resources", Amounts(self.resources))


@dataclass(frozen=True, slots=True)
class Link:
    """How an output gets from one worker to another: encode, then `latency + nbytes / bandwidth`.

    Attributes:
        latency: seconds, >= 0.
        bandwidth: bytes per second, > 0; infinity for no delay by size.
        encode_rate: bytes per second at which the sender serialises, on one of its threads;
            infinity where that takes no time.
    """

    latency: float = 0.0
    bandwidth: float = math.inf
    encode_rate: float = math.inf


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
        members = tuple(workers)
        _check_workers(members)
        table = dict(links or {})
        _check_links(members, link or Link(), table)
        w = len(members)
        matrices = np.zeros((3, w, w))
        for a in range(w):
            for b in range(w):
                if a != b:
                    matrices[:, a, b] = _inverse(
                        _find(members[a], members[b], table, link or Link())
                    )
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
        members = tuple(workers)
        _check_workers(members)
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


def _check_workers(workers: tuple[Worker, ...]) -> None:
    if not workers:
        raise InvalidCluster("a cluster with no workers can run nothing; give at least one Worker")
    check_names(tuple(worker.name for worker in workers), "worker", InvalidCluster)
    for worker in workers:
        threads, memory, speed, price = worker.threads, worker.memory, worker.speed, worker.price
        rules = {
            "kind": (worker.kind, f"text of {ALLOWED}", _is_label(worker.kind)),
            "threads": (threads, "an integer >= 1", _whole(threads)),
            "memory": (memory, "> 0 bytes", isinstance(memory, Real) and memory > 0),
            "speed": (speed, "finite and > 0", isinstance(speed, Real) and 0 < speed < math.inf),
            "price": (price, "finite and >= 0", isinstance(price, Real) and 0 <= price < math.inf),
        }
        for what, (found, possible, fine) in rules.items():
            if not fine:
                raise InvalidCluster(
                    f"worker {worker.name!r} has {what} = {shown(found)}; it must be {possible}"
                )


def _is_label(kind: object) -> bool:
    return isinstance(kind, str) and is_name(kind)


def _whole(threads: object) -> bool:
    whole = isinstance(threads, int | np.integer) and not isinstance(threads, bool)
    return whole and int(threads) >= 1  # type: ignore[call-overload]


def _check_links(
    workers: tuple[Worker, ...], link: Link, links: Mapping[tuple[str, str], Link]
) -> None:
    known = {worker.name for worker in workers} | {worker.kind for worker in workers}
    for pair, each in {("any", "any"): link, **links}.items():
        where = f"link {pair[0]!r} -> {pair[1]!r}"
        if each is not link and not set(pair) <= known:
            missing = next(name for name in pair if name not in known)
            raise InvalidCluster(
                f"{where}: no worker has the name or kind {missing!r}; there are {sorted(known)}"
            )
        if not 0 <= each.latency < math.inf:
            raise InvalidCluster(f"{where} has latency = {each.latency!r}; it must be finite, >= 0")
        # The inverse of a still smaller rate would be infinite.
        if not (each.bandwidth > 1e-300 and each.encode_rate > 1e-300):
            raise InvalidCluster(
                f"{where} has bandwidth = {each.bandwidth!r}, encode_rate = {each.encode_rate!r}; "
                "both must be > 0 bytes per second"
            )


def _find(
    source: Worker, target: Worker, links: Mapping[tuple[str, str], Link], otherwise: Link
) -> Link:
    for a, b in ((source.name, target.name), (source.kind, target.kind)):
        for pair in ((a, b), (b, a)):
            if pair in links:
                return links[pair]
    return otherwise


def _inverse(link: Link) -> tuple[float, float, float]:
    return link.latency, 1.0 / link.bandwidth, 1.0 / link.encode_rate
