"""LocalSearch: annealing over order and placement, where only threads are scarce (stage 3).

It searches from the incumbent, from the seeds of the brief and from a few list orders: first a race
between these starts, then ever longer from the best, in cycles that are cooled down and heated up
again. The kernel (`lane_anneal.py`) makes about a hundred thousand moves a second at 100 tasks.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.lists.effort import Effort
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.planner import Brief, Proposal
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.plan.search.lane_engine import LaneEngine
from orchestrator_core.plan.search.lane_race import Race
from orchestrator_core.plan.search.lanes_only import beyond_lanes

ROUND_SECONDS = 0.008
"""How long a round between two proposals takes, about."""

ROUND_TASKS = 20_000
"""Placed tasks in a round where steps are counted, so that rounds do not depend on the clock."""

TASKS_PER_SECOND = 5_000_000
"""Tasks that are placed in a second, about: no round is longer than what is left."""

TO_BEGIN, TO_BEGIN_PER_CHOICE = 4e-4, 4e-7
"""Seconds until the first move: in any case, and for each task and worker."""

TAKEN = ("makespan", "tardiness")
"""Criteria that grow with every end, so that a trial can be left before it is decoded whole."""


@dataclass(frozen=True, slots=True)
class LocalSearch:
    """Betters an incumbent, or finds a first schedule, until the budget is spent.

    Attributes:
        largest: most task instances; beyond, a round is too long to keep a budget.
        patience: moves without a better schedule after which it gives up, for each task.
    """

    largest: int = 50_000
    patience: int = 20_000
    name: str = "local-search"
    lane: ClassVar[Lane] = Lane.SEARCH

    def unsupported(self, instance: Instance, objective: Objective = MAKESPAN) -> str | None:
        if instance.graph.n_instances > self.largest:
            return f"it takes {self.largest} tasks; there are {instance.graph.n_instances}"
        for criterion in objective.criteria:
            if criterion not in TAKEN:
                return f"it minimises {' and '.join(TAKEN)}, not {criterion}"
        return beyond_lanes(instance)

    def seconds(self, effort: Effort) -> float:
        """About how long it takes until its first move."""
        return TO_BEGIN + TO_BEGIN_PER_CHOICE * effort.choices

    def plan(self, brief: Brief) -> Iterator[Proposal]:
        if len(brief.instance.graph) == 0:
            yield Proposal(note="there is nothing to schedule")
            return
        clock = _Clock(brief.budget)
        engine = LaneEngine(brief.instance, brief.objective, brief.budget.seed)
        race, news = Race(engine), _News(engine)
        found_at = 0
        while True:
            for schedule in news.of(brief):
                race.enter(schedule)
            before = engine.value
            race.go(clock, brief.lower_bound * (1 + 1e-12))
            found = None
            if engine.value < before:
                found_at = engine.steps
                found = engine.schedule() if engine.value < news.known * (1 - 1e-12) else None
                news.known = min(news.known, engine.value)
            yield Proposal(found, note=f"{engine.steps} schedules tried")
            if min(engine.value, news.known) <= brief.lower_bound * (1 + 1e-12):
                return
            if clock.spent(engine.steps) >= 1.0:
                return
            if engine.steps - found_at > self.patience * engine.n_tasks:
                return


class _News:
    """Schedules of the brief that the engine has not seen, and the best value that is known."""

    def __init__(self, engine: LaneEngine) -> None:
        self._engine, self.known = engine, float("inf")
        self._kept: list[Schedule] = []

    def of(self, brief: Brief) -> Iterator[Schedule]:
        for schedule in (brief.incumbent, *brief.seeds):
            if schedule is None or any(schedule is kept for kept in self._kept):
                continue
            self._kept.append(schedule)
            if schedule is brief.incumbent:
                value = self._engine.value_of(schedule)
                self.known = min(self.known, value)
                if value >= self._engine.value:
                    continue  # what it has itself, or once had
            yield schedule


class _Clock:
    """How much of the budget is spent, and how much one round may do; no clock by iterations."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._began = time.perf_counter()
        self._work = float(ROUND_TASKS)

    def spent(self, steps: int) -> float:
        """The part of the budget that is spent, 1 or more when it is over."""
        if self.budget.iterations is not None:
            return steps / self.budget.iterations if self.budget.iterations > 0 else 1.0
        if self.budget.seconds <= 0:
            return 1.0
        return (time.perf_counter() - self._began) / self.budget.seconds

    def run(self, engine: LaneEngine, heat: float, target: float, arcs: bool) -> None:
        """One round of the engine."""
        if self.budget.iterations is not None:
            engine.go(
                max(0, self.budget.iterations - engine.steps), ROUND_TASKS, heat, target, arcs
            )
            return
        began = time.perf_counter()
        left = max(0.0, self._began + self.budget.seconds - began)
        work = min(self._work, TASKS_PER_SECOND * left)
        engine.go(1 << 40, int(work), heat, target, arcs)
        seconds = max(time.perf_counter() - began, 1e-6)
        self._work = max(100.0, self._work * min(2.0, max(0.5, ROUND_SECONDS / seconds)))
