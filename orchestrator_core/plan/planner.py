"""Planner: the seam at which a way of planning is plugged into the portfolio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a planner found.

    Attributes:
        schedule: a schedule, or None if it found none in its budget.
        lower_bound: a proven lower bound on the makespan, in seconds (0 if it proves nothing).
        note: one short sentence for the result's list of attempts.
    """

    schedule: Schedule | None
    lower_bound: float = 0.0
    note: str = ""


class Planner(Protocol):
    """Makes a schedule for an instance.

    The law: a schedule that it returns passes `check_schedule`; the same instance, incumbent and
    budget with `iterations` give the same schedule; it keeps to `budget.seconds`; it may raise
    only `UnsupportedInstance`.
    """

    @property
    def name(self) -> str:
        """The name by which users pick it: ``plan(instance, planners=["heft"])``."""
        ...

    def unsupported(self, instance: Instance) -> str | None:
        """The constraint that it cannot take, in words, or None if it can take the instance."""
        ...

    def plan(
        self, instance: Instance, budget: Budget, incumbent: Schedule | None, lower_bound: float
    ) -> Proposal:
        """A schedule, if possible better than the incumbent; `lower_bound` is what is proven."""
        ...
