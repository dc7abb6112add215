"""Deadlines: what is left of them when a duration runs long, or when they cannot be met."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.objective import Objective


def has_deadlines(graph: TaskGraph) -> bool:
    """Does any task have to end by a certain moment?"""
    return bool(np.isfinite(graph.deadline).any())


def softened(graph: TaskGraph) -> TaskGraph:
    """The graph with each deadline as a due date: ending later is possible, and costs."""
    if not has_deadlines(graph):
        return graph
    due = np.minimum(graph.due, graph.deadline)
    deadline = np.full(len(graph), np.inf)
    for column in (due, deadline):
        column.flags.writeable = False
    return replace(graph, due=due, deadline=deadline)


def lateness_first(objective: Objective) -> Objective:
    """The objective behind the tardiness: nothing is worth a missed deadline."""
    rest = (name for name in objective.criteria if name != "tardiness")
    return Objective(("tardiness", *rest))
