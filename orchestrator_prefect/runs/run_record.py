"""The record of a flow run, put together from what was submitted and what the scheduler saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from orchestrator_core.execute.record import RunRecord, TaskRecord
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.signature import cluster_signature, graph_signature
from orchestrator_prefect.runs.flow_run import FlowRunInfo
from orchestrator_prefect.runs.promise import Epoch, promise
from orchestrator_prefect.sending.epoch import Submission
from orchestrator_prefect.sending.flow_graph import flow_graph
from orchestrator_prefect.sending.link import Finished
from orchestrator_prefect.sending.waited_for import bursts

CACHED = "Cached"
FAILED = ("Failed", "Crashed", "TimedOut", "Cancelled", "Cancelling", "NotReady")


def run_record(
    info: FlowRunInfo,
    submissions: Sequence[Submission],
    epochs: Sequence[Epoch],
    cluster: Cluster,
    finished: Sequence[Finished],
    states: Mapping[str, str],
    started_at: float,
    left: Sequence[TaskRecord] = (),
    dropped: Sequence[str] = (),
) -> RunRecord:
    """One record over all epochs.

    Args:
        epochs: at least one. cluster: the last that was seen.
        finished: in any order, with times in seconds from when the first epoch went.
        states: names of the Prefect states in which tasks ended, by key.
        started_at: when the first epoch went, in seconds since 1970 on the scheduler's clock.
        left: what still ran when the flow ended, in seconds from the first submission; dropped:
            what had not begun by then.

    The record counts from the first submission; it takes the first epoch some time to go.
    """
    graph = flow_graph(submissions)
    plan = promise(epochs, graph, cluster)
    planned = plan is not None and plan.adopted
    lead = epochs[0].started
    tasks = _tasks(finished, states, {s.key: s for s in submissions}, lead, left)
    return RunRecord(
        run_id=info.run_id,
        flow=info.flow,
        started_at=started_at - lead,
        seconds=max((task.end for task in tasks), default=0.0),
        mode="planned" if planned else "observed",
        reason=_reason(epochs),
        graph=graph,
        cluster=cluster,
        graph_signature=graph_signature(graph).digest,
        cluster_signature=cluster_signature(cluster).digest,
        plan=plan,
        tasks=tasks,
        status=info.status,
        origin=info.origin,
        dropped=tuple(dropped),
        bursts=bursts(submissions, {task.task: task.end for task in tasks}),
    )


def _tasks(
    finished: Sequence[Finished],
    states: Mapping[str, str],
    submissions: Mapping[str, Submission],
    lead: float,
    left: Sequence[TaskRecord],
) -> tuple[TaskRecord, ...]:
    tasks = [
        replace(
            record,
            task=submissions[key].name,
            kind=submissions[key].kind,
            start=record.start + lead,
            end=record.end + lead,
            status=_status(record.status, states.get(key)),
        )
        for key, record in finished
        if key in submissions
    ]
    return tuple(sorted([*tasks, *left], key=lambda task: (task.start, task.task)))


def _status(seen: str, state: str | None) -> str:
    if state == CACHED:
        return "cached"
    return "failed" if state in FAILED else seen


def _reason(epochs: Sequence[Epoch]) -> str:
    reasons = [epoch.advice.reason for epoch in epochs if epoch.advice is not None]
    return reasons[0] if reasons else "observed: nobody was asked for a plan"
