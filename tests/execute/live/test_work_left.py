"""What is left of a plan: by what has ended and what can have begun, not by the clock alone."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core.execute.live.work_left import work_left
from orchestrator_core.plan.schedule import Assignment, Schedule

PLAN = Schedule(
    [
        Assignment("a", "w0", 0.0, 4.0),
        Assignment("b", "w0", 0.0, 6.0),
        Assignment("c", "w0", 4.0, 5.0),
        Assignment("d", "w1", 2.0, 5.0),
    ]
)
TASKS = [PLAN.task_names[task] for task in PLAN.task.tolist()]


def left(now: float, ended: str = "", sent: str = "abcd", threads: int = 2) -> list[float]:
    is_open = np.array([task not in ended for task in TASKS])
    is_sent = np.array([task in sent for task in TASKS])
    by_name = dict(
        zip(PLAN.worker_names, work_left(PLAN, is_open, is_sent, (threads, 1), now), strict=True)
    )
    return [by_name["w0"], by_name["w1"]]


@pytest.mark.parametrize(
    ("now", "more", "seconds", "why"),
    [
        (0.0, {}, [11.0, 3.0], "nothing has begun"),
        (3.0, {}, [1.0 + 3.0 + 1.0, 2.0], "two on the first, one on the second"),
        (3.0, {"sent": ""}, [11.0, 3.0], "what no worker was told of has not begun"),
        (3.0, {"threads": 1}, [1.0 + 6.0 + 1.0, 2.0], "one thread has begun one of them"),
        (4.5, {"ended": "a"}, [1.5 + 0.5, 0.5], "the third has the thread of the first"),
        (4.5, {}, [1.125 + 1.5 + 1.0, 0.5], "the first is late, and the third waits for it"),
        (8.0, {"ended": "abc"}, [0.0, 1.5], "a quarter of its age more"),
        (9.0, {"ended": "abcd"}, [0.0, 0.0], "all is done"),
    ],
)
def test_what_is_left(now: float, more: dict[str, str], seconds: list[float], why: str) -> None:
    assert left(now, **more) == pytest.approx(seconds), why  # type: ignore[arg-type]
