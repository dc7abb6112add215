"""ObjectiveSearch: a plain local search for objectives that the compiled searches do not take."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import UnsupportedInstance
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.engine.goal import goal_of, placement_value
from orchestrator_core.plan.engine.retime import placement
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.objectives.judge import Judge
from orchestrator_core.plan.objectives.neighbours import Neighbours, Placement
from orchestrator_core.plan.objectives.planners import finished
from orchestrator_core.plan.planner import Brief, Proposal
from orchestrator_core.plan.schedule import Schedule

ROUND_SECONDS = 0.02
"""Between two proposals."""

ROUND_STEPS = 20
"""The same where steps are counted."""


@dataclass(frozen=True, slots=True)
class ObjectiveSearch:
    """Betters an incumbent by late acceptance (E. K. Burke, Y. Bykov, 2017): a neighbour is taken
    if it is no worse than what was taken `memory` steps before.

    Attributes:
        largest: most task instances. patience: steps without a better schedule, then it gives up.
    """

    largest: int = 2_000
    memory: int = 50
    patience: int = 20_000
    name: str = "objective-search"
    lane: ClassVar[Lane] = Lane.SEARCH

    def unsupported(self, instance: Instance, objective: Objective = MAKESPAN) -> str | None:
        if not {"price", "busy-price", "memory"} & set(objective.criteria):
            return "the objective: it is for price and memory"
        if instance.graph.n_instances > self.largest:
            return f"it takes {self.largest} tasks; there are {instance.graph.n_instances}"
        try:
            expand(instance)
        except UnsupportedInstance as error:
            return str(error)
        return None

    def plan(self, brief: Brief) -> Iterator[Proposal]:
        if brief.incumbent is None:
            yield Proposal(note="there was no schedule to begin with")
            return
        judge, began = Judge(brief.instance, brief.objective), time.perf_counter()
        walk = _Walk(brief, self.memory)
        best = judge.value(brief.incumbent)
        while walk.steps - walk.found_at <= self.patience:
            found = None
            for schedule in walk.round():
                better = finished(judge, schedule)
                value = judge.value(better)
                if judge.better(value, best):
                    best, found = value, better
            yield Proposal(found, note=f"{walk.steps} schedules tried")
            if judge.optimal(best, brief.lower_bound) or _spent(brief, walk.steps, began):
                return


def _spent(brief: Brief, steps: int, began: float) -> bool:
    if brief.budget.iterations is not None:
        return steps >= brief.budget.iterations
    return time.perf_counter() - began >= brief.budget.seconds


class _Walk:
    """From placement to placement."""

    def __init__(self, brief: Brief, memory: int) -> None:
        assert brief.incumbent is not None
        self.brief, self.goal = brief, goal_of(brief.instance, brief.objective)
        self.neighbours = Neighbours(brief.instance, brief.budget.seed)
        self.current: Placement = self.neighbours.of_schedule(brief.incumbent)
        again = self.neighbours.schedule(self.current)
        self.value = math.inf if again is None else self._value(again)
        self.least = self.value
        self.past = [self.value] * memory
        self.steps = self.found_at = 0

    def round(self) -> Iterator[Schedule]:
        """Some steps; each schedule that is better than all before."""
        until = time.perf_counter() + ROUND_SECONDS
        for _ in range(ROUND_STEPS if self.brief.budget.iterations is not None else 10**9):
            found = self._step()
            if found is not None:
                yield found
            if self.brief.budget.iterations is None and time.perf_counter() >= until:
                return

    def _step(self) -> Schedule | None:
        near = self.neighbours.near(self.current)
        schedule, place = self.neighbours.schedule(near), self.steps % len(self.past)
        self.steps += 1
        value = math.inf if schedule is None else self._value(schedule)
        if value <= max(self.value, self.past[place]) and schedule is not None:
            self.current, self.value = near, value
        self.past[place] = self.value
        if schedule is not None and value < self.least * (1 - 1e-12):
            self.least, self.found_at = value, self.steps
            return schedule
        return None

    def _value(self, schedule: Schedule) -> float:
        problem = self.neighbours.problem
        row, worker, mode = placement(self.brief.instance, problem, schedule)
        start, end = schedule.start[row], schedule.end[row]
        return float(placement_value(self.goal, problem, start, end, worker, mode))
