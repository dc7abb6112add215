"""What cannot be is refused, with a word on what it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from orchestrator_core.errors import InvalidInput
from orchestrator_core.plan.repair import (
    Failed,
    Finished,
    Held,
    Pausable,
    Repairer,
    Running,
    Waiting,
    WorkerLost,
    replan,
)
from orchestrator_core.plan.schedule import Assignment, Schedule
from tests.plan.repair.by_hand import their_plan, two_workers


@dataclass(frozen=True)
class Holder:
    """Holds a schedule, as the result of a plan does."""

    schedule: Schedule


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([Failed("x")], "no task 'x'"),
        ([Waiting("a", instance=1)], "no instance 1"),
        ([Finished("a", end=5.0)], "not in the past"),
        ([Finished("a", end=1.0, start=2.0)], "starts after its end"),
        ([Finished("a", end=2.0, worker="w9")], "no worker 'w9'"),
        ([Finished("a", end=2.0, mode=3)], "no mode 3"),
        ([Running("b", expected_end=2.0)], "expected to end before now"),
        ([Running("b", expected_end=float("inf"))], "expected to end before now"),
        ([Running("b", expected_end=9.0, start=4.0)], "not in the past"),
        ([Failed("a"), Finished("a", end=2.0)], "two events"),
        ([WorkerLost("w0"), WorkerLost("w0")], "lost already"),
        ([WorkerLost("w7")], "no worker 'w7'"),
        ([WorkerLost("w0"), WorkerLost("w1")], "all workers are lost"),
        ([Held("c", "w0", since=1.0)], "has not ended"),
        ([Held("a", "w1", since=4.0)], "not in the past"),
        ([Pausable("y")], "no task 'y'"),
        ([Finished("a", end="2")], "not in the past"),  # type: ignore[arg-type]
        ([Finished("a", end=2.0, instance="0")], "no instance '0'"),  # type: ignore[arg-type]
        ([Finished("a", end=2.0, mode="x")], "no mode 'x'"),  # type: ignore[arg-type]
        ([Running("b", expected_end="9")], "expected to end before now"),  # type: ignore[arg-type]
        ([WorkerLost(["w0"])], r"no worker \['w0'\]"),  # type: ignore[arg-type]
        ([Failed(["a"])], r"no task \['a'\]"),  # type: ignore[arg-type]
        ("late", "events is 'late'; give a list"),
        (["late"], "'late' is no event of a repair; there are Finished, Running"),
        (WorkerLost("w0"), r"events is .*; give a list: \[WorkerLost\(name='w0'\)\]"),
        (5, "events is 5; give a list"),
    ],
)
def test_events_that_cannot_be(events: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        replan(two_workers(), their_plan(), 3.0, events)


@pytest.mark.parametrize("now", [-1.0, float("nan"), float("inf"), 10**400, "soon"])
def test_moments_that_cannot_be(now: Any) -> None:
    with pytest.raises(InvalidInput, match="now is"):
        replan(two_workers(), their_plan(), now)


def test_a_schedule_of_another_instance() -> None:
    other = Schedule([Assignment("x", "w0", 0, 1)])
    with pytest.raises(InvalidInput, match="schedule of another instance"):
        replan(two_workers(), other, 0.0)
    twice = Schedule([Assignment("a", "w0", 0, 2), Assignment("a", "w1", 0, 2)])
    with pytest.raises(InvalidInput, match="2 times"):
        replan(two_workers(), twice, 0.0)
    modes = Schedule([Assignment("a", "w0", 0, 2, mode=1)])
    with pytest.raises(InvalidInput, match="planned in mode 1"):
        replan(two_workers(), modes, 0.0)
    with pytest.raises(InvalidInput, match="no task 'z'"):
        replan(two_workers(), their_plan(), 0.0, wanted=["z"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((two_workers(), Holder(their_plan())), r"the schedule is a Holder, .*its \.schedule"),
        ((two_workers(), None), r"the schedule is None, not a Schedule; plan\("),
        ((None, their_plan()), "an Instance, not of a NoneType"),
    ],
)
def test_what_cannot_be_repaired(given: tuple[Any, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        replan(*given, 1.0)


def test_a_budget_that_is_none() -> None:
    with pytest.raises(InvalidInput, match="budget=5: expected a Budget"):
        replan(two_workers(), their_plan(), 1.0, budget=5)  # type: ignore[arg-type]


def test_time_does_not_go_back_and_workers_are_lost_once() -> None:
    repairer = Repairer(two_workers(), their_plan())
    repairer.replan(2.0, [WorkerLost("w0")])
    with pytest.raises(InvalidInput, match="last repair"):
        repairer.replan(1.0)
    with pytest.raises(InvalidInput, match="lost already"):
        repairer.replan(3.0, [WorkerLost("w0")])


@pytest.mark.parametrize("wanted", ["c", 5, None])
def test_a_name_by_itself_is_no_list_of_wanted_tasks(wanted: Any) -> None:
    with pytest.raises(InvalidInput, match=r"wanted is .*; give a list of tasks"):
        Repairer(two_workers(), their_plan(), wanted=wanted)
