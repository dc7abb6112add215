"""Schedules as JSON: strict, data only, rows of numbers."""

from __future__ import annotations

from typing import Annotated

import msgspec

from orchestrator_core.errors import InvalidFormat
from orchestrator_core.plan.schedule import Schedule

FORMAT = "orchestrator.schedule/1"

Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""What a column of a schedule can hold."""

AssignmentWire = tuple[Whole, Whole, Whole, Whole, float, float]
"""task, instance, worker, mode, start, end"""

TransferWire = tuple[Whole, Whole, Whole, Whole, float, float, float, float]
"""task, instance, source, destination, start, encoded, end, nbytes"""


class ScheduleWire(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    format: str
    tasks: list[str]
    workers: list[str]
    assignments: list[AssignmentWire]
    transfers: list[TransferWire] = []
    segments: dict[str, list[tuple[float, float]]] = {}


_ASSIGNMENT = ("task", "instance", "worker", "mode", "start", "end")
_TRANSFER = tuple(
    f"transfer_{name}"
    for name in (
        "task",
        "instance",
        "source",
        "destination",
        "start",
        "encoded",
        "end",
        "nbytes",
    )
)


def encode_schedule(schedule: Schedule) -> bytes:
    return msgspec.json.encode(schedule_to_wire(schedule))


def decode_schedule(text: str | bytes) -> Schedule:
    try:
        wire = msgspec.json.decode(text, type=ScheduleWire)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise InvalidFormat(f"no schedule in JSON ({FORMAT}): {error}") from None
    return schedule_from_wire(wire)


def schedule_to_wire(schedule: Schedule) -> ScheduleWire:
    return ScheduleWire(
        format=FORMAT,
        tasks=list(schedule.task_names),
        workers=list(schedule.worker_names),
        assignments=list(
            zip(*(getattr(schedule, name).tolist() for name in _ASSIGNMENT), strict=True)
        ),
        transfers=list(zip(*(getattr(schedule, name).tolist() for name in _TRANSFER), strict=True)),
        segments={str(i): list(pieces) for i, pieces in schedule.segments.items()},
    )


def schedule_from_wire(wire: ScheduleWire) -> Schedule:
    if wire.format != FORMAT:
        raise InvalidFormat(f"a schedule of format {wire.format!r}; this version reads {FORMAT!r}")
    tasks, workers = range(len(wire.tasks)), range(len(wire.workers))
    inside = all(row[0] in tasks and row[2] in workers for row in wire.assignments) and all(
        row[0] in tasks and row[2] in workers and row[3] in workers for row in wire.transfers
    )
    rows = range(len(wire.assignments))
    if not inside or any(not i.isdecimal() or int(i) not in rows for i in wire.segments):
        raise InvalidFormat("the schedule points to tasks, workers or rows that it does not have")
    columns = dict(zip(_ASSIGNMENT, zip(*wire.assignments, strict=True), strict=False))
    columns |= dict(zip(_TRANSFER, zip(*wire.transfers, strict=True), strict=False))
    columns.setdefault("task", ())
    return Schedule.from_columns(
        wire.tasks,
        wire.workers,
        segments={int(i): tuple((a, b) for a, b in pieces) for i, pieces in wire.segments.items()},
        **columns,
    )
