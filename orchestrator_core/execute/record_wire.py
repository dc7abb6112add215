"""Run records as JSON: strict, data only; graph, cluster and schedule in their own formats.

A number of a task record that is none (NaN, infinity) is written as null and read as NaN.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from orchestrator_core.errors import InvalidFormat
from orchestrator_core.execute.record import PlanRecord, RunRecord, TaskRecord
from orchestrator_core.graph.cluster_wire import ClusterWire, cluster_from_wire, cluster_to_wire
from orchestrator_core.graph.wire import GraphWire, graph_from_wire, graph_to_wire
from orchestrator_core.plan.schedule_wire import (
    ScheduleWire,
    schedule_from_wire,
    schedule_to_wire,
)

FORMAT = "orchestrator.run/1"


class TaskRecordWire(msgspec.Struct, forbid_unknown_fields=True, array_like=True):
    """The fields of `TaskRecord`, in their order."""

    task: str
    kind: str
    worker: str
    worker_kind: str
    start: float | None
    end: float | None
    nbytes: float | None
    transfer_seconds: float | None
    attempt: int
    memory_peak: float | None
    status: str


class PlanRecordWire(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    schedule: ScheduleWire
    predicted: float
    lower_bound: float
    bound_method: str
    planner: str
    cache: str
    adopted: bool
    reason: str
    default_predicted: float | None = None
    planning_seconds: float = 0.0


class RunWire(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    format: str
    run_id: str
    flow: str
    started_at: float
    seconds: float
    mode: str
    reason: str
    graph: GraphWire
    cluster: ClusterWire
    graph_signature: str
    cluster_signature: str
    plan: PlanRecordWire | None = None
    tasks: list[TaskRecordWire] = []
    status: str = "ok"
    notes: list[str] = []
    measured: ClusterWire | None = None


_OWN = ("format", "graph", "cluster", "plan", "tasks", "notes", "measured")
"""Fields of a run that are not plain."""

_NUMBERS = ("start", "end", "nbytes", "transfer_seconds")


def encode_run(run: RunRecord) -> bytes:
    fields = _fields(run, RunWire, *_OWN)
    wire = RunWire(
        format=FORMAT,
        graph=graph_to_wire(run.graph),
        cluster=cluster_to_wire(run.cluster),
        plan=None if run.plan is None else _plan_to_wire(run.plan),
        tasks=[_task_to_wire(record) for record in run.tasks],
        notes=list(run.notes),
        measured=None if run.measured is None else cluster_to_wire(run.measured),
        **fields,
    )
    return msgspec.json.encode(wire)


def decode_run(text: str | bytes) -> RunRecord:
    """The run that `encode_run` wrote.

    Raises:
        InvalidFormat: if the text is no such JSON. InvalidInput: if its graph or cluster cannot be.
    """
    try:
        wire = msgspec.json.decode(text, type=RunWire)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise InvalidFormat(f"no run in JSON ({FORMAT}): {error}") from None
    if wire.format != FORMAT:
        raise InvalidFormat(f"a run of format {wire.format!r}; this version reads {FORMAT!r}")
    fields = _fields(wire, RunWire, *_OWN)
    return RunRecord(
        graph=graph_from_wire(wire.graph),
        cluster=cluster_from_wire(wire.cluster),
        plan=None if wire.plan is None else _plan_from_wire(wire.plan),
        tasks=tuple(_task_from_wire(task) for task in wire.tasks),
        notes=tuple(wire.notes),
        measured=None if wire.measured is None else cluster_from_wire(wire.measured),
        **fields,
    )


def _fields(value: object, wire: type[msgspec.Struct], *but: str) -> dict[str, Any]:
    return {name: getattr(value, name) for name in wire.__struct_fields__ if name not in but}


def _plan_to_wire(plan: PlanRecord) -> PlanRecordWire:
    fields = _fields(plan, PlanRecordWire, "schedule")
    return PlanRecordWire(schedule=schedule_to_wire(plan.schedule), **fields)


def _plan_from_wire(wire: PlanRecordWire) -> PlanRecord:
    fields = _fields(wire, PlanRecordWire, "schedule")
    return PlanRecord(schedule=schedule_from_wire(wire.schedule), **fields)


def _task_to_wire(record: TaskRecord) -> TaskRecordWire:
    return TaskRecordWire(**_fields(record, TaskRecordWire))


def _task_from_wire(wire: TaskRecordWire) -> TaskRecord:
    fields = _fields(wire, TaskRecordWire)
    for name in _NUMBERS:
        if fields[name] is None:
            fields[name] = math.nan
    return TaskRecord(**fields)
