"""From loose columns to a frozen, checked `TaskGraph`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orchestrator_core.errors import InvalidGraph
from orchestrator_core.graph.amounts import NOTHING, Amounts
from orchestrator_core.graph.figures import Label, floats, integers
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
    features: Sequence[Amounts] | None = None,
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
        output_bytes, release, deadline, due, weight, count, checkpoints, features: (n,) as in
            `Task`.
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
    feature_sets, features_of = _intern(
        [NOTHING] * n if features is None else features, n, "features"
    )

    def of_task(task: int) -> str:
        return f"task {names[task]!r}"

    per_task = integers(mode_count, n, "mode_count", of_task)
    m = int(per_task.sum())
    all_demands, demand_of = _intern([Demand()] * m if demands is None else demands, m, "demands")
    check_labels(kind_names, all_demands)
    edges = _Edges.of(names, producer, consumer, nbytes, multiplicity)
    given = {
        "output_bytes": output_bytes,
        "release": release,
        "deadline": deadline,
        "due": due,
        "weight": weight,
    }
    columns: dict[str, NDArray[Any]] = {"count": integers(count, n, "count", of_task)}
    columns |= {what: floats(column, n, what, of_task) for what, column in given.items()}
    columns |= _of_modes(threads, memory, seconds, m, lambda k: of_task(_task_of(per_task, k)))
    check_columns(names, per_task, columns, sets, checkpoints_of)
    edges.settle(names, columns["output_bytes"], columns["count"])
    graph = TaskGraph(
        names=names,
        kinds=kind_names,
        kind_of=kind_of,
        checkpoint_sets=sets,
        checkpoints_of=checkpoints_of,
        feature_sets=feature_sets,
        features_of=features_of,
        mode_ptr=np.concatenate([[0], np.cumsum(per_task)]).astype(np.int64),
        demands=all_demands,
        demand_of=demand_of,
        **edges.columns(names),
        **columns,
    )
    _lock(graph)
    return graph


class _Edges:
    """The edge columns while they are being put in order."""

    def __init__(self, producer: Ints, consumer: Ints, nbytes: Floats, multiplicity: Ints) -> None:
        self.producer, self.consumer = producer, consumer
        self.nbytes, self.multiplicity = nbytes, multiplicity

    @staticmethod
    def of(
        names: tuple[str, ...],
        producer: ArrayLike,
        consumer: ArrayLike,
        nbytes: ArrayLike,
        multiplicity: ArrayLike,
    ) -> _Edges:
        """As they were given, each column as long as that of the producers."""
        e = np.size(producer)
        sources = integers(producer, e, "producer", _edge_number)
        targets = integers(consumer, e, "consumer", _edge_number)

        def label(edge: int) -> str:
            a, b = int(sources[edge]), int(targets[edge])
            if min(a, b) >= 0 and max(a, b) < len(names):
                return f"edge {names[a]!r} -> {names[b]!r}"
            return _edge_number(edge)

        return _Edges(
            sources,
            targets,
            floats(nbytes, e, "nbytes", label),
            integers(multiplicity, e, "multiplicity", label),
        )

    def settle(self, names: tuple[str, ...], output_bytes: Floats, counts: Ints) -> None:
        """Put them in order, check them, and tell their sizes and those of the outputs."""
        self._sort()
        check_edges(names, self.producer, self.consumer, self.nbytes, self.multiplicity, counts)
        self._fill_sizes(output_bytes)

    def columns(self, names: tuple[str, ...]) -> dict[str, Any]:
        """All columns of a `TaskGraph` that speak of edges.

        Raises:
            InvalidGraph: for a cycle.
        """
        n, successor_ptr = len(names), _pointers(self.producer, len(names))
        return {
            "producer": self.producer,
            "consumer": self.consumer,
            "nbytes": self.nbytes,
            "multiplicity": self.multiplicity,
            "successor_ptr": successor_ptr,
            "predecessor_ptr": _pointers(self.consumer, n),
            "predecessor_edge": np.argsort(self.consumer, kind="stable").astype(np.int64),
            "topological": topological_order(names, self.producer, self.consumer, successor_ptr),
        }

    def _sort(self) -> None:
        """By producer, then consumer."""
        order = np.lexsort((self.consumer, self.producer))
        self.producer, self.consumer = self.producer[order], self.consumer[order]
        self.nbytes, self.multiplicity = self.nbytes[order], self.multiplicity[order]

    def _fill_sizes(self, output_bytes: Floats) -> None:
        """An output is as large as its largest edge; an edge without a size takes all of it."""
        known = np.nan_to_num(self.nbytes, nan=0.0)
        np.maximum.at(output_bytes, self.producer, known)
        self.nbytes = np.where(np.isnan(self.nbytes), output_bytes[self.producer], self.nbytes)


def _edge_number(edge: int) -> str:
    return f"edge number {edge}"


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


def _of_modes(
    threads: ArrayLike, memory: ArrayLike, seconds: ArrayLike, length: int, label: Label
) -> dict[str, NDArray[Any]]:
    return {
        "mode_threads": integers(threads, length, "threads", label),
        "mode_memory": floats(memory, length, "memory", label),
        "mode_seconds": floats(seconds, length, "seconds", label),
    }


def _task_of(per_task: Ints, mode: int) -> int:
    """The task of a position among all modes."""
    return int(np.searchsorted(np.cumsum(per_task), mode, side="right"))


def _lock(graph: TaskGraph) -> None:
    for name in TaskGraph.__dataclass_fields__:
        column = getattr(graph, name)
        if isinstance(column, np.ndarray):
            column.flags.writeable = False
