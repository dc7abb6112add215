"""Coarsening: groups of tasks, merged pair by pair until few are left."""

from __future__ import annotations

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.expand import Problem, expand
from orchestrator_core.plan.engine.modes import best_seconds
from orchestrator_core.plan.reduce.contract import Edges
from orchestrator_core.plan.reduce.matching import levels, match_edges, match_level

HEAVIEST = 4.0
"""Most work of a group, in means of the groups that are aimed at: heavier ones balance badly."""

STALLED = 0.98
"""Coarsening ends when a pass leaves more than this part of the groups."""


def coarsen(instance: Instance, few: int) -> tuple[Ints, int]:
    """(the group of each single task, the number of groups), about `few` of them or more.

    Groups are acyclic among each other, and each can run somewhere.
    """
    problem = expand(instance)
    seconds = np.array(best_seconds(problem))
    most = HEAVIEST * float(seconds.min(axis=1).sum()) / max(1, few)
    group, groups = np.arange(problem.n_tasks), problem.n_tasks
    while groups > few:
        before = groups
        for match in (_along_edges, _within_levels):
            mate = match(_Graph(problem, group, groups), seconds, most, groups - few)
            group, seconds = _merged(group, mate, seconds)
            groups = len(seconds)
            if groups <= few:
                break
        if groups > STALLED * before:
            break
    return group, groups


class _Graph:
    """The groups as a graph in compressed rows."""

    def __init__(self, problem: Problem, group: Ints, groups: int) -> None:
        self.n = groups
        self.edges = Edges.of(problem, group)
        self.out_ptr, self.out_task = _rows(self.edges.producer, self.edges.consumer, groups)
        self.in_ptr, self.in_task = _rows(self.edges.consumer, self.edges.producer, groups)


def _rows(key: Ints, value: Ints, n: int) -> tuple[Ints, Ints]:
    order = np.argsort(key, kind="stable")
    return np.concatenate([[0], np.cumsum(np.bincount(key, minlength=n))]), value[order]


def _along_edges(graph: _Graph, seconds: Floats, most: float, limit: int) -> Ints:
    mate = np.full(graph.n, -1)
    edges = graph.edges
    by_bytes = np.argsort(-edges.nbytes, kind="stable")
    match_edges(
        by_bytes, edges.producer, edges.consumer, seconds, seconds.min(axis=1), most, limit, mate
    )
    return mate


def _within_levels(graph: _Graph, seconds: Floats, most: float, limit: int) -> Ints:
    mate, level = np.full(graph.n, -1), np.zeros(graph.n, dtype=np.int64)
    levels(_topological(graph), graph.in_ptr, graph.in_task, level)
    rows = (graph.in_ptr, graph.in_task, graph.out_ptr, graph.out_task)
    match_level(level, *rows, seconds, seconds.min(axis=1), most, limit, mate)
    return mate


def _topological(graph: _Graph) -> Ints:
    """Producers before consumers, level by level."""
    waits = np.diff(graph.in_ptr).copy()
    ready = np.flatnonzero(waits == 0)
    found = [ready]
    while len(ready):
        many = graph.out_ptr[ready + 1] - graph.out_ptr[ready]
        begin = np.repeat(graph.out_ptr[ready] - np.cumsum(many) + many, many)
        near = graph.out_task[begin + np.arange(many.sum())]
        np.subtract.at(waits, near, 1)
        ready = np.unique(near[waits[near] == 0])
        found.append(ready)
    return np.concatenate(found)


def _merged(group: Ints, mate: Ints, seconds: Floats) -> tuple[Ints, Floats]:
    """(the group of each task, the seconds of each group) after merging the pairs."""
    head = np.arange(len(mate))
    pair = np.flatnonzero(mate > head)
    head[mate[pair]] = pair
    kept, number = np.unique(head, return_inverse=True)
    total = np.zeros((len(kept), seconds.shape[1]))
    np.add.at(total, number, seconds)
    return number[group], total
