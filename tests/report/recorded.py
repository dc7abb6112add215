"""Runs that went exactly as planned, or by factors of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.record import PlanRecord, RunRecord, TaskRecord
from orchestrator_core.plan.schedule import Schedule


def run_as_planned(
    instance: Instance, schedule: Schedule, lower_bound: float = 0.0, **fields: object
) -> RunRecord:
    """The run in which everything happened as the schedule says."""
    graph = instance.graph
    kinds = {worker.name: worker.kind for worker in instance.cluster.workers}
    records = tuple(
        TaskRecord(
            a.task, graph.kind(graph.index[a.task]), a.worker, kinds[a.worker], a.start, a.end
        )
        for a in sorted(schedule.assignments, key=lambda a: a.start)
    )
    made, end = ("critical path", "heft", "miss", True, "planned"), schedule.makespan
    run = RunRecord(
        run_id="1" * 32,
        flow="pipeline",
        started_at=1_760_000_000.0,
        seconds=schedule.makespan,
        mode="planned",
        reason="planned",
        graph=graph,
        cluster=instance.cluster,
        graph_signature="a" * 64,
        cluster_signature="b" * 64,
        plan=PlanRecord(schedule, end, lower_bound, *made),
        tasks=records,
    )
    return replace(run, **fields)  # type: ignore[arg-type]


def stretched(run: RunRecord, factors: Mapping[str, float]) -> RunRecord:
    """The run with other durations by task, each still starting when it did."""
    tasks = tuple(replace(t, end=t.start + t.seconds * factors.get(t.task, 1.0)) for t in run.tasks)
    return replace(run, tasks=tasks, seconds=max(t.end for t in tasks))
