"""finished: a placement at the times at which it costs least (stage 3)."""

from __future__ import annotations

import math

from orchestrator_core.plan.objectives.judge import Judge, Value
from orchestrator_core.plan.objectives.shorter_leases import seconds_to_shorten, shorter_leases
from orchestrator_core.plan.objectives.values import least_price
from orchestrator_core.plan.schedule import Schedule

SHARE = 0.03
"""Of the time that is left, for one of many schedules."""


def finished(
    judge: Judge, schedule: Schedule, best: Value | None = None, left: float = math.inf
) -> Schedule:
    """The schedule, or the same placement with shorter leases if the price counts and they are
    better.

    Args:
        best: what it has to beat; where it cannot, it stays as it is.
        left: seconds for all that is still to be tried; where this takes a `SHARE` of them, it
            stays as it is.
    """
    if "price" not in judge.objective.criteria or seconds_to_shorten(schedule) > SHARE * left:
        return schedule
    least, value = hoped(judge, schedule), judge.value(schedule)
    if not judge.better(least, best) or not judge.better(least, value):
        return schedule
    later = shorter_leases(judge.instance, schedule)
    return later if judge.better(judge.value(later), value) else schedule


def hoped(judge: Judge, schedule: Schedule) -> Value:
    """What the placement is worth if no worker is rented for longer than it works."""
    value = judge.value(schedule)
    if "price" not in judge.objective.criteria:
        return value
    least = least_price(judge.instance, schedule)
    criteria = zip(judge.objective.criteria, value, strict=True)
    return tuple(min(least, v) if name == "price" else v for name, v in criteria)
