"""One promise for a flow run that was planned in several epochs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.record import PlanRecord
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Epoch:
    """What was submitted together.

    Attributes:
        started: seconds from the start of the run.
        advice: None where nobody was asked.
    """

    graph: TaskGraph
    advice: Advice | None
    started: float

    @property
    def plan(self) -> PlanRecord | None:
        return None if self.advice is None else self.advice.plan


def promise(epochs: Sequence[Epoch]) -> PlanRecord | None:
    """The plans of all epochs as one, each from the second at which its epoch started.

    What is predicted is the last end. The bound is the best one that holds for the whole: an epoch
    cannot end before it started and its own bound has passed.
    """
    planned = [(epoch.started, epoch.plan) for epoch in epochs if epoch.plan is not None]
    if not planned:
        return None
    if len(planned) == 1 and len(epochs) == 1:
        return planned[0][1]
    followed = [(started, plan) for started, plan in planned if plan.adopted] or planned
    bounding_start, bounding = max(followed, key=lambda item: item[0] + item[1].lower_bound)
    schedule = _joined(followed)
    return replace(
        bounding,
        schedule=schedule,
        predicted=schedule.makespan,
        lower_bound=bounding_start + bounding.lower_bound,
        default_predicted=None,
        planner=", ".join(dict.fromkeys(plan.planner for _, plan in followed)),
        cache="hit" if all(plan.cache == "hit" for _, plan in followed) else "miss",
        reason=f"{len(followed)} of {len(epochs)} epochs; the last: {followed[-1][1].reason}",
        planning_seconds=sum(plan.planning_seconds for _, plan in planned),
    )


def _joined(plans: Sequence[tuple[float, PlanRecord]]) -> Schedule:
    assignments = [
        replace(
            row,
            start=row.start + started,
            end=row.end + started,
            segments=tuple((a + started, b + started) for a, b in row.segments),
        )
        for started, plan in plans
        for row in plan.schedule.assignments
    ]
    transfers = [
        replace(
            move,
            start=move.start + started,
            encoded=move.encoded + started,
            end=move.end + started,
        )
        for started, plan in plans
        for move in plan.schedule.transfers
    ]
    return Schedule(assignments, transfers)


def finite_gap(plan: PlanRecord) -> float | None:
    """How far the plan may be from the optimum, as a share of it; None if nothing is proven."""
    if not np.isfinite(plan.lower_bound) or plan.lower_bound <= 0:
        return None
    return max(0.0, plan.predicted / plan.lower_bound - 1.0)
