"""What can be exchanged without changing a schedule's worth: units of one task, and workers.

The model keeps one representative of each class of exchanges, and a hint is brought into that form
first. The two kinds of breaking agree: units are sorted by start, which no exchange of workers
changes; then workers are named in the order in which the units, so sorted, meet them.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.cpsat.expand import Expanded
from orchestrator_core.plan.cpsat.variables import Variables
from orchestrator_core.plan.engine.alike import classes

Column = tuple[int, ...]
"""Units that are exchanged together, the one that sorts first."""


def unit_groups(expanded: Expanded) -> list[list[Column]]:
    """Groups of columns; any two columns of a group may be exchanged.

    Where all edges of a task give all outputs to all, its instances are alike. Where tasks of the
    same count are paired one to one, their instances are exchanged together. Where n instances
    feed one consumer and have no other pairing, they are alike among themselves.
    """
    graph = expanded.instance.graph
    paired = graph.multiplicity != graph.count[graph.producer]
    groups: list[list[Column]] = []
    for tasks in _components(expanded.instance, np.flatnonzero(paired)):
        inside = paired & np.isin(graph.producer, tasks)
        edges = np.flatnonzero(inside).tolist()
        counts = {int(graph.count[task]) for task in tasks}
        if len(counts) == 1 and all(graph.multiplicity[edge] == 1 for edge in edges):
            columns = range(counts.pop())
            groups.append([tuple(expanded.unit_of[t, r] for t in tasks) for r in columns])
        else:
            groups += _blocks(expanded, tasks, edges)
    return [group for group in groups if len(group) > 1]


def _components(instance: Instance, edges: np.ndarray) -> list[list[int]]:
    """Tasks joined by these edges, each component in topological order."""
    graph = instance.graph
    root = list(range(len(graph)))

    def find(task: int) -> int:
        while root[task] != task:
            task = root[task]
        return task

    for edge in edges.tolist():
        root[find(int(graph.consumer[edge]))] = find(int(graph.producer[edge]))
    members: dict[int, list[int]] = {}
    for task in graph.topological.tolist():
        members.setdefault(find(task), []).append(task)
    return list(members.values())


def _blocks(expanded: Expanded, tasks: list[int], edges: list[int]) -> list[list[Column]]:
    """Instances that feed one and the same consumer, and nothing else by number."""
    graph = expanded.instance.graph
    groups: list[list[Column]] = []
    for task in tasks:
        of_task = [e for e in edges if task in (graph.producer[e], graph.consumer[e])]
        if len(of_task) != 1 or graph.producer[of_task[0]] != task:
            continue
        n = int(graph.multiplicity[of_task[0]])
        for first in range(0, n * int(graph.count[graph.consumer[of_task[0]]]), n):
            groups.append([(expanded.unit_of[task, r],) for r in range(first, first + n)])
    return groups


def worker_classes(instance: Instance) -> list[list[int]]:
    """Workers that may be exchanged: same supply, same seconds for all modes, same links."""
    cluster = instance.cluster
    supplies = [(w.threads, w.memory, w.resources, w.price) for w in cluster.workers]
    links = (cluster.latency, cluster.seconds_per_byte, cluster.encode_seconds_per_byte)
    return [group for group in classes(supplies, instance.seconds, links) if len(group) > 1]


def units_in_order(v: Variables) -> None:
    """Exchangeable units are numbered by start."""
    for group in unit_groups(v.expanded):
        for (a, *_), (b, *_) in pairwise(group):
            v.cp.add(v.units[a].start <= v.units[b].start)


def workers_in_order(v: Variables) -> None:
    """Of exchangeable workers, a unit may take the next one only if an earlier unit has taken the
    one before."""
    for workers in worker_classes(v.expanded.instance):
        for k, worker in enumerate(workers):
            for u in range(len(v.units) if k else 0):
                if worker in v.units[u].on:
                    before = [v.units[e].on[workers[k - 1]] for e in _earlier(v, u, workers[k - 1])]
                    v.cp.add_bool_or([v.units[u].on[worker].negated(), *before])


def _earlier(v: Variables, u: int, worker: int) -> list[int]:
    return [e for e in range(u) if worker in v.units[e].on]
