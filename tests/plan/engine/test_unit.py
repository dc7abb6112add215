"""The unit of times: whole multiples, or none."""

from __future__ import annotations

from fractions import Fraction

import pytest

from orchestrator_core.plan.engine.unit import common_unit


@pytest.mark.parametrize(
    ("times", "unit"),
    [
        ([], Fraction(1)),
        ([4.0, 6.0], Fraction(2)),
        ([0.1, 0.2, 0.1 + 0.2], Fraction(1, 10)),
        ([1 / 3, 0.5], Fraction(1, 6)),
        ([1.0, 2**0.5], None),
        # Times that overflow when they are scaled have none.
        ([1.0, 1e308], None),
    ],
)
def test_the_largest_time_of_which_all_are_multiples(
    times: list[float], unit: Fraction | None
) -> None:
    assert common_unit(times) == unit
