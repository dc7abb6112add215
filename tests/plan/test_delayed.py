"""A schedule moved in time is the same schedule, later."""

from __future__ import annotations

from orchestrator_core.plan.delayed import delayed
from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer

ROWS = [
    Assignment("a", "w", 0.0, 2.0, mode=1),
    Assignment("b", "v", 3.0, 6.0, instance=2, segments=((3.0, 4.0), (5.0, 6.0))),
]
SENT = [Transfer("a", "w", "v", 2.0, 2.5, 3.0, 10.0)]


def test_all_its_times_move_and_nothing_else() -> None:
    assert delayed(Schedule(ROWS, SENT), 1.5) == Schedule(
        [
            Assignment("a", "w", 1.5, 3.5, mode=1),
            Assignment("b", "v", 4.5, 7.5, instance=2, segments=((4.5, 5.5), (6.5, 7.5))),
        ],
        [Transfer("a", "w", "v", 3.5, 4.0, 4.5, 10.0)],
    )


def test_back_again() -> None:
    made = Schedule(ROWS, SENT)
    assert delayed(delayed(made, 1.5), -1.5) == made
    assert delayed(made, 0.0) is made
    assert len(delayed(Schedule([]), 3.0)) == 0
