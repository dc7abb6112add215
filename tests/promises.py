"""The promise of a plan, for tests' advisors that plan by rules of their own."""

from __future__ import annotations

from typing import Any

from orchestrator_core.execute.record import PlanRecord
from orchestrator_core.plan.schedule import Schedule


def promised(schedule: Schedule, **told: Any) -> PlanRecord:
    """That the schedule is followed and ends when it says, unless `told` otherwise."""
    plan: dict[str, Any] = {
        "schedule": schedule,
        "predicted": schedule.makespan,
        "lower_bound": 0.0,
        "bound_method": "none",
        "planner": "fixed",
        "cache": "miss",
        "adopted": True,
        "reason": "because the test says so",
    }
    return PlanRecord(**(plan | told))
