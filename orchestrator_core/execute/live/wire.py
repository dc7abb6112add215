"""Live plans as JSON: strict, data only."""

from __future__ import annotations

import math

import msgspec

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidFormat
from orchestrator_core.execute.live.live_plan import LivePlan
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.schedule import Schedule

FORMAT = "orchestrator.live-plan/2"


class LivePlanWire(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """`instance` and `schedule` are JSON of their own formats; `dated` follows from the others, for
    who only glances at them (`glance`)."""

    format: str
    instance: msgspec.Raw
    schedule: msgspec.Raw
    predicted: float
    objective: str = "makespan"
    thrifty: bool = False
    prefetch: bool = False
    max_price: float | None = None
    changeover: float = 0.0
    crowding: float = 1.0
    dated: bool = False


def encode_plan(plan: LivePlan) -> bytes:
    return msgspec.json.encode(
        LivePlanWire(
            FORMAT,
            msgspec.Raw(plan.instance.to_json()),
            msgspec.Raw(plan.schedule.to_json()),
            plan.predicted,
            str(plan.objective),
            plan.thrifty,
            plan.prefetch,
            plan.max_price,
            plan.changeover,
            plan.crowding,
            plan.is_dated,
        )
    )


def decode_plan(text: str | bytes) -> LivePlan:
    try:
        wire = msgspec.json.decode(text, type=LivePlanWire)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise InvalidFormat(f"no live plan in JSON ({FORMAT}): {error}") from None
    if wire.format != FORMAT:
        raise InvalidFormat(f"a live plan of format {wire.format!r}; this version reads {FORMAT!r}")
    if not (math.isfinite(wire.predicted) and wire.predicted >= 0):
        raise InvalidFormat("a live plan ends after finite seconds")
    if not 0 <= wire.changeover < math.inf:
        raise InvalidFormat("a live plan has finite seconds >= 0 between two tasks")
    if not 1 <= wire.crowding < math.inf:
        raise InvalidFormat("transfers of a live plan take a finite factor >= 1 longer")
    if wire.max_price is not None and not wire.max_price >= 0:
        raise InvalidFormat("a live plan may cost a price >= 0")
    return LivePlan(
        Instance.from_json(bytes(wire.instance)),
        Schedule.from_json(bytes(wire.schedule)),
        wire.predicted,
        Objective.of(wire.objective),
        wire.thrifty,
        wire.prefetch,
        wire.max_price,
        wire.changeover,
        wire.crowding,
    )
