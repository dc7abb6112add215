"""Run records as JSON: strict, data only; graph, cluster and schedule in their own formats.

A number of a task record that is none (NaN, infinity) is written as null and read as NaN.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from orchestrator_core.errors import InvalidFormat
from orchestrator_core.execute.record import Burst, PlanRecord, RunRecord, TaskRecord
from orchestrator_core.graph.cluster_wire import ClusterWire, cluster_from_wire, cluster_to_wire
from orchestrator_core.graph.task_graph import TaskGraph
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
    setup_seconds: float = 0.0
    device_memory: float | None = None
    overhead_seconds: float | None = None


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
    parts: int = 1


class BurstWire(msgspec.Struct, forbid_unknown_fields=True, array_like=True):
    """`Burst` with tasks by their position in the graph."""

    size: int
    after: list[int]
    pause: float


class RunWire(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """`dropped` are tasks by their position in the graph."""

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
    bursts: list[BurstWire] = []
    origin: str = ""
    dropped: list[int] = []
    others: float | None = None
    with_stored: GraphWire | None = None


_OWN = (
    "format", "graph", "cluster", "plan", "tasks", "notes", "measured", "bursts", "dropped",
    "others", "with_stored",
)  # fmt: skip
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
        bursts=[_burst_to_wire(burst, run.graph) for burst in run.bursts],
        dropped=[run.graph.index[name] for name in run.dropped if name in run.graph.index],
        others=run.others or None,
        with_stored=None if run.with_stored is None else graph_to_wire(run.with_stored),
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
    graph = graph_from_wire(wire.graph)
    _check_bursts(wire.bursts, len(graph))
    if not all(0 <= place < len(graph) for place in wire.dropped):
        raise InvalidFormat(f"it dropped tasks {wire.dropped}; the graph has {len(graph)}")
    return RunRecord(
        graph=graph,
        cluster=cluster_from_wire(wire.cluster),
        plan=None if wire.plan is None else _plan_from_wire(wire.plan),
        tasks=tuple(_task_from_wire(task) for task in wire.tasks),
        notes=tuple(wire.notes),
        measured=None if wire.measured is None else cluster_from_wire(wire.measured),
        bursts=tuple(_burst_from_wire(burst, graph) for burst in wire.bursts),
        dropped=tuple(graph.names[place] for place in wire.dropped),
        others=wire.others or 0.0,
        with_stored=None if wire.with_stored is None else graph_from_wire(wire.with_stored),
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


def _burst_to_wire(burst: Burst, graph: TaskGraph) -> BurstWire:
    after = [graph.index[name] for name in burst.after if name in graph.index]
    return BurstWire(burst.size, after, burst.pause)


def _check_bursts(bursts: list[BurstWire], tasks: int) -> None:
    """They share the tasks, and none comes after what is submitted with it or later."""
    first = 0
    for burst in bursts:
        if any(not 0 <= place < first for place in burst.after):
            raise InvalidFormat(f"the burst of task {first} comes after one that is not before it")
        if burst.size < 1 or not (math.isfinite(burst.pause) and burst.pause >= 0):
            raise InvalidFormat("a burst has tasks, and follows a pause of finite seconds >= 0")
        first += burst.size
    if bursts and first != tasks:
        raise InvalidFormat(f"bursts of {first} tasks; the graph has {tasks}")


def _burst_from_wire(wire: BurstWire, graph: TaskGraph) -> Burst:
    return Burst(wire.size, tuple(graph.names[place] for place in wire.after), wire.pause)
