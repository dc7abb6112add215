"""Basis: what repair needs to know of an instance, computed once (stage 3, repair)."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidInput
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.graph.text import shown
from orchestrator_core.plan.engine.decoder import only_threads
from orchestrator_core.plan.engine.expand import Problem, expand


@dataclass(frozen=True, eq=False)
class Basis:
    """An instance in single tasks.

    Attributes:
        first: (tasks + 1,) the first single task of each task.
        best_seconds: (n,) shortest durations. depth: (n,) position in the topological order.
        threads_only: can nothing but threads ever be scarce?
        consumes: do tasks take from the cluster's stock?
    """

    instance: Instance
    problem: Problem
    first: Ints
    best_seconds: Floats
    depth: Ints
    threads_only: bool
    consumes: bool

    def unit(self, task: str, number: int) -> int:
        """The single task of an instance.

        Raises:
            InvalidInput: if there is no such task or instance.
        """
        graph = self.instance.graph
        at = graph.index.get(task, -1) if isinstance(task, str) else -1
        if at < 0:
            raise InvalidInput(f"there is no task {shown(task)} in {graph!r}")
        if not (isinstance(number, Integral) and 0 <= number < graph.count[at]):
            raise InvalidInput(
                f"task {task!r} has no instance {shown(number)}; it has {graph.count[at]}, counted "
                "from 0"
            )
        return int(self.first[at] + number)

    def label(self, unit: int) -> str:
        """The single task, as a message calls it."""
        graph, task = self.instance.graph, self.problem.task[unit]
        if graph.count[task] == 1:
            return f"task {graph.names[task]!r}"
        return f"instance {self.problem.instance[unit]} of task {graph.names[task]!r}"


_latest: weakref.ref[Basis] | None = None


def basis_of(instance: Instance) -> Basis:
    """The basis; the latest one is kept for as long as somebody holds it, such as a repair.

    Raises:
        UnsupportedInstance: if counts and multiplicities make too many edges.
    """
    global _latest
    held = _latest
    latest = None if held is None else held()
    if latest is not None and latest.instance is instance:
        return latest
    basis = _make(instance)
    # It holds its instance: both would stay for ever in a table by instances, however weak.
    _latest = weakref.ref(basis)
    return basis


def _make(instance: Instance) -> Basis:
    problem, graph = expand(instance), instance.graph
    depth = np.empty(problem.n_tasks, dtype=np.int64)
    depth[problem.topological] = np.arange(problem.n_tasks)
    return Basis(
        instance=instance,
        problem=problem,
        first=np.concatenate([[0], np.cumsum(graph.count)]).astype(np.int64),
        best_seconds=instance.best_seconds[problem.task] if len(graph) else np.zeros(0),
        depth=depth,
        threads_only=only_threads(problem),
        consumes=any(demand.consumes for demand in graph.demands),
    )
