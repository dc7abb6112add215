"""Planner: the seam at which a way of planning is plugged into the portfolio."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.schedule import Schedule

if TYPE_CHECKING:
    from orchestrator_core.plan.bounds.certificate import Certificate


@dataclass(slots=True)
class Brief:
    """What a planner is told. Whoever asks it may renew the last three between two proposals.

    Attributes:
        instance: to be planned.
        budget: for this planner alone; `seconds` count from its first step.
        objective: what is minimised.
        incumbent: the best valid schedule so far, or None.
        lower_bound: no schedule's value is smaller; in the unit of the objective.
        seeds: schedules that are worth searching from, though none of them beats the incumbent.
    """

    instance: Instance
    budget: Budget = field(default_factory=Budget)
    objective: Objective = MAKESPAN
    incumbent: Schedule | None = None
    lower_bound: float = 0.0
    seeds: tuple[Schedule, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a planner has found since its last proposal.

    Attributes:
        schedule: a schedule that is better than the incumbent, or None.
        lower_bound: a proven lower bound, in the unit of the objective (0 if it proves nothing;
            infinity if it is proven that there is no schedule).
        note: one short sentence for the result's list of attempts; the last one counts.
        method: how the bound was proven; the planner's name if empty.
        seed: a schedule that is worth searching from although it may not beat the incumbent.
        certificate: of the bound, where the planner can say why it holds.
        least: a value that no schedule beats, if each criterion counts before those after it.
    """

    schedule: Schedule | None = None
    lower_bound: float = 0.0
    note: str = ""
    method: str = ""
    seed: Schedule | None = None
    certificate: Certificate | None = None
    least: tuple[float, ...] | None = None


class Planner(Protocol):
    """Makes schedules or bounds for an instance, step by step.

    The law: a schedule that it proposes passes `check_schedule`; the same brief with a budget of
    `iterations` gives the same proposals; it ends by itself within `budget.seconds`; it may raise
    only `UnsupportedInstance`. Between two proposals it is cheap to leave it for good, so it
    proposes often, if need be with nothing in it: every 10 to 50 ms where it can.
    """

    @property
    def lane(self) -> Lane:
        """Where it works."""
        ...

    @property
    def name(self) -> str:
        """The name by which users pick it: ``plan(instance, planners=["heft"])``."""
        ...

    def unsupported(self, instance: Instance, objective: Objective = MAKESPAN) -> str | None:
        """The constraint that it cannot take, in words, or None if it can take the instance."""
        ...

    def plan(self, brief: Brief) -> Iterator[Proposal]:
        """Proposals, each of them news."""
        ...
