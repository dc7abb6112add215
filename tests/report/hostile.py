"""A run in which every name is a payload, and its twin with harmless names."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator_core.execute.record import PlanRecord, RunRecord, TaskRecord
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.graph.text import as_name
from orchestrator_core.plan.schedule import Assignment, Schedule
from tests.payloads import PAYLOADS

WORKERS = 12

NAMES = tuple(map(as_name, PAYLOADS))
"""The payloads as names of tasks may be: what is no text is spelled out, what is long is cut."""

HARMLESS = tuple(f"task {i}" for i in range(len(NAMES)))


def run_of(names: Sequence[str], flow: str, run_id: str = "a" * 32) -> RunRecord:
    """Chains of these tasks on twelve workers, each a second as planned, and 1.5 s in truth.

    Kinds, workers and their kinds, reasons and planners are named by the names too.
    """
    workers = [Worker(names[i], kind=names[-i - 1]) for i in range(min(WORKERS, len(names)))]
    builder = TaskGraph.build()
    rows, records = [], []
    for i, name in enumerate(names):
        turn, worker = i // len(workers), workers[i % len(workers)]
        before = [names[i - len(workers)]] if turn else []
        kind = names[-i - 1]
        builder.task(name, kind=kind, after=before, seconds=1.0)
        rows.append(Assignment(name, worker.name, float(turn), turn + 1.0))
        start = 1.5 * turn
        records.append(
            TaskRecord(
                name, kind, worker.name, worker.kind, start, start + 1.5, 10.0, 0.1 if turn else 0.0
            )
        )
    plan = PlanRecord(
        schedule=Schedule(rows),
        predicted=float(len(names) // WORKERS + 1),
        lower_bound=1.0,
        bound_method=flow,
        planner=flow,
        cache="miss",
        adopted=True,
        reason=flow,
    )
    return RunRecord(
        run_id=run_id,
        flow=flow,
        started_at=1_760_000_000.0,
        seconds=1.5 * (len(names) // WORKERS + 1),
        mode="planned",
        reason=flow,
        graph=builder.done(),
        cluster=Cluster(workers),
        graph_signature="a" * 64,
        cluster_signature="b" * 64,
        plan=plan,
        tasks=tuple(records),
        status="ok",
    )
