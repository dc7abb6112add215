"""Contraction: an instance in which each group of tasks is one task."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.costs.arrays import graph_of
from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.expand import Problem, expand
from orchestrator_core.plan.engine.modes import best_seconds


@dataclass(frozen=True)
class Edges:
    """Transfers between groups.

    Attributes:
        producer, consumer: (e,) groups, each pair at most once and never a group with itself.
        nbytes: (e,) bytes of all outputs that the one sends to the other.
    """

    producer: Ints
    consumer: Ints
    nbytes: Floats

    @staticmethod
    def of(problem: Problem, group: Ints) -> Edges:
        """The edges of a problem between groups; an output is sent once to each group."""
        source = np.repeat(np.arange(problem.n_tasks), np.diff(problem.out_ptr))
        target = group[problem.out_task]
        away = group[source] != target
        # The largest part of each output that some member of the consuming group waits for.
        once = _largest(source[away], target[away], problem.out_bytes[away])
        return Edges(group[once.producer], once.consumer, once.nbytes).summed()

    def summed(self) -> Edges:
        """The same with one edge for each pair."""
        order, first = _pairs(self.producer, self.consumer)
        total = np.add.reduceat(self.nbytes[order], first) if len(order) else self.nbytes
        return Edges(self.producer[order][first], self.consumer[order][first], total)


def _largest(producer: Ints, consumer: Ints, nbytes: Floats) -> Edges:
    order, first = _pairs(producer, consumer)
    most = np.maximum.reduceat(nbytes[order], first) if len(order) else nbytes
    return Edges(producer[order][first], consumer[order][first], most)


def _pairs(producer: Ints, consumer: Ints) -> tuple[Ints, Ints]:
    """(an order that brings equal pairs together, where in it each pair begins)."""
    order = np.lexsort((consumer, producer))
    a, b = producer[order], consumer[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (a[1:] != a[:-1]) | (b[1:] != b[:-1])
    return order, np.flatnonzero(new)


def group_seconds(problem: Problem, group: Ints, groups: int) -> Floats:
    """(groups, w) seconds of all members one after the other; infinity where one may not run."""
    seconds = best_seconds(problem)
    total = np.zeros((groups, problem.n_workers))
    np.add.at(total, group, seconds)
    return total


def contracted(instance: Instance, group: Ints, groups: int) -> Instance | None:
    """The instance of the groups; None if some group can run nowhere.

    A group runs in one piece on one worker and sends all that it has for another group at once,
    when it ends: its schedules come back to the tasks as no worse ones.
    """
    problem = expand(instance)
    seconds = group_seconds(problem, group, groups)
    if not np.isfinite(seconds).any(axis=1).all():
        return None
    edges = Edges.of(problem, group)
    release = np.zeros(groups)
    np.maximum.at(release, group, problem.release)
    rows = np.column_stack([edges.producer, edges.consumer, edges.nbytes])
    graph = graph_of(groups, rows, None, release=release)
    return Instance(graph, instance.cluster, seconds)
