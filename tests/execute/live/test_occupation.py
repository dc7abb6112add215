"""What others leave of a worker's threads."""

from __future__ import annotations

import random

import pytest

from orchestrator_core.execute.live.occupation import occupied


@pytest.mark.parametrize(
    ("ours", "others", "queue", "threads", "expected"),
    [
        ([], [], 0.0, 2, []),
        ([3.0], [], 0.0, 2, []),
        ([], [3.0], 0.0, 2, [3.0]),
        ([], [], 5.0, 1, [5.0]),
        ([2.0], [], 5.0, 1, [7.0]),
        ([], [], 6.0, 2, [3.0, 3.0]),
        ([], [10.0], 6.0, 3, [10.0, 3.0, 3.0]),
        ([3.0], [], 4.0, 2, [3.5, 3.5]),
        ([9.0], [], 4.0, 2, [4.0]),
        ([1.0], [2.0, 3.0], 0.0, 1, [2.0, 3.0]),
        ([], [], 4.0, 0, []),
    ],
)
def test_by_hand(
    ours: list[float], others: list[float], queue: float, threads: int, expected: list[float]
) -> None:
    assert occupied(ours, others, queue, threads) == expected


def test_the_queue_is_worked_off_and_nothing_else_is() -> None:
    dice = random.Random(3)
    for _ in range(300):
        ours = [dice.uniform(0, 9) for _ in range(dice.randint(0, 3))]
        others = [dice.uniform(0, 9) for _ in range(dice.randint(0, 3))]
        threads = len(ours) + len(others) + dice.randint(0, 3)
        queue = dice.choice([0.0, dice.uniform(0, 30)])
        found = occupied(ours, others, queue, threads)
        raised = found[len(others) :]
        kept = [seconds for seconds in ours if not raised or seconds >= raised[0]]
        if threads:
            assert sum(found) + sum(kept) == pytest.approx(sum(ours) + sum(others) + queue)
            assert len(found) + len(kept) <= threads
