"""FirstSchedule: some schedule, whatever it is worth, where the lists have found none (stage 3).

Deadlines and scarce memory may leave few schedules, and none of them to a list. The search by the
makespan needs none to begin with; those by price and memory do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.planner import Brief, Proposal
from orchestrator_core.plan.search.general_search import GeneralSearch


@dataclass(frozen=True, slots=True)
class FirstSchedule:
    """The search by the makespan, up to its first schedule.

    Attributes:
        search: whose name it goes by.
    """

    search: GeneralSearch
    lane: ClassVar[Lane] = Lane.SEARCH

    @property
    def name(self) -> str:
        return self.search.name

    def unsupported(self, instance: Instance, objective: Objective = MAKESPAN) -> str | None:
        """Where the search itself takes the objective, it is better asked for that."""
        if self.search.unsupported(instance, objective) is None:
            return "its search takes the objective"
        return self.search.unsupported(instance, MAKESPAN)

    def plan(self, brief: Brief) -> Iterator[Proposal]:
        inner = replace(brief, objective=MAKESPAN, lower_bound=0.0)
        for proposal in self.search.plan(inner):
            if brief.incumbent is not None:
                return
            yield proposal
            if proposal.schedule is not None:
                return
