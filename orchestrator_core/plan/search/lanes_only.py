"""What searches that know threads alone cannot take (stage 3)."""

from __future__ import annotations

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import UnsupportedInstance
from orchestrator_core.plan.engine.decoder import only_threads
from orchestrator_core.plan.engine.expand import expand


def beyond_lanes(instance: Instance) -> str | None:
    """What else than threads is scarce in the instance, in words; None if nothing is."""
    try:
        problem = expand(instance)
    except UnsupportedInstance as error:
        return str(error)
    if not only_threads(problem):
        return "it takes instances in which only threads are scarce"
    if any(demand.consumes for demand in instance.graph.demands):
        return "it takes no stock"
    return None
