"""What a dry run asks: a priced graph, and what must be said about its prices."""

from __future__ import annotations

from dataclasses import dataclass, replace

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.paced import Part, least_in_pace, paced
from orchestrator_core.plan.result import PlanResult

PACE = "the pace of the flow's code, and the longest path"
"""How a bound was proven."""


@dataclass(frozen=True, slots=True)
class Question:
    """A priced graph, what it is called, and what must be said about its prices.

    Attributes:
        pessimistic: where durations were learned: the graph with those that are rarely exceeded.
        lead: seconds from the first submission of the flow to the start of its first task.
        coming: what the flow's code submits later, and when.
        deadline: seconds from the first submission by which the flow has to end, if it has to.
    """

    name: str
    instance: Instance
    notes: tuple[str, ...]
    pessimistic: Instance | None = None
    lead: float = 0.0
    coming: tuple[Part, ...] = ()
    deadline: float | None = None

    def in_pace(self, result: PlanResult) -> PlanResult:
        """The plan at the pace of the flow's code, which the plan knows nothing of."""
        instance = self.instance
        if not self.coming:
            return result
        schedule = paced(result.schedule, instance.graph, instance.cluster, self.coming).schedule
        late = schedule.makespan - result.makespan
        changed = replace(
            result, schedule=schedule, values=(result.value + late, *result.values[1:])
        )
        least = least_in_pace(instance, self.coming)
        if least <= result.lower_bound:
            return changed
        return replace(changed, lower_bound=least, bound_method=PACE)

    def expected(self, result: PlanResult) -> float:
        """Seconds that the plan takes from its first task on; what a file states is certain."""
        if self.pessimistic is None:
            return result.makespan
        from orchestrator_core.orchestrate.expect import expected_makespan

        return expected_makespan(self.instance, self.pessimistic, result)
