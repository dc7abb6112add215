"""CpSatPlanner: CP-SAT as one planner of the portfolio."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.cpsat.kinds import kinds_of
from orchestrator_core.plan.cpsat.size import Size, size_of
from orchestrator_core.plan.cpsat.wire import Answer, Limits
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.planner import Brief, Proposal
from orchestrator_core.plan.schedule import Schedule

LEAST_SECONDS = 0.05
"""With less, a solver would be stopped before it has begun."""

LARGEST = Size(literals=4000, intervals=3000, inputs=50_000)
"""Beyond, the model was measured to find and prove nothing within seconds; of more inputs it is not
even made within one."""

WORK_PER_ITERATION = 1e-3
"""Deterministic units of work for each iteration of a budget: a thousand are about a second."""

NOTES = {
    "OPTIMAL": "searched to the end",
    "INFEASIBLE": "found that no schedule keeps all constraints",
}


@dataclass(frozen=True, slots=True)
class CpSatPlanner:
    """Improves an incumbent and proves bounds by CP-SAT.

    It works in a thread of this process, which goes on between two of its steps and cannot be
    ended by force: where hard deadlines matter, run it in a process that can be killed.

    Attributes:
        largest: sizes that are tried at most.
        workers: search workers beside each other.
    """

    largest: Size = LARGEST
    workers: int = 3
    lane: ClassVar[Lane] = Lane.HELPER

    @property
    def name(self) -> str:
        return "cpsat"

    def unsupported(self, instance: Instance, objective: Objective = MAKESPAN) -> str | None:
        """A word on the size, if it is beyond `largest`, or on the objective, if it is not the
        makespan; it takes every constraint."""
        if objective != MAKESPAN:
            return "the objective: it minimises the makespan only"
        tasks = instance.graph.n_instances
        if tasks > self.largest.intervals:
            return f"its size: {tasks} task instances; it takes {self.largest.intervals} at most"
        size = size_of(kinds_of(instance).instance)
        return None if size.within(self.largest) else f"its size: {size.over(self.largest)}"

    def plan(self, brief: Brief) -> Iterator[Proposal]:
        """Better schedules and bounds as they are found, until all is proven."""
        limits = self._limits(brief.budget)
        from orchestrator_core.plan.cpsat.best import Best
        from orchestrator_core.plan.cpsat.solve import search

        if (done := _done(brief)) is not None:
            yield done
            return
        best = Best(brief.instance, brief.incumbent, brief.lower_bound)
        steps = search(best, limits)
        try:
            while True:
                try:
                    next(steps)
                except StopIteration as end:
                    if end.value == "INFEASIBLE" and best.schedule is None:
                        best.prove(math.inf)
                    yield _proposal(best.news(), _note(end.value, best.answer()))
                    return
                yield _proposal(best.news())
                best.renew(brief.incumbent, brief.lower_bound)
        finally:
            steps.close()

    def _limits(self, budget: Budget) -> Limits:
        work, seconds = None, budget.seconds
        if budget.iterations is not None:
            work = budget.iterations * WORK_PER_ITERATION
            # Only against a hang: a machine may be slow without changing the answer.
            seconds = max(seconds, 60.0 + 30.0 * work)
        return Limits(
            time.monotonic() + seconds, work, self.workers, seed=budget.seed, gap=budget.gap
        )


def _done(brief: Brief) -> Proposal | None:
    """What there is to say without a search, if there is."""
    if len(brief.instance.graph) == 0:
        return Proposal(Schedule([]), note="nothing to schedule")
    if brief.incumbent is not None and brief.incumbent.makespan <= brief.lower_bound:
        return Proposal(note="the incumbent is optimal already")
    if brief.budget.iterations is None and brief.budget.seconds < LEAST_SECONDS:
        return Proposal(note=f"{brief.budget.seconds:.2g} s are too few to start a solver")
    return None


def _proposal(news: Answer | None, note: str = "") -> Proposal:
    if news is None:
        return Proposal(note=note)
    return Proposal(news.schedule, news.lower_bound, note)


def _note(status: str, answer: Answer) -> str:
    note = NOTES.get(status, "stopped in the middle of its search")
    nothing = answer.schedule is None and status != "INFEASIBLE"
    return f"{note}; found nothing better" if nothing else note
