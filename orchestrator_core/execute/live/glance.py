"""What speaks for a run by its announced plan, seen at a glance: to read it all takes longer."""

from __future__ import annotations

import math

import msgspec

from orchestrator_core.execute.turns import Claim
from orchestrator_core.plan.schedule_wire import AssignmentWire


class _Schedule(msgspec.Struct):
    assignments: list[AssignmentWire]


class _Plan(msgspec.Struct):
    schedule: _Schedule
    dated: bool = False


NO_CLAIM = Claim(False, math.inf)
"""All others go first."""


def claim_of(text: bytes) -> Claim:
    """The claim of a run with this `LivePlan` as JSON; `NO_CLAIM` where the text is no such thing,
    which whoever reads it all will tell."""
    try:
        plan = msgspec.json.decode(text, type=_Plan)
    except (msgspec.MsgspecError, UnicodeError):
        return NO_CLAIM
    work = sum([end - start for *_, start, end in plan.schedule.assignments])
    return Claim(plan.dated, work)
