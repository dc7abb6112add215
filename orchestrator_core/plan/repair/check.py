"""check_replan: is a repair valid? By `check_schedule` on the rest, and by looking at the past."""

from __future__ import annotations

import numpy as np

from orchestrator_core.errors import InvalidSchedule
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.repair.rest import BLOCKED, WAITING
from orchestrator_core.plan.repair.result import Replan


def check_replan(result: Replan) -> None:
    """Return if the repaired schedule keeps every rule, and raise if it breaks one.

    Beside the rules of `check_schedule` for the rest as an instance (`remainder.py`): nothing new
    begins before `now` (rule `past`), and what has begun stays as it was (rule `frozen`). Deadlines
    that the repair names in `missed` are not looked at.

    Raises:
        InvalidSchedule: with the first rule that is broken.
    """
    rest = result.remainder
    check_schedule(rest.instance, rest.schedule)
    eps = 1e-9 * max(1.0, rest.schedule.makespan)
    _check_past(result, eps)
    _check_frozen(result)


def _check_past(result: Replan, eps: float) -> None:
    sends = result._sends
    early = np.flatnonzero(sends.sent < result.now - eps)
    if len(early):
        unit = int(sends.unit[early[0]])
        raise InvalidSchedule(
            f"the output of {result._basis.label(unit)} is sent at {sends.sent[early[0]]:.9g} s, "
            f"but now is {result.now:.9g} s",
            rule="past",
        )


def _check_frozen(result: Replan) -> None:
    rest, schedule = result._remains.rest, result.schedule
    units = np.flatnonzero(rest.status != BLOCKED)  # the rows of the schedule
    begun = rest.status[units] != WAITING
    same = (
        (schedule.start[begun] == rest.start[units[begun]])
        & (schedule.end[begun] == rest.end[units[begun]])
        & (schedule.worker[begun] == rest.worker[units[begun]])
    )
    if not same.all():
        unit = int(units[begun][np.argmin(same)])
        raise InvalidSchedule(f"{result._basis.label(unit)} was changed", rule="frozen")
