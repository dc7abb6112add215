"""What was handed in for an instance, a schedule or a budget: is it one?"""

from __future__ import annotations

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidInput
from orchestrator_core.graph.text import shown
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.schedule import Schedule

YEAR = 365.25 * 24 * 3600.0

FAR = 1e8
"""Seconds before the first release beyond which dates must be of a clock: times are compared to
1e-9 of the latest, which is longer than tasks then."""


def check_instance(instance: object) -> None:
    """
    Raises:
        InvalidInput: unless it is one, with dates that are counted from when the plan begins.
    """
    if not isinstance(instance, Instance):
        raise InvalidInput(
            f"a plan is made of an Instance, not of a {type(instance).__name__}; "
            "Instance.price(graph, cluster) makes one"
        )
    first = float(instance.graph.release.min(initial=np.inf))
    if FAR <= first < np.inf:
        raise InvalidInput(
            f"no task is released before {first:.10g} s, {first / YEAR:.0f} years after the plan "
            "begins: dates are seconds from that moment, so subtract it from releases, deadlines "
            "and due dates"
        )


def check_budget(budget: object) -> None:
    """
    Raises:
        InvalidInput: unless it is one or None.
    """
    if budget is not None and not isinstance(budget, Budget):
        raise InvalidInput(
            f"budget={shown(budget)}: expected a Budget, such as Budget(seconds=2), or None"
        )


def check_is_schedule(schedule: object, what: str) -> None:
    """`what` says whose it is, such as ``the schedule``.

    Raises:
        InvalidInput: unless it is one; where something else holds one, it says so.
    """
    if isinstance(schedule, Schedule):
        return
    found = "None" if schedule is None else f"a {type(schedule).__name__}"
    holds = isinstance(getattr(schedule, "schedule", None), Schedule)
    mend = "give its .schedule" if holds else "plan(instance).schedule is one"
    raise InvalidInput(f"{what} is {found}, not a Schedule; {mend}")
