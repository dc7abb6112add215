"""Graphs whose tasks hold much: for tests of what runs hold."""

from __future__ import annotations

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.cluster import Cluster, Link, Worker
from orchestrator_core.graph.task import Edge, Task
from orchestrator_core.graph.task_graph import TaskGraph

SPEEDS = (4.0, 2.0, 1.0, 1.0)
CHUNK = 8e6


def price(tasks: list[Task], edges: list[tuple[str, str]], memory: float = np.inf) -> Instance:
    """On four workers of different speeds; a chunk takes 20 ms from one to another."""
    workers = [Worker(f"w{i}", speed=s, memory=memory) for i, s in enumerate(SPEEDS)]
    cluster = Cluster(workers, Link(bandwidth=CHUNK / 0.02))
    return Instance.price(TaskGraph.from_tasks(tasks, [Edge(*pair) for pair in edges]), cluster)


def tree(leaves: int, memory: float = np.inf, chunk: float = CHUNK) -> Instance:
    """Loads that all need the same six small tasks, so that Dask sends them all at once, and a
    tree of pairwise merges; `leaves` is a power of two."""
    tasks = [Task(f"index-{i}", kind="index", seconds=0.02, output_bytes=100.0) for i in range(6)]
    level = [f"load-{i}" for i in range(leaves)]
    tasks += [Task(name, kind="load", seconds=0.4, output_bytes=chunk) for name in level]
    edges = [(f"index-{i}", name) for name in level for i in range(6)]
    depth = 0
    while len(level) > 1:
        depth, below = depth + 1, level
        level = [f"merge{depth}-{i}" for i in range(len(below) // 2)]
        for i, name in enumerate(level):
            tasks.append(Task(name, kind=f"merge{depth}", seconds=0.04, output_bytes=chunk))
            edges += [(below[2 * i], name), (below[2 * i + 1], name)]
    return price(tasks, edges, memory)


def stream(steps: int) -> Instance:
    """A chain; each step consumes a load of its own, six times as quick to make."""
    tasks, edges = [], []
    for i in range(steps):
        tasks.append(Task(f"load-{i}", kind="load", seconds=0.2, output_bytes=CHUNK))
        tasks.append(Task(f"step-{i}", kind="step", seconds=1.2, output_bytes=8.0))
        edges += [(f"load-{i}", f"step-{i}")] + ([(f"step-{i - 1}", f"step-{i}")] if i else [])
    return price(tasks, edges)
