"""CpSatPlanner: CP-SAT as one planner of the portfolio."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidSchedule
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.cpsat.process import Outcome, ask
from orchestrator_core.plan.cpsat.wire import Limits, encode_question
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.planner import Brief, Proposal
from orchestrator_core.plan.schedule import Schedule

LEAST_SECONDS = 0.5
"""With less, the solver's process would be ended before it has started."""

WORK_PER_ITERATION = 1e-3
"""Deterministic units of work for each iteration of a budget: a thousand are about a second."""

_TO_READ_BACK = 0.03
"""Seconds kept for reading the answer, out of the budget."""


@dataclass(frozen=True, slots=True)
class CpSatPlanner:
    """Improves an incumbent and proves bounds by CP-SAT, in a process that ends at the deadline.

    Attributes:
        largest: instances of tasks x (modes on workers) that are tried at most; beyond about 400
            the model was measured to find nothing within seconds.
        workers: search workers beside each other.
    """

    largest: int = 400
    workers: int = 2

    @property
    def name(self) -> str:
        return "cpsat"

    def unsupported(self, instance: Instance, objective: Objective = MAKESPAN) -> str | None:
        """A word on the size, if it is beyond `largest`; it takes every constraint."""
        graph = instance.graph
        choices = int((instance.eligible.sum(axis=1) * graph.count[graph.mode_task]).sum())
        if choices <= self.largest:
            return None
        return (
            f"its size: {graph.n_instances} task instances have {choices} choices of a mode and a "
            f"worker; CP-SAT is tried up to {self.largest}"
        )

    def plan(self, brief: Brief) -> Iterator[Proposal]:
        """The best schedule and bound that CP-SAT finds within the budget."""
        yield self._ask(brief)

    def _ask(self, brief: Brief) -> Proposal:
        instance, incumbent, lower_bound = brief.instance, brief.incumbent, brief.lower_bound
        if len(instance.graph) == 0:
            return Proposal(Schedule([]), note="nothing to schedule")
        if incumbent is not None and incumbent.makespan <= lower_bound:
            return Proposal(note="the incumbent is optimal already")
        limits, seconds = self._limits(brief.budget)
        if seconds < LEAST_SECONDS:
            return Proposal(note=f"{seconds:.2g} s are too few to start a solver")
        outcome = ask(encode_question(instance, incumbent, lower_bound, limits), seconds)
        return _proposal(instance, outcome, deterministic=limits.work is not None)

    def _limits(self, budget: Budget) -> tuple[Limits, float]:
        """The limits of the search, and the seconds after which its process is ended."""
        work = None
        seconds = max(0.0, budget.seconds - _TO_READ_BACK)
        if budget.iterations is not None:
            work = budget.iterations * WORK_PER_ITERATION
            # Only against a hang: a machine may be slow without changing the answer.
            seconds = max(seconds, 60.0 + 30.0 * work)
        until = time.time() + seconds - _TO_READ_BACK
        limits = Limits(until, work, self.workers, seed=budget.seed, gap=budget.gap)
        return limits, seconds


def _proposal(instance: Instance, outcome: Outcome, deterministic: bool) -> Proposal:
    answer = outcome.answer
    if answer is None or (deterministic and not outcome.complete):
        return Proposal(None, 0.0, outcome.trouble)
    if answer.schedule is not None:
        try:
            check_schedule(instance, answer.schedule)
        except InvalidSchedule as error:
            return Proposal(None, 0.0, f"the solver's process gave an invalid schedule: {error}")
    notes = {
        "OPTIMAL": "searched to the end",
        "INFEASIBLE": "found that no schedule keeps all constraints",
    }
    note = notes.get(answer.status, "stopped in the middle of its search")
    if answer.schedule is None and answer.status != "INFEASIBLE":
        note += "; found nothing better"
    return Proposal(
        answer.schedule, answer.lower_bound, "; ".join(filter(None, (note, outcome.trouble)))
    )
