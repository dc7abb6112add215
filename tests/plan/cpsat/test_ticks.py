from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator_core.plan.cpsat.ticks import MOST_TICKS, Rounding, choose_ticks
from orchestrator_core.plan.cpsat.units import MOST_UNITS, whole_units

seconds = st.floats(min_value=1e-3, max_value=1e4)


@pytest.mark.parametrize(
    ("times", "tick"),
    [
        ([2.0, 4.0, 6.0], Fraction(2)),
        ([0.1, 0.25, 3.0], Fraction(1, 20)),
        ([0.1 + 0.2, 0.6], Fraction(3, 10)),
        ([1 / 3, 1.0], Fraction(1, 3)),
        ([0.0, 5e-6], Fraction(1, 200_000)),
        ([15 / 3600], Fraction(1, 240)),
        ([], Fraction(1)),
    ],
)
def test_the_tick_is_the_longest_that_loses_nothing(times: list[float], tick: Fraction) -> None:
    ticks = choose_ticks(times, horizon=10.0)
    assert ticks.rounding is Rounding.EXACT
    assert ticks.seconds_per_tick == tick
    for time in times:
        assert ticks.seconds(ticks.floor(time)) == pytest.approx(time, rel=1e-12)


@pytest.mark.parametrize("times", [[math.pi, 1.0], [1e-9, 1.0]])
def test_times_without_a_unit_that_fits_are_rounded_down(times: list[float]) -> None:
    ticks = choose_ticks(times, horizon=1e4)
    assert ticks.rounding is Rounding.FLOOR
    for time in times:
        assert 0 <= time - ticks.seconds(ticks.floor(time)) < ticks.seconds_per_tick


@given(seconds, st.integers(min_value=10, max_value=MOST_TICKS))
def test_a_horizon_in_ticks_is_neither_too_long_nor_wasteful(horizon: float, most: int) -> None:
    ticks = choose_ticks([math.pi, math.e], horizon, most)
    assert most // 2 <= ticks.floor(horizon) <= most


@given(seconds, seconds)
def test_rounding_down_never_makes_a_chain_longer(a: float, b: float) -> None:
    ticks = choose_ticks([math.pi], horizon=1e5)
    assert ticks.floor(a) + ticks.floor(b) <= ticks.floor(a + b)


def test_a_deadline_between_ticks_rounds_down_and_a_horizon_up() -> None:
    ticks = choose_ticks([2.0, 4.0], horizon=10.0)
    assert ticks.floor(5.0) == 2
    assert ticks.ceil(5.0) == 3
    assert ticks.ceil(6.0) == ticks.floor(6.0) == 3


def test_seconds_of_a_tick_are_not_off_by_accumulated_noise() -> None:
    assert choose_ticks([0.1, 0.3], horizon=10.0).seconds(3) == 0.3


@pytest.mark.parametrize(
    ("demands", "capacity", "whole"),
    [
        ([2e9, 4e9], 7e9, ([1, 2], 3)),
        ([0.5, 0.25, 0.0], 1.0, ([2, 1, 0], 4)),
        ([0.1, 0.2], 0.3, ([1, 2], 3)),
        ([], 5.0, ([], 1)),
        ([1.0, 1e30], 3.0, ([1, 7], 3)),
        ([1.0, 0.0], 0.0, ([1, 0], 0)),
    ],
)
def test_amounts_with_a_unit_are_exact(
    demands: list[float], capacity: float, whole: tuple[list[int], int]
) -> None:
    assert whole_units(demands, capacity) == whole


@given(
    st.lists(st.floats(min_value=0.0, max_value=1e12), min_size=1, max_size=6),
    st.just(0.0) | st.floats(min_value=1.0, max_value=1e12),
)
def test_what_fits_in_amounts_fits_in_whole_units(demands: list[float], capacity: float) -> None:
    whole, limit = whole_units(demands, capacity)
    assert limit <= MOST_UNITS
    if sum(demands) <= capacity:
        assert sum(whole) <= limit


@pytest.mark.parametrize("capacity", [0.0, 1e-300, 0.7])
def test_what_is_more_than_there_is_stays_so(capacity: float) -> None:
    """Amounts without a unit, the least of them 1.4 times the largest capacity."""
    whole, limit = whole_units([0.987654321, 1e30 / 7, 0.0], capacity)
    assert whole[0] > limit
    assert limit < whole[1] < 2**32
    assert whole[2] == 0
