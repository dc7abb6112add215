"""Planners for objectives beside the makespan; each is for some criteria only."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import UnsupportedInstance
from orchestrator_core.plan.budget import seconds_left
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.engine.place import place
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.objectives.due_orders import due_orders
from orchestrator_core.plan.objectives.finished import finished
from orchestrator_core.plan.objectives.judge import Judge, Value
from orchestrator_core.plan.objectives.memory_limits import memory_limits
from orchestrator_core.plan.objectives.worker_subsets import worker_subsets
from orchestrator_core.plan.planner import Brief, Proposal
from orchestrator_core.plan.schedule import Schedule


@dataclass(frozen=True, slots=True)
class ObjectivePlanner:
    """Proposes each schedule of a heuristic that is better than those before it.

    Attributes:
        name: by which users pick it.
        criteria: it works where one of these counts.
        schedules: the heuristic.
        work: what it costs beside HEFT, as a factor; to estimate whether it fits in a budget.
    """

    name: str
    criteria: tuple[str, ...]
    schedules: Callable[[Instance], Iterator[Schedule]]
    work: float = 10.0
    lane: ClassVar[Lane] = Lane.SEARCH

    def unsupported(self, instance: Instance, objective: Objective = MAKESPAN) -> str | None:
        if not set(self.criteria) & set(objective.criteria):
            return f"the objective: it is for {' and '.join(self.criteria)}"
        if "tardiness" in self.criteria and not np.isfinite(instance.graph.due).any():
            return "there is no due date to order by"
        try:
            expand(instance)
        except UnsupportedInstance as error:
            return str(error)
        return None

    def plan(self, brief: Brief) -> Iterator[Proposal]:
        judge, began = Judge(brief.instance, brief.objective), time.perf_counter()
        best: Value | None = None
        for schedule in self.schedules(brief.instance):
            best = judge.best(best, brief.incumbent)
            better = finished(judge, schedule, best, seconds_left(brief.budget, began))
            if judge.better(value := judge.value(better), best):
                best = value
                yield Proposal(better)
            else:
                yield Proposal(seed=better)


def _placed(
    choices: Callable[[Instance], Iterator[Choice]],
) -> Callable[[Instance], Iterator[Schedule]]:
    def schedules(instance: Instance) -> Iterator[Schedule]:
        for choice in choices(instance):
            found = place(instance, choice)
            if isinstance(found, Schedule):
                yield found

    return schedules


OBJECTIVE_PLANNERS = (
    ObjectivePlanner("tardiness-lists", ("tardiness",), _placed(due_orders)),
    ObjectivePlanner("price-subsets", ("price", "busy-price"), _placed(worker_subsets)),
    ObjectivePlanner("memory-limits", ("memory",), memory_limits, work=50.0),
)
"""To be asked after the list planners, and before a search."""
