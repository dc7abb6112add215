"""Records to put into stores: small, plausible, and different where a test asks."""

from __future__ import annotations

from typing import Any

from orchestrator_core.execute.record import PlanRecord, RunRecord, TaskRecord
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer
from orchestrator_core.store.base import ScheduleKey, StoredSchedule

KEY = ScheduleKey("graph", "cluster", "makespan", "bucket")


def a_schedule(seconds: float = 3.0) -> Schedule:
    """Task 0 on worker 0, its output to worker 1, where task 1 runs until `seconds`."""
    return Schedule(
        [Assignment("0", "0", 0.0, 1.0), Assignment("1", "1", 1.5, seconds)],
        [Transfer("0", "0", "1", 1.0, 1.2, 1.5, 100.0)],
    )


def stored(seconds: float = 3.0, key: ScheduleKey = KEY, **fields: Any) -> StoredSchedule:
    defaults: dict[str, Any] = {
        "lower_bound": 2.0,
        "bound_method": "critical path",
        "prices": "0" * 64,
        "planner": "heft",
        "created_at": 1000.0,
        "used_at": 1000.0,
        "flow": "etl",
    }
    return StoredSchedule(
        key=key, schedule=a_schedule(seconds), makespan=seconds, **(defaults | fields)
    )


def a_graph() -> TaskGraph:
    builder = TaskGraph.build()
    builder.task("load-1", kind="load", output_bytes=100.0)
    builder.task("fit-1", kind="fit", resources={"GPU": 1}, after=["load-1"])
    return builder.done()


def a_cluster(workers: int = 2) -> Cluster:
    return Cluster(
        [Worker(f"w{i}", kind="big", threads=2, resources={"GPU": 1}) for i in range(workers)]
    )


def a_record(task: str = "load-1", **fields: Any) -> TaskRecord:
    defaults: dict[str, Any] = {
        "kind": task.split("-")[0],
        "worker": "w0",
        "worker_kind": "big",
        "start": 0.0,
        "end": 1.0,
        "nbytes": 100.0,
    }
    return TaskRecord(task=task, **(defaults | fields))


def a_plan() -> PlanRecord:
    return PlanRecord(
        schedule=a_schedule(),
        predicted=3.0,
        lower_bound=2.0,
        bound_method="critical path",
        planner="heft",
        cache="miss",
        adopted=True,
        reason="25 % faster than Dask's own order",
        default_predicted=4.0,
    )


def a_run(run_id: str = "a" * 32, **fields: Any) -> RunRecord:
    defaults: dict[str, Any] = {
        "flow": "etl",
        "started_at": 1000.0,
        "seconds": 3.1,
        "mode": "planned",
        "reason": "25 % faster than Dask's own order",
        "graph": a_graph(),
        "cluster": a_cluster(),
        "graph_signature": "graph",
        "cluster_signature": "cluster",
        "plan": a_plan(),
        "tasks": (a_record(), a_record("fit-1", start=1.5, end=3.1, worker="w1")),
        "notes": ("a note",),
    }
    return RunRecord(run_id=run_id, **(defaults | fields))
