"""Hard deadlines come before all else that a repair minimises, however little they are missed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.repair import Running
from orchestrator_core.plan.repair.choosing import Option, steadiest
from orchestrator_core.plan.repair.rest import Placement
from orchestrator_core.plan.schedule import Assignment, Schedule
from tests.plan.repair.by_hand import repaired, row

BUDGETS = (None, Budget(iterations=200))
MEMORY: tuple[dict[str, Any], ...] = ({}, {"memory": 10.0, "output_bytes": 1.0})
"""Without it only threads are scarce, which is for other code."""

NOWHERE = Placement(*(np.zeros(0, dtype=kind) for kind in (float, float, int, int)))


def option(makespan: float, late: float = 0.0) -> Option:
    return Option(NOWHERE, makespan, late, np.zeros(0, dtype=np.int64))


def test_nothing_is_gained_by_a_missed_deadline() -> None:
    kept, short = option(1000.0), option(10.0, late=0.001)
    assert steadiest([kept, short]) is kept


def test_a_deadline_is_worth_moving_for() -> None:
    kept, longer = option(100.0, late=0.0005), option(101.0)
    assert steadiest([kept, longer]) is longer


def test_most_of_the_gain_is_not_enough_where_a_deadline_can_be_kept() -> None:
    kept, half, anew = option(100.0, late=10.0), option(100.0, late=1.0), option(100.0)
    assert steadiest([kept, half, anew]) is anew
    assert steadiest([kept, half, option(100.0, late=0.5)]) is half


def test_rounding_is_no_lateness() -> None:
    kept, anew = option(100.0, late=1e-9), option(99.5)
    assert steadiest([kept, anew]) is kept


@pytest.mark.parametrize("more", MEMORY)
@pytest.mark.parametrize("budget", BUDGETS)
def test_a_deadline_that_the_plan_keeps_is_kept(
    more: dict[str, Any], budget: Budget | None
) -> None:
    """`long` would be through at once on w0, but `due` comes after it there."""
    instance = Instance.from_arrays(
        [[0.001, 1000.0], [10.0, 20.0]],
        [],
        task_names=["long", "due"],
        deadline=[np.inf, 10.0],
        **more,
    )
    plan = Schedule([Assignment("long", "w1", 0, 5), Assignment("due", "w0", 0, 10)])
    result = repaired(instance, plan, 0.0, budget=budget)
    assert result.missed == ()
    assert row(result, "due").end == 10.0


@pytest.mark.parametrize("more", MEMORY)
@pytest.mark.parametrize("budget", BUDGETS)
def test_a_deadline_that_moving_keeps_is_kept(more: dict[str, Any], budget: Budget | None) -> None:
    """`late` holds `due` up for half a millisecond; on w1 it would be in time."""
    instance = Instance.from_arrays(
        [[5.0, 5.0, 5.0], [5.0, 6.0, np.inf], [np.inf, np.inf, 100.0]],
        [],
        task_names=["late", "due", "long"],
        deadline=[np.inf, 10.0, np.inf],
        **more,
    )
    plan = Schedule(
        [
            Assignment("late", "w0", 0, 5),
            Assignment("due", "w0", 5, 10),
            Assignment("long", "w2", 0, 100),
        ]
    )
    result = repaired(instance, plan, 1.0, [Running("late", 5.0005)], budget=budget)
    assert result.missed == ()
    assert row(result, "due").worker == "w1"
