"""Occupancy: claims exceed a supply exactly where counting at every moment says so."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator_core.plan.checks.profile import Claims, first_excess

AMOUNTS = st.sampled_from([[1.0], [0.1], [3.0], [0.0, 1.0], [0.1, 0.2, 0.5]])
SUPPLIES = st.sampled_from([0.0, 0.3, 1.0, 2.0, 7.0, np.inf])
SPANS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 4), st.integers(0, 1)), max_size=12)


def excess_by_counting(claims: Claims, supply: list[float]) -> float | None:
    """The first start of a claim at which too much is taken, looked at one by one."""
    moments = []
    for at, b in zip(claims.start, claims.worker, strict=True):
        during = (claims.worker == b) & (claims.start <= at) & (at < claims.end)
        if claims.amount[during].sum() > supply[b] + 1e-9:
            moments.append(float(at))
    return min(moments, default=None)


@given(st.data(), AMOUNTS, SPANS, st.tuples(SUPPLIES, SUPPLIES))
def test_an_excess_is_found_exactly_where_there_is_one(
    data: st.DataObject,
    amounts: list[float],
    spans: list[tuple[int, int, int]],
    supply: tuple[float, float],
) -> None:
    start, length, worker = np.array(spans, dtype=np.int64).reshape(-1, 3).T
    drawn = data.draw(st.lists(st.sampled_from(amounts), min_size=len(spans), max_size=len(spans)))
    times = start.astype(np.float64), (start + length).astype(np.float64)
    claims = Claims(np.arange(len(spans)), worker, *times, np.array(drawn, dtype=np.float64))
    found = first_excess(claims, np.array(supply), 1e-9)
    moment = None if found is None else pytest.approx(found.moment, abs=1e-6)
    assert moment == excess_by_counting(claims, list(supply))


def test_what_one_worker_holds_is_not_in_the_rounding_of_another() -> None:
    """Sums over all workers lost 2 bytes in 3e16."""
    amount = np.array([3e16, 18.0])
    claims = Claims(np.arange(2), np.arange(2), np.zeros(2), np.ones(2), amount)
    found = first_excess(claims, np.array([4e16, 10.0]), 1e-9)
    assert found is not None
    assert (found.worker, found.taken, found.supply) == (1, 18.0, 10.0)
    assert first_excess(claims, np.array([4e16, 18.0]), 1e-9) is None
