"""List heuristics that take tasks as they come, in a fixed order (stage 3).

The first four are those of T. D. Braun and others: A comparison of eleven static heuristics for
mapping a class of independent tasks onto heterogeneous distributed computing systems. JPDC 61(6),
2001. "As they come" is the topological order here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.ranks import downward_rank, upward_rank
from orchestrator_core.plan.lists.means import mean_link, mean_seconds
from orchestrator_core.plan.lists.rule import Rule


def mct(problem: Problem) -> Iterator[Choice]:
    """Minimum Completion Time: each task where it ends first; also by earliest possible start."""
    yield Rule(priority=1.0).choice(problem, _as_they_come(problem))
    soonest = downward_rank(problem, mean_seconds(problem), *mean_link(problem))
    yield Rule(priority=1.0).choice(problem, -soonest)


def met(problem: Problem) -> Iterator[Choice]:
    """Minimum Execution Time: each task where it is shortest, however long the queue is there."""
    yield Rule(priority=1.0, begin=0.0).choice(problem, _as_they_come(problem))


def olb(problem: Problem) -> Iterator[Choice]:
    """Opportunistic Load Balancing: each task on the worker that is free first."""
    rule = Rule(priority=1.0, begin=0.0, seconds=0.0, free=1.0)
    yield rule.choice(problem, _as_they_come(problem))


def mst(problem: Problem) -> Iterator[Choice]:
    """Minimum Start Time: each task where it starts first."""
    yield Rule(priority=1.0, seconds=0.0).choice(problem, _as_they_come(problem))


def fcp(problem: Problem) -> Iterator[Choice]:
    """Fast Critical Path: by rank, on the worker that is free first or has the last input.

    A. Radulescu, A. J. C. van Gemund: On the complexity of list scheduling algorithms for
    distributed-memory systems. ICS 1999. All ready tasks are kept sorted, not a few of them.
    """
    rank = upward_rank(problem, mean_seconds(problem), *mean_link(problem))
    yield Rule(priority=1.0, seconds=0.0, two_workers=True).choice(problem, rank)


def _as_they_come(problem: Problem) -> Floats:
    rank = np.empty(problem.n_tasks)
    rank[problem.topological] = -np.arange(problem.n_tasks, dtype=np.float64)
    return rank
