"""What list heuristics will take is guessed well enough to keep a budget."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.lists.effort import Effort
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS
from orchestrator_core.plan.portfolio import plan

BY_NAME = {planner.name: planner for planner in LIST_PLANNERS}
LOOK_AT_ALL = ("sufferage", "max-min", "min-min", "etf", "dls", "bil")


def bag(n: int) -> Instance:
    """Independent tasks: all are ready all the time."""
    return Instance.from_arrays(np.random.default_rng(1).uniform(1.0, 5.0, (n, 4)), [])


def chain(n: int) -> Instance:
    return Instance.from_arrays(np.ones((n, 4)), [(i, i + 1, 0.0) for i in range(n - 1)])


def test_levels_are_counted() -> None:
    """Two roots, three tasks behind both, one behind them: 6 tasks, of which 3 are alike."""
    edges = [(a, b, 0.0) for a in (0, 1) for b in (2, 3, 4)] + [(b, 5, 0.0) for b in (2, 3, 4)]
    effort = Effort.of(Instance.from_arrays(np.ones((6, 2)), edges), 0.1)
    assert (effort.choices, effort.scans, effort.decode) == (12, 18.0, 0.0)


@pytest.mark.parametrize("name", LOOK_AT_ALL)
def test_rules_that_look_at_all_ready_tasks_take_long_where_these_are_many(name: str) -> None:
    """They took 0.6 to 2 s for 5000 independent tasks, where 0.1 s or less was expected."""
    wide, narrow = Effort.of(bag(5_000), 0.01), Effort.of(chain(5_000), 0.01)
    assert BY_NAME[name].seconds(wide) > 0.5
    assert BY_NAME[name].seconds(narrow) < 0.1
    assert BY_NAME["heft"].seconds(wide) == BY_NAME["heft"].seconds(narrow)


def test_where_more_than_threads_is_scarce_the_first_schedule_tells() -> None:
    instance = Instance.from_arrays(
        np.ones((4, 2)), [(0, 1, 1.0)], seconds_per_byte=1.0, encode_seconds_per_byte=1.0
    )
    effort = Effort.of(instance, 0.25)
    assert BY_NAME["heft-min"].seconds(effort) == pytest.approx(0.25, rel=0.01)
    assert BY_NAME["peft"].seconds(effort) == pytest.approx(0.5, rel=0.01)


def test_what_would_not_be_through_in_time_is_not_begun() -> None:
    result = plan(bag(5_000), Budget(seconds=0.1), ["heft", *LOOK_AT_ALL])
    notes = {attempt.planner: attempt.note for attempt in result.attempts}
    assert all("was not tried" in notes[name] for name in LOOK_AT_ALL if name in notes)
    assert result.planner == "heft"
