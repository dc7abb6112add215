"""Criteria that are 0 whatever is done, and need not be searched for (stage 3)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.result import PlanResult, PlanStatus


def varying(instance: Instance, objective: Objective) -> Objective:
    """The criteria that are not 0 for all schedules; all of them if that is the case of all."""
    kept = tuple(name for name in objective.criteria if not _is_constant(instance, name))
    return Objective(kept) if kept else objective


def with_constant(result: PlanResult, objective: Objective) -> PlanResult:
    """The result of planning for what varies, as one for the objective with all its criteria."""
    found = dict(zip(result.objective.split(","), result.values, strict=True))
    whole = replace(
        result,
        objective=str(objective),
        values=tuple(found.get(name, 0.0) for name in objective.criteria),
        settled=result.settled or result.status is PlanStatus.OPTIMAL,
    )
    if objective.primary in found:
        return whole
    nothing = "nothing is below zero"
    return replace(
        whole, lower_bound=0.0, bound_method=nothing, bound_seconds=0.0, certificate=None
    )


def _is_constant(instance: Instance, name: str) -> bool:
    graph = instance.graph
    if name == "tardiness":
        return not (np.isfinite(graph.due) & (graph.weight > 0)).any()
    if name in ("price", "busy-price"):
        return all(worker.price == 0 for worker in instance.cluster.workers)
    if name == "memory":
        return not (graph.output_bytes.any() or graph.mode_memory.any())
    return False
