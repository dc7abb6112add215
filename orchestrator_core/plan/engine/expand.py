"""Problem: an instance as flat arrays for compiled code, task counts expanded (stage 3).

A task of count c becomes c *single tasks*; from here on each of them is a task of its own. Edges
expand by the rule of `Edge.multiplicity`: instance r of the consumer takes outputs
``n*r .. n*r + n - 1``, and where n equals the producer's count, all of them. Pairing by index is
without loss for a producer with one consumer, since its instances are interchangeable; for several
consumers it is the truth of the data flow.
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import UnsupportedInstance
from orchestrator_core.graph.task_graph import Floats, Ints, TaskGraph

T = TypeVar("T", bound=np.generic)

MAX_TASKS, MAX_EDGES = 20_000_000, 100_000_000
"""Most single tasks, and edges between them, that planners take; more would not fit in memory."""


class Problem(NamedTuple):
    """n single tasks, e edges between them, m modes, w workers, r resources; all arrays frozen.

    Attributes:
        task, instance: (n,) which task of the graph, and which of its instances.
        mode_begin, mode_end: (n,) single task t may run in the modes ``mode_begin[t]`` up to,
            not including, ``mode_end[t]``.
        output_bytes, release, deadline: (n,) bytes, seconds, seconds.
        in_ptr, in_task, in_bytes: producers of t are ``in_task[in_ptr[t] : in_ptr[t + 1]]``;
            `in_bytes` is the part of their output that t waits for.
        out_ptr, out_task, out_bytes: the same for consumers.
        topological: (n,) producers before consumers.
        seconds: (m, w), infinity where not eligible. threads, memory: (m,). demand: (m, r).
        worker_threads, worker_memory: (w,). supply: (w, r).
        latency, per_byte, encode: (w, w) seconds, and seconds per byte, source first.
    """

    task: Ints
    instance: Ints
    mode_begin: Ints
    mode_end: Ints
    output_bytes: Floats
    release: Floats
    deadline: Floats
    in_ptr: Ints
    in_task: Ints
    in_bytes: Floats
    out_ptr: Ints
    out_task: Ints
    out_bytes: Floats
    topological: Ints
    seconds: Floats
    threads: Ints
    memory: Floats
    demand: Floats
    worker_threads: Ints
    worker_memory: Floats
    supply: Floats
    latency: Floats
    per_byte: Floats
    encode: Floats

    @property
    def n_tasks(self) -> int:
        return len(self.task)

    @property
    def n_workers(self) -> int:
        return len(self.worker_threads)


_latest: tuple[weakref.ref[Instance], Problem] | None = None


def expand(instance: Instance) -> Problem:
    """The instance as a problem; kept for as long as the instance is the latest one and lives.

    Raises:
        UnsupportedInstance: if counts and multiplicities make more than `MAX_TASKS` tasks or
            `MAX_EDGES` edges.
    """
    global _latest
    latest = _latest
    if latest is not None and latest[0]() is instance:
        return latest[1]
    problem = _expand(instance)
    _latest = (weakref.ref(instance, _forget), problem)
    return problem


def _forget(gone: weakref.ref[Instance]) -> None:
    global _latest
    if _latest is not None and _latest[0] is gone:
        _latest = None


def _expand(instance: Instance) -> Problem:
    graph, cluster = instance.graph, instance.cluster
    _check_size(graph)
    single = bool((graph.count == 1).all())
    task, number = _spread(graph.count)
    producer, consumer, nbytes = (
        (graph.producer, graph.consumer, graph.nbytes) if single else _edges(graph)
    )
    n = len(task)
    into = graph.predecessor_edge if single else np.argsort(consumer, kind="stable")
    names = sorted({name for demand in graph.demands for name in demand.resources})
    demand = _table([[d.resources.get(name, 0.0) for name in names] for d in graph.demands], names)
    columns: dict[str, NDArray[Any]] = {
        "task": task,
        "instance": number,
        "mode_begin": np.repeat(graph.mode_ptr[:-1], graph.count),
        "mode_end": np.repeat(graph.mode_ptr[1:], graph.count),
        "output_bytes": np.repeat(graph.output_bytes, graph.count),
        "release": np.repeat(graph.release, graph.count),
        "deadline": np.repeat(graph.deadline, graph.count),
        "in_ptr": graph.predecessor_ptr if single else _pointers(consumer, n),
        "in_task": producer[into],
        "in_bytes": nbytes[into],
        "out_ptr": graph.successor_ptr if single else _pointers(producer, n),
        "out_task": consumer,
        "out_bytes": nbytes,
        "topological": graph.topological if single else _expand_order(graph),
        "seconds": instance.seconds,
        "threads": graph.mode_threads,
        "memory": graph.mode_memory,
        "demand": demand[graph.demand_of],
        "worker_threads": np.array([worker.threads for worker in cluster.workers], dtype=np.int64),
        "worker_memory": np.array([worker.memory for worker in cluster.workers], np.float64),
        "supply": _table(
            [[worker.resources.get(name, 0.0) for name in names] for worker in cluster.workers],
            names,
        ),
        "latency": cluster.latency,
        "per_byte": cluster.seconds_per_byte,
        "encode": cluster.encode_seconds_per_byte,
    }
    return Problem(**{name: frozen(column) for name, column in columns.items()})


def _check_size(graph: TaskGraph) -> None:
    if graph.n_instances > MAX_TASKS:
        most = int(np.argmax(graph.count))
        raise UnsupportedInstance(
            f"{graph.n_instances:,} task instances, {graph.count[most]:,} of them of "
            f"{graph.names[most]!r}; planners take {MAX_TASKS:,}: let one task do the work of many"
        )


def frozen(column: NDArray[T]) -> NDArray[T]:
    """The same values, contiguous and read-only: for compiled code, which is specialised by type,
    a frozen array is another type than a free one, so that all its inputs had better be frozen."""
    view = np.ascontiguousarray(column).view()
    view.flags.writeable = False
    return view


def _table(rows: list[list[float]], names: list[str]) -> Floats:
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(names))


def _spread(sizes: Ints) -> tuple[Ints, Ints]:
    """(group, place in the group) of every member of groups of these sizes."""
    group = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
    return group, _counted_on(np.zeros(len(sizes), dtype=np.int64), sizes)


def _counted_on(first: Ints, sizes: Ints) -> Ints:
    """``first[0], first[0] + 1, ..``, so many, then the same from ``first[1]`` on, and so on."""
    begin = np.cumsum(sizes) - sizes
    found = np.repeat(first - begin, sizes)
    found += np.arange(len(found), dtype=np.int64)
    return found


def _pointers(ends: Ints, n: int) -> Ints:
    pointers = np.zeros(n + 1, dtype=np.int64)
    if len(ends):
        np.cumsum(np.bincount(ends, minlength=n), out=pointers[1:])
    return pointers


def _edges(graph: TaskGraph) -> tuple[Ints, Ints, Floats]:
    """(producer, consumer, nbytes) between single tasks, sorted by producer, then consumer."""
    first = np.cumsum(graph.count) - graph.count
    have, want = graph.count[graph.producer], graph.count[graph.consumer]
    each = graph.multiplicity
    total = float((each.astype(np.float64) * want).sum())
    if total > MAX_EDGES:
        worst = int(np.argmax(each.astype(np.float64) * want))
        a, b = graph.names[graph.producer[worst]], graph.names[graph.consumer[worst]]
        raise UnsupportedInstance(
            f"{total:.3g} dependencies between instances, most of them from {a!r} to {b!r}; "
            f"planners take {MAX_EDGES:.3g}: put a task between the two that gathers the outputs"
        )
    edge, place = _spread(each * want)
    consumer, output = place // each[edge], place % each[edge]
    paired = np.where(each[edge] == have[edge], output, place)
    producer = first[graph.producer[edge]] + paired
    consumer = first[graph.consumer[edge]] + consumer
    order = np.lexsort((consumer, producer))
    return producer[order], consumer[order], graph.nbytes[edge][order]


def _expand_order(graph: TaskGraph) -> Ints:
    first = np.cumsum(graph.count) - graph.count
    return _counted_on(first[graph.topological], graph.count[graph.topological])
