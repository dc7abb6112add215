"""What all that proves bounds of the makespan cannot take on."""

from __future__ import annotations

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.objective import MAKESPAN, Objective


def beyond(instance: Instance, objective: Objective, largest: int) -> str | None:
    """A word on the objective or the size, if it cannot be taken on.

    Args:
        largest: (task instances) x workers that are tried at most.
    """
    if objective != MAKESPAN:
        return "the objective: it bounds the makespan only"
    size = instance.graph.n_instances * len(instance.cluster)
    if size > largest:
        return f"its size: {size} task instances x workers; it takes {largest} at most"
    return None
