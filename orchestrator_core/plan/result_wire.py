"""Plan results as JSON: strict, data only."""

from __future__ import annotations

import msgspec

from orchestrator_core.errors import InvalidFormat
from orchestrator_core.plan.bounds.certificate import Certificate
from orchestrator_core.plan.result import Attempt, PlanResult
from orchestrator_core.plan.schedule_wire import (
    ScheduleWire,
    schedule_from_wire,
    schedule_to_wire,
)

FORMAT = "orchestrator.plan-result/1"

AttemptWire = tuple[str, float | None, float, str]
"""planner, makespan, seconds, note"""


class PlanResultWire(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    schedule: ScheduleWire
    lower_bound: float
    bound_method: str
    planner: str
    reason: str
    seconds: float
    attempts: list[AttemptWire]
    objective: str
    values: tuple[float, ...] = ()
    bound_seconds: float = 0.0
    certificate: Certificate | None = None
    settled: bool = False


def encode_result(result: PlanResult) -> bytes:
    return msgspec.json.encode(
        PlanResultWire(
            format=FORMAT,
            schedule=schedule_to_wire(result.schedule),
            lower_bound=result.lower_bound,
            bound_method=result.bound_method,
            planner=result.planner,
            reason=result.reason,
            seconds=result.seconds,
            attempts=[(a.planner, a.makespan, a.seconds, a.note) for a in result.attempts],
            objective=result.objective,
            values=result.values,
            bound_seconds=result.bound_seconds,
            certificate=result.certificate,
            settled=result.settled,
        )
    )


def decode_result(text: str | bytes) -> PlanResult:
    try:
        wire = msgspec.json.decode(text, type=PlanResultWire)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise InvalidFormat(f"no plan result in JSON ({FORMAT}): {error}") from None
    if wire.format != FORMAT:
        raise InvalidFormat(f"a plan result of format {wire.format!r}; this reads {FORMAT!r}")
    return PlanResult(
        schedule=schedule_from_wire(wire.schedule),
        lower_bound=wire.lower_bound,
        bound_method=wire.bound_method,
        planner=wire.planner,
        reason=wire.reason,
        seconds=wire.seconds,
        attempts=tuple(Attempt(*attempt) for attempt in wire.attempts),
        objective=wire.objective,
        values=wire.values,
        bound_seconds=wire.bound_seconds,
        certificate=wire.certificate,
        settled=wire.settled,
    )
