"""Small runs, written by hand, for tests of what is shown."""

from __future__ import annotations

from orchestrator_core import (
    Assignment,
    Cluster,
    PlanRecord,
    RunRecord,
    Schedule,
    TaskGraph,
    TaskRecord,
    Transfer,
    Worker,
)


def two_worker_run(flow: str = "nightly", task: str = "load") -> RunRecord:
    """load (2 s, on `fast`) -> train (3 s, on `slow`, after 1 s of transfer); clean (1 s) aside.

    Each planned second took 1.1 s.
    """
    builder = TaskGraph.build()
    builder.task(task, kind="etl.load", output_bytes=1e6)
    builder.task("clean", kind="etl.clean")
    builder.task("train", kind="ml.train", after=[task])
    plan = Schedule(
        [
            Assignment(task, "fast", 0.0, 2.0),
            Assignment("clean", "fast", 2.0, 3.0),
            Assignment("train", "slow", 3.0, 6.0),
        ],
        [Transfer(task, "fast", "slow", 2.0, 2.0, 3.0, 1e6)],
    )
    records = tuple(
        TaskRecord(a.task, f"kind of {a.task}", a.worker, a.worker, 1.1 * a.start, 1.1 * a.end)
        for a in plan.assignments
    )
    return RunRecord(
        run_id="0123456789abcdef0123456789abcdef",
        flow=flow,
        started_at=1_760_000_000.0,
        seconds=6.6,
        mode="planned",
        reason="planned: even if tasks run long it takes 7 s against 9 s by Dask's own order",
        graph=builder.done(),
        cluster=Cluster([Worker("fast", kind="fast"), Worker("slow", kind="slow")]),
        graph_signature="a" * 64,
        cluster_signature="b" * 64,
        plan=PlanRecord(plan, 6.0, 5.0, "critical path", "heft", "miss", True, "", 9.0, 0.01),
        tasks=records,
    )


def wide_run(tasks: int, workers: int) -> RunRecord:
    """`tasks` tasks of one second, dealt out to the workers in turn; nothing was planned."""
    builder = TaskGraph.build()
    records = []
    for i in range(tasks):
        builder.task(f"a task with a rather long name {i}", kind=f"kind {i % 7}")
        begin = float(i // workers)
        records.append(
            TaskRecord(
                f"a task with a rather long name {i}",
                f"kind {i % 7}",
                f"w{i % workers}",
                "worker",
                begin,
                begin + 1,
            )
        )
    return RunRecord(
        run_id="f" * 32,
        flow="wide",
        started_at=0.0,
        seconds=records[-1].end,
        mode="observed",
        reason="first run",
        graph=builder.done(),
        cluster=Cluster([Worker(f"w{i}") for i in range(workers)]),
        graph_signature="a" * 64,
        cluster_signature="b" * 64,
        tasks=tuple(records),
    )
