"""Schedules without names: tasks and workers by their canonical places, for the store.

A signature says at which canonical place each task and each worker stands. Two graphs of one
signature have the same task at the same place, so a schedule written in places fits them all.
Times are carried along as they are; whether they still hold is for others to check.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from orchestrator_core.errors import InvalidSchedule
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.signature import Signature
from orchestrator_core.graph.task_graph import Ints, TaskGraph
from orchestrator_core.plan.schedule import Schedule

_SAME = (
    "instance",
    "mode",
    "start",
    "end",
    "transfer_instance",
    "transfer_start",
    "transfer_encoded",
    "transfer_end",
    "transfer_nbytes",
)


def to_canonical(
    schedule: Schedule,
    graph: TaskGraph,
    cluster: Cluster,
    graph_signature: Signature,
    cluster_signature: Signature,
) -> Schedule:
    """The schedule with each task and worker named by its canonical place, as text.

    Raises:
        InvalidSchedule: if it names a task or worker that graph and cluster do not have.
    """
    task = _positions(schedule.task_names, graph.index, "task")
    worker = _positions(schedule.worker_names, cluster.index, "worker")
    return _renamed(
        schedule,
        [str(k) for k in range(len(graph))],
        [str(k) for k in range(len(cluster))],
        graph_signature.place[task],
        cluster_signature.place[worker],
    )


def from_canonical(
    schedule: Schedule,
    graph: TaskGraph,
    cluster: Cluster,
    graph_signature: Signature,
    cluster_signature: Signature,
) -> Schedule:
    """The schedule that `to_canonical` wrote, in the names of this graph and this cluster.

    The signatures are those of `graph` and `cluster`; their digests are what it was stored under.

    Raises:
        InvalidSchedule: if it names a place, mode or instance that they do not have.
    """
    task = _places(schedule.task_names, len(graph), "task")
    worker = _places(schedule.worker_names, len(cluster), "worker")
    mapped = _renamed(
        schedule,
        graph.names,
        cluster.names,
        graph_signature.order[task],
        cluster_signature.order[worker],
    )
    _check_modes(mapped, graph)
    return mapped


def _renamed(
    schedule: Schedule,
    task_names: Sequence[str],
    worker_names: Sequence[str],
    task: Ints,
    worker: Ints,
) -> Schedule:
    """The schedule with its i-th task name at `task[i]` of new names, and workers likewise."""
    return Schedule.from_columns(
        task_names,
        worker_names,
        segments=schedule.segments,
        task=task[schedule.task],
        worker=worker[schedule.worker],
        transfer_task=task[schedule.transfer_task],
        transfer_source=worker[schedule.transfer_source],
        transfer_destination=worker[schedule.transfer_destination],
        **{name: getattr(schedule, name) for name in _SAME},
    )


def _positions(names: Sequence[str], index: Mapping[str, int], what: str) -> Ints:
    for name in names:
        if name not in index:
            raise InvalidSchedule(
                f"the schedule names the {what} {name!r}; it is none of the {len(index)} {what}s",
                rule="names",
                task=name if what == "task" else None,
            )
    return np.array([index[name] for name in names], dtype=np.int64)


def _places(names: Sequence[str], n: int, what: str) -> Ints:
    """Places back from text; only as `to_canonical` writes them, and only those that exist."""
    places = {str(k): k for k in range(n)}
    for name in names:
        if name not in places:
            raise InvalidSchedule(
                f"the stored schedule names the {what} at place {name!r}; there are {n} {what}s, "
                "at places from 0: it was stored for another graph or cluster",
                rule="names",
            )
    return np.array([places[name] for name in names], dtype=np.int64)


def _check_modes(schedule: Schedule, graph: TaskGraph) -> None:
    modes = np.diff(graph.mode_ptr)[schedule.task]
    for what, values, limit in (
        ("mode", schedule.mode, modes),
        ("instance", schedule.instance, graph.count[schedule.task]),
        ("instance", schedule.transfer_instance, graph.count[schedule.transfer_task]),
    ):
        wrong = (values < 0) | (values >= limit)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise InvalidSchedule(
                f"the stored schedule names {what} {values[at]} of a task that has {limit[at]}: "
                "it was stored for another graph",
                rule=what,
            )
