"""Several plans become one promise."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.record import PlanRecord
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer
from orchestrator_prefect.promise import Epoch, finite_gap, promise


def graph(name: str) -> TaskGraph:
    builder = TaskGraph.build()
    builder.task(name)
    return builder.done()


def plan(task: str, seconds: float, bound: float, **fields: object) -> PlanRecord:
    schedule = Schedule(
        [Assignment(task, "w", 0.0, seconds)],
        [Transfer(task, "w", "v", seconds, seconds, seconds + 1.0, 10.0)],
    )
    made = PlanRecord(schedule, seconds, bound, f"bound of {task}", "heft", "hit", True, "pays")
    return replace(made, **fields)  # type: ignore[arg-type]


def epoch(started: float, made: PlanRecord | None, name: str = "t") -> Epoch:
    return Epoch(graph(name), Advice(made, "reason"), started)


def test_no_plan_no_promise() -> None:
    assert promise([]) is None
    assert promise([epoch(0.0, None), Epoch(graph("t"), None, 1.0)]) is None


def test_one_epoch_keeps_its_plan() -> None:
    only = plan("a", 4.0, 3.0)
    assert promise([epoch(0.0, only)]) is only


def test_epochs_follow_each_other() -> None:
    """The second epoch starts at 10 s: ends at 10 + 5, and cannot end before 10 + 4."""
    joined = promise([epoch(0.0, plan("a", 4.0, 3.0)), epoch(10.0, plan("b", 5.0, 4.0), "b")])
    assert joined is not None
    assert joined.predicted == 15.0
    assert joined.lower_bound == 14.0
    assert joined.bound_method == "bound of b"
    assert [(row.task, row.start) for row in joined.schedule.assignments] == [
        ("a", 0.0),
        ("b", 10.0),
    ]
    assert joined.schedule.transfers[1].end == 16.0


def test_a_long_first_epoch_bounds_the_whole() -> None:
    joined = promise([epoch(0.0, plan("a", 40.0, 30.0)), epoch(10.0, plan("b", 5.0, 4.0), "b")])
    assert joined is not None
    assert (joined.predicted, joined.lower_bound) == (40.0, 30.0)


def test_what_was_not_followed_is_no_part_of_the_promise() -> None:
    refused = plan("b", 5.0, 4.0, adopted=False, cache="miss")
    joined = promise([epoch(0.0, plan("a", 4.0, 3.0)), epoch(10.0, refused, "b")])
    assert joined is not None
    assert joined.adopted
    assert joined.predicted == 4.0
    assert joined.cache == "hit"


@pytest.mark.parametrize(
    ("predicted", "bound", "gap"),
    [(12.0, 10.0, 0.2), (10.0, 10.0, 0.0), (10.0, 0.0, None), (10.0, math.nan, None)],
)
def test_the_gap_is_measured_from_the_bound(
    predicted: float, bound: float, gap: float | None
) -> None:
    found = finite_gap(plan("a", predicted, bound))
    assert found == (None if gap is None else pytest.approx(gap))
