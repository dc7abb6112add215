"""What a flow has not waited for: tasks that ran, or had not begun, when it ended.

Prefect ends a flow on Dask without them, and its client lets go of them: what has not begun is
dropped, what runs can be stopped by nobody. How long the flow is to be follows from how long they
had run by then, and from nothing that happens later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchestrator_core.clean_text import clean
from orchestrator_core.execute.record import LEFT, TaskRecord
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.words import plural
from orchestrator_prefect.sending.epoch import Submission


def left_running(
    still: Sequence[Submission],
    running: Mapping[str, tuple[str, float]],
    cluster: Cluster,
    now: float,
) -> list[TaskRecord]:
    """The records of those that run `now`, in seconds from the first submission.

    Args:
        still: what has not ended. running: of their keys, the worker and for how many seconds.
    """
    kinds = {worker.name: worker.kind for worker in cluster.workers}
    return [
        TaskRecord(
            task=each.name,
            kind=each.kind,
            worker=worker,
            worker_kind=kinds[worker],
            start=max(0.0, now - seconds),
            end=now,
            status=LEFT,
        )
        for each in still
        for worker, seconds in [running.get(each.key, ("", 0.0))]
        if worker in kinds
    ]


def left_line(still: Sequence[Submission], running: int) -> str:
    """One line for whoever expected them to be waited for."""
    begun = (
        f"{running:,} of them had begun, the others are dropped" if running else "all are dropped"
    )
    begun = "all had begun" if running == len(still) else begun
    return (
        f"The flow ended without waiting for {plural(len(still), 'task')}, such as "
        f"{clean(still[0].name)!r}: {begun}. If they matter, wait for them."
    )
