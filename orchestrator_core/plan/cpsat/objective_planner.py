"""ObjectiveCpSat: CP-SAT for small instances under any objective but the makespan alone."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidSchedule
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.cpsat.planner import NOTES, WORK_PER_ITERATION
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.objectives.finished import finished
from orchestrator_core.plan.objectives.judge import Judge, Value
from orchestrator_core.plan.planner import Brief, Proposal
from orchestrator_core.plan.schedule import Schedule

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

    from orchestrator_core.plan.cpsat.objective import Minimised
    from orchestrator_core.plan.cpsat.variables import Variables

PAUSE = 0.03
"""Seconds after which a step ends that has brought nothing."""


@dataclass(frozen=True, slots=True)
class ObjectiveCpSat:
    """The whole model in exact ticks, once; it starts from nothing and proves to the end: then the
    criteria after the first are proven, too.

    Attributes:
        largest: choices of a mode and a worker, of all task instances, at most.
        workers: search workers beside each other.
    """

    largest: int = 400
    workers: int = 2
    name: str = "cpsat-objective"
    lane: ClassVar[Lane] = Lane.HELPER

    def unsupported(self, instance: Instance, objective: Objective = MAKESPAN) -> str | None:
        if objective == MAKESPAN:
            return "the objective: it is for any but the makespan alone"
        graph = instance.graph
        choices = int((instance.eligible.sum(axis=1) * graph.count[graph.mode_task]).sum())
        if choices > self.largest:
            return f"its size: {choices} choices of a mode and a worker; it takes {self.largest}"
        return None

    def plan(self, brief: Brief) -> Iterator[Proposal]:
        """Better schedules as they are found, and bounds on the first criterion."""
        from orchestrator_core.plan.cpsat.expand import expand
        from orchestrator_core.plan.cpsat.model import build_model
        from orchestrator_core.plan.cpsat.objective import minimise

        instance, criteria = brief.instance, brief.objective.criteria
        deadlines = _deadlines(instance, criteria)
        expanded = expand(instance, dates=[*deadlines, *_due_dates(instance, criteria)])
        settles = expanded.ticks.exact
        if not settles:
            expanded = expand(instance, dates=deadlines)
        if len(instance.graph) == 0 or not expanded.ticks.exact:
            yield Proposal(note="its times are no whole numbers of a tick")
            return
        v = build_model(expanded)
        solver = self._solver(brief.budget)
        yield from _search(brief, v, minimise(v, brief.objective), solver, settles)

    def _solver(self, budget: Budget) -> cp_model.CpSolver:
        from orchestrator_core.plan.cpsat.solver import new_solver

        solver = new_solver()
        solver.parameters.random_seed = budget.seed % 2**31
        if budget.iterations is None:
            solver.parameters.max_time_in_seconds = budget.seconds
            solver.parameters.num_workers = self.workers
        else:
            solver.parameters.max_deterministic_time = budget.iterations * WORK_PER_ITERATION
            solver.parameters.num_workers = 1
        return solver


def _deadlines(instance: Instance, criteria: tuple[str, ...]) -> list[float]:
    """Seconds at which a lease may begin, beside those at which something is ready: as late as a
    deadline allows."""
    return instance.graph.deadline.tolist() if "price" in criteria else []


def _due_dates(instance: Instance, criteria: tuple[str, ...]) -> list[float]:
    """The same for due dates, where tardiness counts more than the price."""
    if "price" not in criteria or "tardiness" not in criteria[: criteria.index("price")]:
        return []
    graph = instance.graph
    dates: list[float] = graph.due[graph.weight > 0].tolist()
    return dates


def _search(
    brief: Brief, v: Variables, minimised: Minimised, solver: cp_model.CpSolver, settles: bool
) -> Iterator[Proposal]:
    """Args: settles: is the optimum of the model one of the instance in all criteria? If not, it
    is in the first."""
    from orchestrator_core.plan.cpsat.rough import rough_schedule
    from orchestrator_core.plan.cpsat.thread import BetterBound, End, SearchThread, Solution

    worth: list[Value] = []

    def read(of: Callable[[Any], int]) -> Schedule:
        worth[:] = [minimised.value(of)]
        return rough_schedule(v, of)

    thread, until = SearchThread(v.cp, solver, read), _until(brief.budget)
    best = _Best(Judge(brief.instance, brief.objective), brief.incumbent)
    try:
        for event in thread.events(PAUSE if brief.budget.iterations is None else None):
            if isinstance(event, Solution):
                yield Proposal(best.better(event.rough))
            elif isinstance(event, BetterBound) and math.isfinite(event.ticks):
                yield Proposal(lower_bound=minimised.lower_bound(event.ticks), method="CP-SAT")
            elif isinstance(event, End):
                yield _ended(brief, event.status, worth if settles else [])
                return
            elif time.perf_counter() > until:
                return
            else:
                yield Proposal()
    finally:
        thread.stop()


def _ended(brief: Brief, status: str, worth: list[Value]) -> Proposal:
    """What the end of the search proves; `worth`: what the last solution is worth in the model,
    where amounts without a common unit are rounded down."""
    if status == "INFEASIBLE" and brief.incumbent is None:
        return Proposal(lower_bound=math.inf, method="CP-SAT", note=NOTES[status])
    note = NOTES.get(status, "stopped in the middle of its search")
    if status == "OPTIMAL" and worth and len(worth[0]) == len(brief.objective.criteria):
        return Proposal(note=note, least=worth[0])
    return Proposal(note=note)


def _until(budget: Budget) -> float:
    return math.inf if budget.iterations is not None else time.perf_counter() + budget.seconds


class _Best:
    """The best value so far."""

    def __init__(self, judge: Judge, incumbent: Schedule | None) -> None:
        self._judge = judge
        self._value: Value | None = None if incumbent is None else judge.value(incumbent)

    def better(self, rough: Schedule) -> Schedule | None:
        """The schedule if it is valid and better than all before."""
        schedule = finished(self._judge, _without_idle_segments(rough), self._value)
        value = self._judge.value(schedule)
        if not self._judge.better(value, self._value):
            return None
        try:
            check_schedule(self._judge.instance, schedule)
        except InvalidSchedule:
            return None
        self._value = value
        return schedule


def _without_idle_segments(rough: Schedule) -> Schedule:
    """Pieces that follow each other at once as one segment; what takes no time is done at its end,
    since nothing can be paused in it."""
    from orchestrator_core.plan.cpsat.events import joined

    rows = []
    for row in rough.assignments:
        segments = joined(list(row.segments))
        if segments and all(start == end for start, end in segments):
            segments = []
            row = replace(row, start=row.end)
        paused = tuple(segments) if len(segments) > 1 else ()
        rows.append(replace(row, segments=paused))
    return Schedule(rows, rough.transfers)
