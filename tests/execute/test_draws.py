"""Durations as they may come."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.simulate.draws import DEVIATIONS_TO_P90, WIDEST, draws

MANY = 400


def logs(p90: float) -> np.ndarray:
    """(MANY, 2) logarithms of what is drawn for one task on two workers, over what is expected."""
    instance = Instance.from_arrays([[1.0, 4.0]], [])
    pessimistic = Instance.from_arrays([[p90, 4.0 * p90]], [])
    return np.array(
        [np.log(table[0] / instance.seconds[0]) for table in draws(instance, pessimistic, MANY)]
    )


def test_they_are_spread_as_earlier_runs_were() -> None:
    found = logs(1.5)
    assert found.mean() == pytest.approx(0.0, abs=0.05)
    assert found.std() == pytest.approx(np.log(1.5) / DEVIATIONS_TO_P90, rel=0.1)
    assert np.allclose(found[:, 0], found[:, 1]), "a long task is long wherever it runs"


def test_what_is_hardly_known_does_not_take_for_ever() -> None:
    """A mean over a few draws would be the longest of them: hours, for a task of 1 s."""
    found = logs(1e4)
    assert found.std() == pytest.approx(WIDEST, rel=0.1)
    assert np.exp(found).mean() < 3.0


def test_without_any_spread_there_is_one() -> None:
    instance = Instance.from_arrays([[1.0, 4.0]], [])
    (only,) = draws(instance, instance, 7)
    assert np.array_equal(only, instance.seconds)
