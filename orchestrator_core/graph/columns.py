"""From loose columns to a frozen, checked `TaskGraph`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orchestrator_core.errors import InvalidGraph
from orchestrator_core.graph.order import topological_order
from orchestrator_core.graph.task_graph import Demand, Floats, Ints, TaskGraph
from orchestrator_core.graph.validate import check_columns, check_edges, check_labels, check_names


def freeze(
    names: Sequence[str],
    *,
    kinds: Sequence[str] | None = None,
    output_bytes: ArrayLike = 0.0,
    release: ArrayLike = 0.0,
    deadline: ArrayLike = np.inf,
    due: ArrayLike = np.inf,
    weight: ArrayLike = 1.0,
    count: ArrayLike = 1,
    checkpoints: Sequence[tuple[float, ...]] | None = None,
    mode_count: ArrayLike = 1,
    threads: ArrayLike = 1,
    memory: ArrayLike = 0.0,
    seconds: ArrayLike = np.nan,
    demands: Sequence[Demand] | None = None,
    producer: ArrayLike = (),
    consumer: ArrayLike = (),
    nbytes: ArrayLike = np.nan,
    multiplicity: ArrayLike = 1,
) -> TaskGraph:
    """The graph of these columns; a scalar stands for a whole column.

    Args:
        names: (n,). kinds: (n,), defaults to the names.
        output_bytes, release, deadline, due, weight, count, checkpoints: (n,) as in `Task`.
        mode_count: (n,) modes of each task; threads, memory, seconds, demands: (m,), the modes
            of the first task first, as in `Mode`.
        producer, consumer: (e,) positions of tasks.
        nbytes: (e,), NaN for the producer's whole output. multiplicity: (e,).

    Raises:
        InvalidGraph: naming the first task or edge that cannot be.
    """
    names = tuple(names)
    check_names(names)
    n = len(names)
    kind_names, kind_of = _intern(names if kinds is None else kinds, n, "kinds")
    sets, checkpoints_of = _intern(
        [()] * n if checkpoints is None else checkpoints, n, "checkpoints"
    )
    per_task = _integers(mode_count, n, "mode_count")
    m = int(per_task.sum())
    all_demands, demand_of = _intern([Demand()] * m if demands is None else demands, m, "demands")
    check_labels(kind_names, all_demands)
    e = np.size(producer)
    edges = _Edges(
        _integers(producer, e, "producer"),
        _integers(consumer, e, "consumer"),
        _floats(nbytes, e, "nbytes"),
        _integers(multiplicity, e, "multiplicity"),
    )
    counts = _integers(count, n, "count")
    columns: dict[str, Any] = {
        "output_bytes": _floats(output_bytes, n, "output_bytes"),
        "release": _floats(release, n, "release"),
        "deadline": _floats(deadline, n, "deadline"),
        "due": _floats(due, n, "due"),
        "weight": _floats(weight, n, "weight"),
        "count": counts,
        "mode_threads": _integers(threads, m, "threads"),
        "mode_memory": _floats(memory, m, "memory"),
        "mode_seconds": _floats(seconds, m, "seconds"),
    }
    check_columns(names, per_task, columns, sets, checkpoints_of)
    edges.sort()
    check_edges(names, edges.producer, edges.consumer, edges.nbytes, edges.multiplicity, counts)
    edges.fill_sizes(columns["output_bytes"])
    successor_ptr = _pointers(edges.producer, n)
    into = np.argsort(edges.consumer, kind="stable").astype(np.int64)
    graph = TaskGraph(
        names=names,
        kinds=kind_names,
        kind_of=kind_of,
        checkpoint_sets=sets,
        checkpoints_of=checkpoints_of,
        mode_ptr=np.concatenate([[0], np.cumsum(per_task)]).astype(np.int64),
        demands=all_demands,
        demand_of=demand_of,
        producer=edges.producer,
        consumer=edges.consumer,
        nbytes=edges.nbytes,
        multiplicity=edges.multiplicity,
        successor_ptr=successor_ptr,
        predecessor_ptr=_pointers(edges.consumer, n),
        predecessor_edge=into,
        topological=topological_order(names, edges.producer, edges.consumer, successor_ptr),
        **columns,
    )
    _lock(graph)
    return graph


class _Edges:
    """The edge columns while they are being put in order."""

    def __init__(self, producer: Ints, consumer: Ints, nbytes: Floats, multiplicity: Ints) -> None:
        self.producer, self.consumer = producer, consumer
        self.nbytes, self.multiplicity = nbytes, multiplicity

    def sort(self) -> None:
        """By producer, then consumer."""
        order = np.lexsort((self.consumer, self.producer))
        self.producer, self.consumer = self.producer[order], self.consumer[order]
        self.nbytes, self.multiplicity = self.nbytes[order], self.multiplicity[order]

    def fill_sizes(self, output_bytes: Floats) -> None:
        """An output is as large as its largest edge; an edge without a size takes all of it."""
        known = np.nan_to_num(self.nbytes, nan=0.0)
        np.maximum.at(output_bytes, self.producer, known)
        self.nbytes = np.where(np.isnan(self.nbytes), output_bytes[self.producer], self.nbytes)


def _pointers(sorted_or_not: Ints, n: int) -> Ints:
    return np.concatenate([[0], np.cumsum(np.bincount(sorted_or_not, minlength=n))]).astype(
        np.int64
    )


def _intern(values: Sequence[Any], length: int, what: str) -> tuple[tuple[Any, ...], Ints]:
    """The different values in order of appearance, and where each entry points."""
    if len(values) != length:
        raise InvalidGraph(f"{what}: expected {length} entries, found {len(values)}")
    seen: dict[Any, int] = {}
    places = np.fromiter(
        (seen.setdefault(value, len(seen)) for value in values), dtype=np.int64, count=length
    )
    return tuple(seen), places


def _floats(column: ArrayLike, length: int, what: str) -> Floats:
    try:
        values = np.asarray(column, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InvalidGraph(f"{what}: expected {length} numbers ({error})") from None
    if values.shape not in ((), (length,)):
        raise InvalidGraph(f"{what} has shape {values.shape}; expected a number or ({length},)")
    return np.array(np.broadcast_to(values, (length,)))


def _integers(column: ArrayLike, length: int, what: str) -> Ints:
    values: NDArray[Any] = _floats(column, length, what)
    wrong = ~(np.abs(values) < 2.0**53) | (values != np.floor(values))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InvalidGraph(f"{what}: expected integers, found {values[at]!r} at position {at}")
    return values.astype(np.int64)


def _lock(graph: TaskGraph) -> None:
    for name in TaskGraph.__dataclass_fields__:
        column = getattr(graph, name)
        if isinstance(column, np.ndarray):
            column.flags.writeable = False
