"""TaskGraph: what is to run (stage 1). Tasks and edges as frozen columns.

A graph of a million tasks is a few dozen arrays, not a million objects: `task(i)` and `edges()`
make the objects of `task.py` on demand. Edges are kept in compressed sparse rows (CSR), once by
producer and once by consumer. Build one with `TaskGraph.build()` by hand, `TaskGraph.from_tasks`
from values, `TaskGraph.from_columns` from arrays. Whatever exists has been checked (`validate.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.graph.amounts import NOTHING, Amounts
from orchestrator_core.graph.task import Edge, Mode, Task

if TYPE_CHECKING:
    from orchestrator_core.graph.builder import GraphBuilder

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Demand:
    """What a mode asks for beside threads, memory and time; many modes share one."""

    name: str = ""
    resources: Amounts = NOTHING
    eligible: tuple[str, ...] | None = None
    consumes: Amounts = NOTHING


@dataclass(frozen=True, eq=False)
class TaskGraph:
    """Tasks and edges, frozen; n tasks, m modes (>= n), e edges.

    Attributes:
        names: (n,) unique names, in the order of insertion.
        kinds: the different kinds; `kind_of` (n,) points into it.
        output_bytes, release, deadline, due, weight: (n,) seconds and bytes; no deadline and no
            due date are infinity.
        count: (n,) identical instances of each task.
        checkpoint_sets: the different tuples of checkpoints; `checkpoints_of` (n,) points into it.
        feature_sets: the different features; `features_of` (n,) points into it.
        mode_ptr: (n + 1,) task i has the modes ``mode_ptr[i] : mode_ptr[i + 1]``.
        mode_threads, mode_memory, mode_seconds: (m,) seconds are NaN where not known.
        demands: the different demands; `demand_of` (m,) points into it.
        producer, consumer, nbytes, multiplicity: (e,) edges, sorted by producer, then consumer.
        successor_ptr: (n + 1,) edges of producer i are ``successor_ptr[i] : successor_ptr[i + 1]``.
        predecessor_ptr: (n + 1,) edges into i are
            ``predecessor_edge[predecessor_ptr[i] : predecessor_ptr[i + 1]]``.
        topological: (n,) the tasks, producers before consumers.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    kind_of: Ints
    output_bytes: Floats
    release: Floats
    deadline: Floats
    due: Floats
    weight: Floats
    count: Ints
    checkpoint_sets: tuple[tuple[float, ...], ...]
    checkpoints_of: Ints
    feature_sets: tuple[Amounts, ...]
    features_of: Ints
    mode_ptr: Ints
    mode_threads: Ints
    mode_memory: Floats
    mode_seconds: Floats
    demands: tuple[Demand, ...]
    demand_of: Ints
    producer: Ints
    consumer: Ints
    nbytes: Floats
    multiplicity: Ints
    successor_ptr: Ints
    predecessor_ptr: Ints
    predecessor_edge: Ints
    topological: Ints

    @staticmethod
    def build() -> GraphBuilder:
        """An empty builder: ``g.task("a"); g.task("b", after=["a"]); graph = g.done()``."""
        from orchestrator_core.graph.builder import GraphBuilder

        return GraphBuilder()

    @staticmethod
    def from_tasks(tasks: Iterable[Task], edges: Iterable[Edge] = ()) -> TaskGraph:
        """The graph of these values.

        Raises:
            InvalidGraph: naming the first task or edge that cannot be.
        """
        builder = TaskGraph.build()
        for task in tasks:
            builder.add(task)
        for edge in edges:
            builder.edge(edge.producer, edge.consumer, edge.nbytes, edge.multiplicity)
        return builder.done()

    @staticmethod
    def from_columns(names: Sequence[str], **columns: Any) -> TaskGraph:
        """The graph of whole columns; see `columns.freeze` for their names, shapes and defaults.

        Raises:
            InvalidGraph: naming the first task or edge that cannot be.
        """
        from orchestrator_core.graph.columns import freeze

        return freeze(names, **columns)

    @staticmethod
    def from_json(text: str | bytes) -> TaskGraph:
        """The graph that `to_json` wrote.

        Raises:
            InvalidFormat: if the text is no such JSON. InvalidGraph: if it holds no valid graph.
        """
        from orchestrator_core.graph.wire import decode_graph

        return decode_graph(text)

    def to_json(self) -> bytes:
        """JSON that leaves out whatever is a default; UTF-8."""
        from orchestrator_core.graph.wire import encode_graph

        return encode_graph(self)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def n_edges(self) -> int:
        return len(self.producer)

    @property
    def n_modes(self) -> int:
        return len(self.mode_threads)

    @property
    def n_instances(self) -> int:
        """Instances of all tasks together: the sum of `count`."""
        return int(self.count.sum())

    @cached_property
    def index(self) -> dict[str, int]:
        """Position of each name."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def mode_task(self) -> Ints:
        """(m,) the task that each mode belongs to."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.mode_ptr))

    def kind(self, task: int) -> str:
        return self.kinds[int(self.kind_of[task])]

    def checkpoints(self, task: int) -> tuple[float, ...]:
        return self.checkpoint_sets[int(self.checkpoints_of[task])]

    def features(self, task: int) -> Amounts:
        return self.feature_sets[int(self.features_of[task])]

    def demand(self, mode: int) -> Demand:
        """What the mode (a position among all modes) asks for."""
        return self.demands[int(self.demand_of[mode])]

    def successors(self, task: int) -> Ints:
        return self.consumer[self.successor_ptr[task] : self.successor_ptr[task + 1]]

    def in_edges(self, task: int) -> Ints:
        """Positions of the edges into `task`."""
        return self.predecessor_edge[self.predecessor_ptr[task] : self.predecessor_ptr[task + 1]]

    def predecessors(self, task: int) -> Ints:
        return self.producer[self.in_edges(task)]

    def mode(self, position: int) -> Mode:
        """The mode at a position among all modes."""
        demand, seconds = self.demand(position), float(self.mode_seconds[position])
        return Mode(
            name=demand.name,
            threads=int(self.mode_threads[position]),
            memory=float(self.mode_memory[position]),
            resources=demand.resources,
            seconds=None if np.isnan(seconds) else seconds,
            eligible=demand.eligible,
            consumes=demand.consumes,
        )

    def task(self, task: int | str) -> Task:
        """The task at a position, or of a name (KeyError if there is none)."""
        i = self.index[task] if isinstance(task, str) else int(task)
        modes = tuple(self.mode(k) for k in range(self.mode_ptr[i], self.mode_ptr[i + 1]))
        common: dict[str, Any] = {
            "name": self.names[i],
            "kind": self.kind(i),
            "output_bytes": float(self.output_bytes[i]),
            "release": float(self.release[i]),
            "deadline": _finite(self.deadline[i]),
            "due": _finite(self.due[i]),
            "weight": float(self.weight[i]),
            "count": int(self.count[i]),
            "checkpoints": self.checkpoints(i),
            "features": self.features(i),
        }
        if len(modes) > 1 or modes[0].name:
            return Task(modes=modes, **common)
        only = modes[0]
        return Task(
            seconds=only.seconds,
            threads=only.threads,
            memory=only.memory,
            resources=only.resources,
            eligible=only.eligible,
            consumes=only.consumes,
            **common,
        )

    def tasks(self) -> Iterator[Task]:
        return (self.task(i) for i in range(len(self)))

    def edges(self) -> Iterator[Edge]:
        for a, b, size, n in zip(
            self.producer.tolist(),
            self.consumer.tolist(),
            self.nbytes.tolist(),
            self.multiplicity.tolist(),
            strict=True,
        ):
            yield Edge(self.names[a], self.names[b], size, n)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TaskGraph):
            return NotImplemented
        return all(_same(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    def __hash__(self) -> int:
        return hash((self.names, self.n_edges))

    def __repr__(self) -> str:
        return f"TaskGraph({len(self)} tasks, {self.n_edges} edges)"


def _finite(number: np.float64) -> float | None:
    return float(number) if np.isfinite(number) else None


def _same(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    return bool(a == b)
