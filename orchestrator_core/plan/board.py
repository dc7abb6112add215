"""Board: the best schedule and the best bound so far, and who said what (stage 3).

The one door through which a schedule becomes the incumbent: every planner's proposal, whatever
process it comes from, is judged here, and every planner is briefed from here.
"""

from __future__ import annotations

import dataclasses
import math
import time
from fractions import Fraction
from functools import cached_property

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import (
    InvalidSchedule,
    PlanningFailed,
    ProvenInfeasible,
    UnsupportedInstance,
)
from orchestrator_core.plan.bounds import Bound
from orchestrator_core.plan.bounds.grid import rounded_up, unit_of
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.objectives.finished import finished
from orchestrator_core.plan.objectives.judge import Judge, Value
from orchestrator_core.plan.planner import Brief, Proposal
from orchestrator_core.plan.reason import reason_of, title_of
from orchestrator_core.plan.result import OPTIMALITY_TOLERANCE, Attempt, PlanResult
from orchestrator_core.plan.schedule import Schedule

ROUNDING = 1e-6
"""A bound may exceed a valid schedule by this part of it before it is called wrong."""

MOST_SEEDS = 8
"""Schedules that are kept to search from, the newest."""

SPOKESMEN = 3
"""Planners that are named where all of them say the same."""


