"""Units: every instance of every task, and who needs whose output, as plain lists.

What a simulation walks through; knows neither workers nor times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.errors import UnsupportedInstance
from orchestrator_core.graph.task_graph import Ints, TaskGraph

MOST_NEEDS = 20_000_000
"""Single needs (an output, an instance that needs it) that a simulation takes."""


@dataclass(frozen=True, slots=True)
class Units:
    """Instance r of task i is unit ``first[i] + r``; u units.

    Attributes:
        first: (tasks + 1,) first unit of each task, and u.
        task, number: (u,) its task and which instance it is.
        inputs: (u,) the (unit, edge) pairs that it needs.
        consumers: (u,) the units that need it.
        order: the units, producers before consumers.
    """

    first: Ints
    task: list[int]
    number: list[int]
    inputs: list[list[tuple[int, int]]]
    consumers: list[list[int]]
    order: list[int]

    def __len__(self) -> int:
        return len(self.task)


def units_of(graph: TaskGraph) -> Units:
    """The units of a graph.

    Raises:
        UnsupportedInstance: with more than `MOST_NEEDS` single needs.
    """
    first = np.concatenate([[0], np.cumsum(graph.count)]).astype(np.int64)
    task, number = _spread(graph.count)
    inputs: list[list[tuple[int, int]]] = [[] for _ in range(len(task))]
    consumers: list[list[int]] = [[] for _ in range(len(task))]
    for edge, producer, consumer in zip(*_needs(graph, first), strict=True):
        inputs[consumer].append((producer, edge))
        consumers[producer].append(consumer)
    begin, end = first[graph.topological], first[graph.topological + 1]
    group, place = _spread(end - begin)
    order = (begin[group] + place).tolist()
    return Units(first, task.tolist(), number.tolist(), inputs, consumers, order)


def _needs(graph: TaskGraph, first: Ints) -> tuple[list[int], list[int], list[int]]:
    """(edge, producing unit, consuming unit) of every single need.

    Instance r of a consumer takes outputs n*r .. n*r + n - 1; where n is the producer's count,
    each instance takes all of them.
    """
    made, n = graph.count[graph.producer], graph.multiplicity
    needs = n * graph.count[graph.consumer]
    if needs.sum() > MOST_NEEDS:
        raise UnsupportedInstance(
            f"the instances need {needs.sum()} single outputs; a simulation takes {MOST_NEEDS}"
        )
    edge, k = _spread(needs)
    output = np.where(n[edge] == made[edge], k % made[edge], k)
    producer = first[graph.producer[edge]] + output
    consumer = first[graph.consumer[edge]] + k // n[edge]
    return edge.tolist(), producer.tolist(), consumer.tolist()


def _spread(sizes: Ints) -> tuple[Ints, Ints]:
    """(group, place in the group) of every member of groups of these sizes."""
    group = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
    begin = np.cumsum(sizes) - sizes
    return group, np.arange(len(group), dtype=np.int64) - begin[group]
