"""ObjectiveSearch: a plain local search for objectives that the compiled searches do not take."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import UnsupportedInstance
from orchestrator_core.plan.budget import seconds_left
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.engine.goal import goal_of, placement_value
from orchestrator_core.plan.engine.retime import placement
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.objectives.finished import finished
from orchestrator_core.plan.objectives.judge import Judge
from orchestrator_core.plan.objectives.neighbours import Neighbours
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
        walk, best = _Walk(brief, self.memory), judge.best(None, brief.incumbent)
        while walk.steps - walk.found_at <= self.patience:
            walk.follow(brief.incumbent)
            best, found = judge.best(best, brief.incumbent), None
            for schedule in deque(walk.round(), maxlen=1):
                better = finished(judge, schedule, best, seconds_left(brief.budget, began))
                if judge.better(value := judge.value(better), best):
                    best, found = value, better
            yield Proposal(found, note=f"{walk.steps} schedules tried")
            if best is not None and judge.optimal(best, brief.lower_bound):
                return
            if _spent(brief, walk.steps, began):
                return


def _spent(brief: Brief, steps: int, began: float) -> bool:
    if brief.budget.iterations is not None:
        return steps >= brief.budget.iterations
    return seconds_left(brief.budget, began) <= 0


class _Walk:
    """From placement to placement."""

    def __init__(self, brief: Brief, memory: int) -> None:
        assert brief.incumbent is not None
        self.brief, self.goal = brief, goal_of(brief.instance, brief.objective)
        self.neighbours = Neighbours(brief.instance, brief.budget.seed)
        self.past = [math.inf] * memory
        self.least, self.steps, self.found_at = math.inf, 0, 0
        self.followed: Schedule | None = None
        self.follow(brief.incumbent)

    def follow(self, incumbent: Schedule | None) -> None:
        """Go on from there, if somebody else has found it and it is better than all here."""
        if incumbent is None or incumbent is self.followed:
            return
        self.followed = incumbent
        current = self.neighbours.of_schedule(incumbent)
        again = self.neighbours.schedule(current)
        value = math.inf if again is None else self._value(again)
        if self.steps == 0 or value < self.least * (1 - 1e-12):
            self.current, self.value, self.least = current, value, value
            self.past, self.found_at = [value] * len(self.past), self.steps

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
