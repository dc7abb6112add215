"""Plain arrays as graph and cluster, for `Instance.from_arrays`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from orchestrator_core.errors import InvalidCluster, InvalidGraph, InvalidInstance
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import Floats, TaskGraph


def matrix(durations: ArrayLike) -> Floats:
    """`durations` as an (n, w) matrix."""
    try:
        seconds = np.array(durations, dtype=np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidInstance(f"durations: expected numbers, tasks x workers ({error})") from None
    if seconds.ndim != 2:
        raise InvalidInstance(
            f"durations has shape {seconds.shape}; expected (tasks, workers), a row for each task"
        )
    if seconds.shape[1] == 0:
        raise InvalidCluster("durations has no column: there are no workers to run on")
    return seconds


def graph_of(
    n: int,
    edges: Iterable[tuple[int, int, float]],
    names: Sequence[str] | None,
    **columns: ArrayLike,
) -> TaskGraph:
    """The graph of n tasks with these (producer, consumer, nbytes)."""
    if names is not None and len(names) != n:
        raise InvalidGraph(f"task_names has {len(names)} names; durations has {n} rows")
    rows = _edge_rows(edges)
    if np.isnan(rows).any():
        bad = rows[np.isnan(rows).any(axis=1)][0]
        raise InvalidGraph(f"edge {tuple(bad.tolist())} holds NaN; give positions and bytes")
    return TaskGraph.from_columns(
        [f"t{i}" for i in range(n)] if names is None else names,
        producer=rows[:, 0],
        consumer=rows[:, 1],
        nbytes=rows[:, 2],
        **columns,
    )


def _edge_rows(edges: Iterable[tuple[int, int, float]]) -> Floats:
    rows = edges if isinstance(edges, np.ndarray) else list(edges)
    if len(rows) == 0:
        return np.zeros((0, 3))
    try:
        table = np.array(rows, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InvalidGraph(f"edges: expected (producer, consumer, nbytes) rows ({error})") from None
    if table.ndim != 2 or table.shape[1] != 3:
        raise InvalidGraph(
            f"edges has shape {table.shape}; expected rows of (producer, consumer, nbytes)"
        )
    return table


def cluster_of(
    w: int,
    names: Sequence[str] | None,
    threads: ArrayLike,
    memory: ArrayLike | None,
    *,
    latency: ArrayLike,
    seconds_per_byte: ArrayLike,
    encode_seconds_per_byte: ArrayLike,
) -> Cluster:
    """The cluster of w workers, each of its own kind, with these links."""
    if names is not None and len(names) != w:
        raise InvalidCluster(f"worker_names has {len(names)} names; durations has {w} columns")
    labels = [f"w{i}" for i in range(w)] if names is None else names
    supply = _column(threads, w, "threads")
    limit = _column(np.inf if memory is None else memory, w, "memory")
    workers = [
        Worker(
            name=label,
            kind=label,
            threads=int(t) if t == np.floor(t) else t,
            memory=float(size),
        )
        for label, t, size in zip(labels, supply, limit, strict=True)
    ]
    return Cluster.from_matrices(
        workers,
        latency=latency,
        seconds_per_byte=seconds_per_byte,
        encode_seconds_per_byte=encode_seconds_per_byte,
    )


def _column(values: ArrayLike, w: int, what: str) -> Floats:
    try:
        return np.array(np.broadcast_to(np.asarray(values, dtype=np.float64), (w,)))
    except (ValueError, TypeError) as error:
        raise InvalidCluster(f"{what}: expected a number or {w} of them ({error})") from None
