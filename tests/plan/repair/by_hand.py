"""Tiny plans for repair, and a check of every repair."""

from __future__ import annotations

from typing import Any

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.repair import Replan, check_replan, replan
from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer


def two_workers(**more: Any) -> Instance:
    """a (2 s) and b (4 s) feed c (3 s); d (2 s) is alone. Moving an output takes 1 s."""
    return Instance.from_arrays(
        [[2.0] * 2, [4.0] * 2, [3.0] * 2, [2.0] * 2],
        [(0, 2, 1.0), (1, 2, 1.0)],
        seconds_per_byte=1.0,
        task_names=["a", "b", "c", "d"],
        **more,
    )


def their_plan() -> Schedule:
    """a, then d on w0; b, then c on w1; a's output is sent to w1."""
    return Schedule(
        [
            Assignment("a", "w0", 0, 2),
            Assignment("b", "w1", 0, 4),
            Assignment("c", "w1", 4, 7),
            Assignment("d", "w0", 2, 4),
        ],
        [Transfer("a", "w0", "w1", 2, 2, 3, 1.0)],
    )


def repaired(*args: Any, **options: Any) -> Replan:
    """`replan`, and the result is valid."""
    result = replan(*args, **options)
    check_replan(result)
    return result


def row(result: Replan, task: str, instance: int = 0) -> Assignment:
    """Where a task instance is in the repaired schedule."""
    rows = result.schedule.assignments
    return next(a for a in rows if a.task == task and a.instance == instance)
