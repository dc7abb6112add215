"""A graph with the memory that its tasks are believed to take while they run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from orchestrator_core.costs.feasible import eligible_pairs
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import Floats, TaskGraph

PER_DOUBLING = 2
"""Steps per doubling to which beliefs are rounded: what changes a little changes no plan."""

LEAST = 2.0**20
"""Bytes below which a belief is noise."""


def with_memory(graph: TaskGraph, cluster: Cluster, believed: Floats) -> TaskGraph:
    """`graph` with `believed` (tasks,) bytes for the tasks that state no memory of their own.

    A belief must not make a graph impossible that runs: where a task would fit on no worker any
    more that it fits on now, nothing is believed of it. Nor is anything believed where memory
    cannot be scarce, since that would only make planning slower.
    """
    memory = np.where(graph.mode_memory > 0, graph.mode_memory, _rounded(believed)[graph.mode_task])
    if not (memory > graph.mode_memory).any() or not _scarce(graph, cluster, memory):
        return graph
    wished = _with(graph, memory)
    lost = eligible_pairs(graph, cluster).any(axis=1) & ~eligible_pairs(wished, cluster).any(axis=1)
    return _with(graph, np.where(lost, graph.mode_memory, memory))


def _scarce(graph: TaskGraph, cluster: Cluster, memory: Floats) -> bool:
    """Is a worker short of memory with all outputs on it and the greediest tasks running there?"""
    outputs = float(graph.output_bytes @ graph.count)
    most = float(memory.max(initial=0.0))
    return any(outputs + worker.threads * most > worker.memory for worker in cluster.workers)


def _rounded(believed: Floats) -> Floats:
    known = np.where(believed >= LEAST, believed, 1.0)
    steps = np.round(np.log2(known) * PER_DOUBLING) / PER_DOUBLING
    return np.where(believed >= LEAST, 2.0**steps, 0.0)


def _with(graph: TaskGraph, memory: Floats) -> TaskGraph:
    memory.flags.writeable = False
    return replace(graph, mode_memory=memory)
