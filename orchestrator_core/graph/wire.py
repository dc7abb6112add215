"""Task graphs as JSON: strict, data only, defaults left out."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from orchestrator_core.errors import InvalidFormat
from orchestrator_core.graph.builder import GraphBuilder
from orchestrator_core.graph.task import Mode, Task
from orchestrator_core.graph.task_graph import TaskGraph

FORMAT = "orchestrator.task-graph/1"


class ModeWire(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    name: str = ""
    threads: int = 1
    memory: float = 0.0
    resources: dict[str, float] = {}
    seconds: float | None = None
    eligible: list[str] | None = None
    consumes: dict[str, float] = {}


class TaskWire(ModeWire, forbid_unknown_fields=True, omit_defaults=True):
    kind: str = ""
    output_bytes: float = 0.0
    release: float = 0.0
    deadline: float | None = None
    due: float | None = None
    weight: float = 1.0
    count: int = 1
    checkpoints: list[float] = []
    modes: list[ModeWire] = []
    features: dict[str, float] = {}


class GraphWire(msgspec.Struct, forbid_unknown_fields=True):
    """`edges` are (producer, consumer, nbytes, multiplicity), tasks by position."""

    format: str
    tasks: list[TaskWire]
    edges: list[tuple[int, int, float, int]]


def encode_graph(graph: TaskGraph) -> bytes:
    wire = graph_to_wire(graph)
    return msgspec.json.encode(wire)


def decode_graph(text: str | bytes) -> TaskGraph:
    try:
        wire = msgspec.json.decode(text, type=GraphWire)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise InvalidFormat(f"no task graph in JSON ({FORMAT}): {error}") from None
    return graph_from_wire(wire)


def graph_to_wire(graph: TaskGraph) -> GraphWire:
    edges = zip(
        graph.producer.tolist(),
        graph.consumer.tolist(),
        graph.nbytes.tolist(),
        graph.multiplicity.tolist(),
        strict=True,
    )
    return GraphWire(FORMAT, [_task_to_wire(task) for task in graph.tasks()], list(edges))


def graph_from_wire(wire: GraphWire) -> TaskGraph:
    if wire.format != FORMAT:
        raise InvalidFormat(
            f"a task graph of format {wire.format!r}; this version reads {FORMAT!r}"
        )
    builder = TaskGraph.build()
    names = [task.name for task in wire.tasks]
    for task in wire.tasks:
        _add(builder, task)
    for producer, consumer, nbytes, multiplicity in wire.edges:
        if not (0 <= producer < len(names) and 0 <= consumer < len(names)):
            raise InvalidFormat(
                f"an edge joins tasks {producer} and {consumer}; there are {len(names)} tasks"
            )
        builder.edge(
            names[producer], names[consumer], None if math.isnan(nbytes) else nbytes, multiplicity
        )
    return builder.done()


def _mode_fields(mode: Mode | Task) -> dict[str, Any]:
    return {
        "name": mode.name,
        "threads": mode.threads,
        "memory": mode.memory,
        "resources": dict(mode.resources),
        "seconds": mode.seconds,
        "eligible": None if mode.eligible is None else list(mode.eligible),
        "consumes": dict(mode.consumes),
    }


def _task_to_wire(task: Task) -> TaskWire:
    return TaskWire(
        **_mode_fields(task),
        kind="" if task.kind == task.name else task.kind,
        output_bytes=task.output_bytes,
        release=task.release,
        deadline=task.deadline,
        due=task.due,
        weight=task.weight,
        count=task.count,
        checkpoints=list(task.checkpoints),
        modes=[ModeWire(**_mode_fields(mode)) for mode in task.modes],
        features=dict(task.features),
    )


def _add(builder: GraphBuilder, wire: TaskWire) -> None:
    builder.task(
        wire.name,
        kind=wire.kind,
        output_bytes=wire.output_bytes,
        release=wire.release,
        deadline=wire.deadline,
        due=wire.due,
        weight=wire.weight,
        seconds=wire.seconds,
        threads=wire.threads,
        memory=wire.memory,
        resources=wire.resources,
        eligible=wire.eligible,
        count=wire.count,
        checkpoints=wire.checkpoints,
        modes=[_mode_from_wire(mode) for mode in wire.modes],
        consumes=wire.consumes,
        features=wire.features,
    )


def _mode_from_wire(wire: ModeWire) -> Mode:
    return Mode(**{name: getattr(wire, name) for name in wire.__struct_fields__})
