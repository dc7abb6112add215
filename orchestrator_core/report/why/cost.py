"""The cost of having a task on another worker: all planned anew with the task forced there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InfeasibleInstance
from orchestrator_core.plan.result import PlanResult, PlanStatus


@dataclass(frozen=True, slots=True)
class Cost:
    """By how much the makespan grows where the task is forced to the worker.

    Attributes:
        seconds: the best plan with the task there over the best plan without that; exact if both
            are proven optimal.
        least, most: seconds between which the true difference of the two optima lies, by the proven
            bounds of both.
    """

    seconds: float
    least: float
    most: float
    exact: bool


def forced(instance: Instance, task: int, worker: int) -> Instance | None:
    """The instance in which the task may run on that worker only; None if it cannot."""
    graph = instance.graph
    modes = slice(int(graph.mode_ptr[task]), int(graph.mode_ptr[task + 1]))
    seconds = instance.seconds.copy()
    seconds[modes] = np.inf
    seconds[modes, worker] = instance.seconds[modes, worker]
    if not np.isfinite(seconds[modes, worker]).any():
        return None
    try:
        return Instance(graph, instance.cluster, seconds)
    except InfeasibleInstance:
        return None


def cost_of(free: PlanResult, there: PlanResult, best: float) -> Cost:
    """The cost.

    Args:
        free: the plan in which the task may be anywhere. there: the one with the task forced.
        best: makespan of the best plan known of the free instance; at most that of both.
    """
    exact = free.status is PlanStatus.OPTIMAL and there.status is PlanStatus.OPTIMAL
    seconds = max(0.0, there.makespan - best)
    if exact:
        return Cost(seconds, seconds, seconds, True)
    least = max(0.0, there.lower_bound - best)
    return Cost(seconds, least, max(seconds, there.makespan - free.lower_bound), False)
