"""Units: every instance of every task, and who needs whose output, as plain lists.

What is looked through after a simulation; knows neither workers nor times.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TypeVar

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import UnsupportedInstance
from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.engine.expand import Problem, expand

T = TypeVar("T")

MOST_NEEDS = 20_000_000
"""Single needs (an output, an instance that needs it) that a simulation takes."""


class Units:
    """Instance r of task i is unit ``first[i] + r``; u units, lists are made when asked for.

    Attributes:
        problem: the same units as arrays. first: (tasks + 1,) first unit of each task, and u.
    """

    def __init__(self, problem: Problem, first: Ints) -> None:
        self.problem, self.first = problem, first

    def __len__(self) -> int:
        return self.problem.n_tasks

    @cached_property
    def task(self) -> list[int]:
        """(u,) the task of each."""
        return list(self.problem.task.tolist())

    @cached_property
    def inputs(self) -> list[list[int]]:
        """(u,) the units whose outputs it needs."""
        return _rows(self.problem.in_ptr, self.problem.in_task.tolist())

    @cached_property
    def parts(self) -> list[list[float]]:
        """(u,) bytes of each of these outputs that it waits for."""
        return _rows(self.problem.in_ptr, self.problem.in_bytes.tolist())

    @cached_property
    def consumers(self) -> list[list[int]]:
        """(u,) the units that need its output."""
        return _rows(self.problem.out_ptr, self.problem.out_task.tolist())

    @cached_property
    def order(self) -> list[int]:
        """The units, producers before consumers."""
        return list(self.problem.topological.tolist())


def units_of(instance: Instance) -> Units:
    """The units of an instance's tasks.

    Raises:
        UnsupportedInstance: with more than `MOST_NEEDS` single needs.
    """
    graph = instance.graph
    needs = int((graph.multiplicity * graph.count[graph.consumer]).sum())
    if needs > MOST_NEEDS:
        raise UnsupportedInstance(
            f"the instances need {needs} single outputs; a simulation takes {MOST_NEEDS}"
        )
    first = np.concatenate([[0], np.cumsum(graph.count)]).astype(np.int64)
    return Units(expand(instance), first)


def _rows(ptr: Ints, values: list[T]) -> list[list[T]]:
    return [values[begin:end] for begin, end in pairwise(ptr.tolist())]