class Board:
    """What is known about one instance, while planners are asked.

    Attributes:
        incumbent: the best valid schedule, or None. value: what it is worth. planner: whose it is.
        bound: the best proven bound on the first criterion of the objective; infinity where it is
            proven that there is no schedule. bound_after: seconds until it was proven.
        least: a value that no schedule beats, if that is known.
        seeds: other schedules to search from.
        attempts: what each planner did, by name, in the order in which they spoke first.
        unsupported: names of those that could not take the instance.
    """

    def __init__(self, instance: Instance, budget: Budget, objective: Objective) -> None:
        self.instance, self.budget, self.objective = instance, budget, objective
        self.judge = Judge(instance, objective)
        self.incumbent: Schedule | None = None
        self.value: Value | None = None
        self.planner = ""
        self.bound = Bound(0.0, "")
        self.began, self.bound_after = time.monotonic(), 0.0
        self.least: Value | None = None
        self.seeds: tuple[Schedule, ...] = ()
        self.attempts: dict[str, Attempt] = {}
        self.unsupported: list[str] = []

    def brief(self, seconds: float) -> Brief:
        """What a planner is told that has so many seconds."""
        budget = dataclasses.replace(self.budget, seconds=max(0.0, seconds))
        found = (self.incumbent, self.bound.seconds, self.seeds)
        return Brief(self.instance, budget, self.objective, *found)

    def renew(self, brief: Brief) -> None:
        """Tell a planner at work what is new."""
        brief.incumbent, brief.seeds = self.incumbent, self.seeds
        brief.lower_bound = self.bound.seconds

    def consider(self, name: str, proposal: Proposal, seconds: float) -> None:
        """Take over what is better: the schedule if it is valid, the bound if it can be true."""
        note, makespan = proposal.note, None
        if proposal.schedule is not None:
            makespan, trouble = self._schedule(name, proposal.schedule)
            note = trouble or note
        if proposal.lower_bound > self.bound.seconds:
            method = proposal.method or title_of(name)
            bound = Bound(proposal.lower_bound, method, proposal.certificate)
            note = self._bound(bound) or note
        self.least = proposal.least or self.least
        if proposal.seed is not None:
            self.seeds = (*self.seeds, proposal.seed)[-MOST_SEEDS:]
        self.note(name, note, seconds, makespan)

    def prove(self, bound: Bound) -> None:
        """Take over a bound from before any planner was asked."""
        if bound.seconds > self.bound.seconds or not self.bound.method:
            self._bound(bound)

    def note(
        self, name: str, text: str, seconds: float = 0.0, makespan: float | None = None
    ) -> None:
        """Keep what a planner did: its best makespan, its last word, all its seconds."""
        before = self.attempts.get(name, Attempt(name, None, 0.0))
        known = [each for each in (before.makespan, makespan) if each is not None]
        self.attempts[name] = Attempt(
            name, min(known, default=None), max(seconds, before.seconds), text or before.note
        )

    def refuse(self, name: str, why: str) -> None:
        """A planner cannot take the instance."""
        self.unsupported.append(name)
        self.note(name, f"cannot take it: {why}")

    @property
    def good_enough(self) -> bool:
        """Is the gap what the budget asks for, or what counts as none? Or is there no schedule?"""
        if self.value is None:
            return self.infeasible
        gap = max(self.budget.gap, OPTIMALITY_TOLERANCE)
        enough = self.judge.optimal(self.value, self.bound.seconds, gap)
        return enough or self.settled

    @property
    def settled(self) -> bool:
        """Is it proven that no schedule is better in any criterion?"""
        if self.value is None or self.least is None:
            return False
        return self.judge.reaches(self.value, self.least)

    @property
    def infeasible(self) -> bool:
        """Has somebody proven that there is no schedule?"""
        return self.bound.seconds == math.inf

    def result(self, seconds: float) -> PlanResult:
        """The best of all.

        Raises:
            UnsupportedInstance: if no planner could take the instance.
            ProvenInfeasible: if one has proven that there is no schedule.
            PlanningFailed: if no planner found a schedule.
        """
        if self.incumbent is None or self.value is None:
            raise self._failure()
        bare = PlanResult(
            schedule=self.incumbent,
            lower_bound=self.bound.seconds,
            bound_method=self.bound.method,
            bound_seconds=self.bound_after,
            certificate=self.bound.certificate,
            planner=self.planner,
            reason="",
            seconds=seconds,
            attempts=tuple(self.attempts.values()),
            objective=str(self.objective),
            values=self.value,
            settled=self.settled,
        )
        return dataclasses.replace(bare, reason=reason_of(bare))

    def _schedule(self, name: str, schedule: Schedule) -> tuple[float | None, str]:
        """(its makespan if it is valid, else what is wrong with it)."""
        try:
            schedule = finished(self.judge, schedule, self.value, self._left)
            value = self.judge.value(schedule)
            if not (self.judge.better(value, self.value) or any(map(math.isnan, value))):
                return schedule.makespan, ""
            check_schedule(self.instance, schedule)
        except InvalidSchedule as error:
            return None, f"gave an invalid schedule: {error}"
        self.incumbent, self.value, self.planner = schedule, value, name
        if self.infeasible:
            self.bound = Bound(0.0, "")  # whoever said that there is no schedule was wrong
        return schedule.makespan, ""

    @property
    def _left(self) -> float:
        """Seconds of the budget; infinity where steps are counted."""
        if self.budget.iterations is not None:
            return math.inf
        return self.budget.seconds - (time.monotonic() - self.began)

    def _bound(self, bound: Bound) -> str:
        """What is wrong with it, or nothing."""
        best = self.value[0] if self.value is not None else float("inf")
        bound = dataclasses.replace(bound, seconds=rounded_up(bound.seconds, self._unit))
        if bound.seconds > best * (1 + ROUNDING):
            return f"its bound of {bound.seconds:g} exceeds a schedule of {best:g}"
        if self._last * (1 + ROUNDING) < bound.seconds < math.inf:
            bound = Bound(math.inf, f"{bound.method}: {self._too_late(bound.seconds)}")
        self.bound = dataclasses.replace(bound, seconds=min(bound.seconds, best))
        self.bound_after = time.monotonic() - self.began
        return ""

    @cached_property
    def _unit(self) -> Fraction | None:
        """Seconds of which the optimum is a multiple; None if that is not known."""
        return unit_of(self.instance) if self.objective.primary == "makespan" else None

    @cached_property
    def _last(self) -> float:
        """When all has to have ended, by the deadlines; infinity where some of it may end later, or
        bounds are not on that end."""
        graph = self.instance.graph
        # Not each of a task's instances has a consumer, though the task has.
        ends = (np.diff(graph.successor_ptr) == 0) | (graph.count > 1)
        is_end = self.objective.primary == "makespan"
        return float(graph.deadline[ends].max()) if is_end and ends.any() else math.inf

    def _too_late(self, seconds: float) -> str:
        return f"it all takes {seconds:.6g} s at least, and has to end by {self._last:.6g} s"

    def _failure(self) -> UnsupportedInstance | PlanningFailed:
        if self.infeasible:
            return ProvenInfeasible(
                "no schedule keeps all deadlines and constraints, as proven by "
                f"{self.bound.method}. Give more memory or workers, or relax deadlines; "
                "feasibility(instance) names a smallest set of deadlines that conflict"
            )
        told = self._told()
        if self.attempts and len(self.unsupported) == len(self.attempts):
            return UnsupportedInstance(f"no planner takes this instance: {told}")
        return PlanningFailed(
            f"no planner found a schedule: {told}. Give more seconds, memory or workers, or relax "
            "deadlines"
        )

    def _told(self) -> str:
        """What each planner met; what several say alike is said once."""
        who: dict[str, list[str]] = {}
        for attempt in self.attempts.values():
            who.setdefault(attempt.note, []).append(attempt.planner)
        return "; ".join(f"{_some(names)}: {note}" for note, names in who.items())


def _some(names: list[str]) -> str:
    more = f" and {len(names) - SPOKESMEN} more" if len(names) > SPOKESMEN else ""
    return ", ".join(names[:SPOKESMEN]) + more
