"""Ladder: bounds that cost more and prove more, one rung after the other (stage 3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.bounds.limits import beyond
from orchestrator_core.plan.bounds.rungs import Climb
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.planner import Brief, Proposal


@dataclass(frozen=True, slots=True)
class Ladder:
    """Proves lower bounds; now and then it proposes a schedule that a linear program suggests.

    Paths and windows, then whole tasks on workers; then, by turns, cones, probing and branch and
    bound on placement, and branch and bound on kept and cut edges. It needs a schedule to begin
    with: all it says is said of schedules that are shorter.

    Attributes:
        largest: (task instances) x workers that are tried at most.
    """

    largest: int = 100_000
    lane: ClassVar[Lane] = Lane.HELPER

    @property
    def name(self) -> str:
        return "bounds"

    def unsupported(self, instance: Instance, objective: Objective = MAKESPAN) -> str | None:
        """A word on the size or the objective."""
        return beyond(instance, objective, self.largest)

    def plan(self, brief: Brief) -> Iterator[Proposal]:
        """Rising lower bounds with their certificates, and schedules to search from."""
        if brief.incumbent is None:
            yield Proposal(note="it needs a schedule to begin with")
            return
        if brief.incumbent.makespan <= 0:
            return
        climb = Climb(brief)
        for proposal in climb.proposals():
            yield proposal
            climb.steps += 1
            if climb.spent() >= 1:
                break
        yield climb.last_word()
