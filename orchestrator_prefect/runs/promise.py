"""One promise for a flow run that was planned in several epochs."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.record import PlanRecord
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.delayed import delayed
from orchestrator_core.plan.schedule import Schedule
from orchestrator_prefect.runs.joined import joined


@dataclass(frozen=True, slots=True)
class Epoch:
    """What was submitted together.

    Attributes:
        graph: of its tasks, and of what was foreseen to follow.
        advice: None where nobody was asked, as what came had been foreseen.
        started: seconds from the run's first submission until its tasks went to the scheduler.
        foreseen: number of tasks of the graph that had not been submitted.
        aside: what was submitted with it and left to Dask, as nobody was expected to wait for it.
    """

    graph: TaskGraph
    advice: Advice | None
    started: float
    foreseen: int = 0
    aside: frozenset[str] = frozenset()


def promise(epochs: Sequence[Epoch], graph: TaskGraph, cluster: Cluster) -> PlanRecord | None:
    """The plans of all epochs as one, each from the second at which its epoch started.

    So it counts from the first submission, as the run does. What is predicted is the last end, as
    far as was known when the last part was planned: `PlanRecord.parts` tells that. The
    bound is the best one that holds for the whole: an epoch cannot end before it started and its
    own bound has passed.

    Args:
        graph: of all epochs together. cluster: on which they run.
    """
    planned = _of_run([plan for plan in map(in_run, epochs) if plan is not None], graph)
    names = set(graph.names).difference(*(epoch.aside for epoch in epochs))
    if not planned or len(epochs) == 1 or names <= set(planned[0].schedule.task_names):
        return planned[0] if planned else None
    parts = [plan for plan in planned if plan.adopted] or planned
    bounding = max(parts, key=lambda plan: plan.lower_bound)
    schedule = joined([plan.schedule for plan in parts], graph, cluster)
    return replace(
        bounding,
        schedule=schedule,
        predicted=_last_end(parts, schedule),
        default_predicted=None,
        planner=", ".join(dict.fromkeys(plan.planner for plan in parts)),
        cache="hit" if all(plan.cache == "hit" for plan in parts) else "miss",
        reason=f"{len(parts)} plans for {len(epochs)} epochs; the last: {parts[-1].reason}",
        planning_seconds=sum(plan.planning_seconds for plan in planned),
        parts=len(parts),
    )


def _of_run(plans: Sequence[PlanRecord], graph: TaskGraph) -> list[PlanRecord]:
    """The plans without tasks that were foreseen and did not come, or were planned again later."""
    found: list[PlanRecord] = []
    open_names = set(graph.names)
    for plan in reversed(plans):
        names = set(plan.schedule.task_names)
        found.append(plan if names <= open_names else _without(plan, names - open_names))
        open_names -= names
    return found[::-1]


def _without(plan: PlanRecord, names: Set[str]) -> PlanRecord:
    """The plan of the other tasks; what was proven of all of them says nothing of these."""
    schedule = Schedule(
        [row for row in plan.schedule.assignments if row.task not in names],
        [sent for sent in plan.schedule.transfers if sent.task not in names],
    )
    shorter = plan.schedule.makespan - schedule.makespan
    return replace(
        plan,
        schedule=schedule,
        predicted=plan.predicted - shorter,
        lower_bound=0.0,
        bound_method="none: not all came that was foreseen",
        default_predicted=None,
    )


def in_run(epoch: Epoch) -> PlanRecord | None:
    """The plan of an epoch, counted from the first submission of its run."""
    advice, started = epoch.advice, epoch.started
    if advice is None or advice.plan is None:
        return None
    plan, default = advice.plan, advice.plan.default_predicted
    return replace(
        plan,
        schedule=delayed(plan.schedule, started),
        predicted=plan.predicted + started,
        lower_bound=plan.lower_bound + started,
        default_predicted=None if default is None else default + started,
    )


def _last_end(parts: Sequence[PlanRecord], schedule: Schedule) -> float:
    """When the last of the plans is expected to end, each as much later as `schedule` has it."""
    ends = {row.task: row.end for row in schedule.assignments}
    return max(
        plan.predicted
        + max((ends[name] for name in plan.schedule.task_names), default=0.0)
        - plan.schedule.makespan
        for plan in parts
    )
