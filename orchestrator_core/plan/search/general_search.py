"""GeneralSearch: local search for every instance in which more than threads is scarce (stage 3).

Three engines do the work. Where nothing is encoded and outputs are never in the way of memory, the
instance is a multi-mode project: a genetic algorithm with forward-backward improvement searches it
(`general_project.py`), or a tabu search if it is a job shop (`general_shop.py`). Everything else
goes through the general kernel (`general_profiles.py`). They need no schedule to begin with, pass
through schedules that miss deadlines or exceed the stock, and propose only valid ones.
Tasks with checkpoints are run in one piece.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import UnsupportedInstance
from orchestrator_core.plan.engine.decoder import only_threads
from orchestrator_core.plan.engine.expand import Problem, expand
from orchestrator_core.plan.engine.goal import Goal, goal_of, placement_value
from orchestrator_core.plan.engine.project import is_project, project_of
from orchestrator_core.plan.engine.retime import placement
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.planner import Brief, Proposal
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.plan.search.general_profiles import ProfileEngine
from orchestrator_core.plan.search.general_project import ProjectEngine
from orchestrator_core.plan.search.general_shop import ShopEngine, is_shop

ROUND_SECONDS = 0.008
"""How long a round between two proposals takes, about."""

SECONDS_PER_TASK = 4e-5
"""Of the first schedule, about, where transfers, threads and memory are all scarce."""

ROUND_TASKS = 20_000
"""Placed tasks in a round where steps are counted, so that rounds do not depend on the clock."""

TAKEN = ("makespan", "tardiness", "busy-price")
"""Criteria that do not ask for outputs to be sent later than they could be."""


class Engine(Protocol):
    """One way of searching an instance.

    Attributes:
        value: of the best valid schedule so far, infinity for none. steps: schedules tried.
    """

    value: float
    steps: int

    def take(self, schedule: Schedule) -> None:
        """Search around this schedule too."""
        ...

    def go(self, steps: int, target: float) -> None:
        """Try so many schedules, or until one is worth at most `target`."""
        ...

    def schedule(self) -> Schedule:
        """The schedule of `value`."""
        ...


@dataclass(frozen=True, slots=True)
class GeneralSearch:
    """Betters an incumbent, or finds a first schedule, until the budget is spent.

    Attributes:
        largest: most task instances; beyond, a round is too long to keep a budget.
        patience: schedules without a better one after which it gives up, as a multiple of tasks.
    """

    largest: int = 5_000
    patience: int = 20_000
    name: str = "local-search-general"
    lane: ClassVar[Lane] = Lane.SEARCH

    def unsupported(self, instance: Instance, objective: Objective = MAKESPAN) -> str | None:
        if instance.graph.n_instances > self.largest:
            return f"it takes {self.largest} tasks; there are {instance.graph.n_instances}"
        for criterion in objective.criteria:
            if criterion not in TAKEN:
                return f"it minimises {', '.join(TAKEN)}, not {criterion}"
        try:
            problem = expand(instance)
        except UnsupportedInstance as error:
            return str(error)
        if only_threads(problem) and not _is_special(instance, problem):
            return "only threads are scarce, which the other local search takes"
        return None

    def plan(self, brief: Brief) -> Iterator[Proposal]:
        began = time.perf_counter()
        if _hurries(brief):
            yield Proposal(note=f"{brief.budget.seconds:.2g} s are too few for a schedule")
            return
        engine, goal = self._engine(brief), goal_of(brief.instance, brief.objective)
        rounds, known = _Rounds(brief, engine.steps_per_task), _Known(brief, goal)
        while True:
            for schedule in known.news():
                engine.take(schedule)
            before = engine.value
            rounds.go(engine, known.found_at)
            found = None
            if engine.value < before and engine.value < known.value * (1 - 1e-12):
                found = engine.schedule()
                known.value, known.found_at = engine.value, engine.steps
            yield Proposal(found, note=f"{engine.steps} schedules tried")
            if known.value <= brief.lower_bound * (1 + 1e-12):
                return
            if engine.steps - known.found_at > self.patience * len(goal.due):
                return
            if brief.budget.iterations is not None:
                if engine.steps >= brief.budget.iterations:
                    return
            elif time.perf_counter() - began + rounds.step_seconds >= brief.budget.seconds:
                return

    def _engine(self, brief: Brief) -> ProjectEngine | ProfileEngine:
        instance, problem = brief.instance, expand(brief.instance)
        kind: type[ProjectEngine | ProfileEngine] = ProfileEngine
        if is_project(problem):
            shop = is_shop(project_of(instance, problem), brief.objective)
            kind = ShopEngine if shop else ProjectEngine
        return kind(instance, brief.objective, brief.budget)


class _Known:
    """The best value that is known, and schedules that the engine has not seen."""

    def __init__(self, brief: Brief, goal: Goal) -> None:
        self.brief, self.goal = brief, goal
        self.value, self.found_at = np.inf, 0
        self._seen: set[int] = set()
        self._kept: list[Schedule] = []

    def news(self) -> Iterator[Schedule]:
        incumbent = self.brief.incumbent
        for schedule in (incumbent, *self.brief.seeds):
            if schedule is None or id(schedule) in self._seen:
                continue
            self._seen.add(id(schedule))
            self._kept.append(schedule)  # so that its id is not given to another one
            if schedule is incumbent:
                self.value = min(self.value, self._value(schedule))
            yield schedule

    def _value(self, schedule: Schedule) -> float:
        instance = self.brief.instance
        problem = expand(instance)
        row, worker, mode = placement(instance, problem, schedule)
        start, end = schedule.start[row], schedule.end[row]
        return float(placement_value(self.goal, problem, start, end, worker, mode))


class _Rounds:
    """Rounds of a few milliseconds; of so many steps where steps are counted.

    Attributes:
        step_seconds: that a step of the last round took.
    """

    def __init__(self, brief: Brief, placed: int) -> None:
        self.brief, self.step_seconds = brief, 0.0
        n = max(1, brief.instance.graph.n_instances)
        self._steps = max(1, ROUND_TASKS // (placed * n))
        if brief.budget.iterations is None:
            self._steps = 1

    def go(self, engine: Engine, found_at: int) -> None:
        target = self.brief.lower_bound * (1 + 1e-12)
        if self.brief.budget.iterations is not None:
            left = self.brief.budget.iterations - engine.steps
            engine.go(max(0, min(self._steps, left)), target)
            return
        began = time.perf_counter()
        engine.go(self._steps, target)
        spent = time.perf_counter() - began
        self.step_seconds = spent / self._steps
        factor = ROUND_SECONDS / max(spent, 1e-6)
        self._steps = max(1, int(self._steps * min(4.0, max(0.25, factor))))


def _hurries(brief: Brief) -> bool:
    """Would the first step alone be longer than the budget? Then there must be a schedule."""
    if brief.budget.iterations is not None or brief.incumbent is None:
        return False
    return brief.budget.seconds < SECONDS_PER_TASK * brief.instance.graph.n_instances


def _is_special(instance: Instance, problem: Problem) -> bool:
    """Are there deadlines or stock, or is it a shop: one place for each task, and no transfers?"""
    graph = instance.graph
    if np.isfinite(graph.deadline).any() or any(d.consumes for d in graph.demands):
        return True
    free = not problem.latency.any() and not problem.per_byte.any()
    return free and int(np.isfinite(problem.seconds).sum()) == len(problem.seconds)
