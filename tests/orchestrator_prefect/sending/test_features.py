"""How large arguments are is noted, never what they say."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from prefect import flow

from orchestrator_prefect.sending.features import (
    MOST,
    features_now,
    features_of,
    features_of_flow,
    flow_features,
)


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (1_234_567, 1_200_000.0),
        (0.00123, 0.0012),
        (np.int64(5), 5.0),
        (Fraction(7, 2), 3.5),
        ([1, 2, 3], 3.0),
        ({"a": 1}, 1.0),
        (range(1000), 1000.0),
        (b"four", 4.0),
        (np.zeros((20, 30)), 600.0),
    ],
)
def test_sizes_to_two_digits(value: Any, size: float) -> None:
    assert features_of({"x": value}) == {"x": size}


class Odd:
    """It cannot be asked."""

    @property
    def shape(self) -> Any:
        raise RuntimeError("nobody knows")


@pytest.mark.parametrize(
    "value",
    [
        *("text", "123456", None, True, 0, -1, -2.5, [], float("nan"), float("inf")),
        *(10**400, object(), Odd()),
    ],
)
def test_what_has_no_size_is_none(value: Any) -> None:
    assert features_of({"x": value}) == {}


def test_they_are_few() -> None:
    assert len(features_of({f"x{i}": 1 for i in range(100)})) == MOST
    assert features_of({"x" * 1000: 1}) == {}


@flow(name="monthly")
def report(rows: int, n: int) -> None: ...


@flow
def other(n: int) -> None: ...


def test_a_parameter_that_was_handed_on_is_so_again() -> None:
    then = {"rows": 1e4, "seed": 7.0, **features_of_flow(report, {"rows": 1e4, "n": 3})}
    now = flow_features([features_of_flow(report, {"rows": 1e6, "n": 3}), {"seed": 9.0}])
    assert now == {"rows (flow report)": 1e6, "n (flow report)": 3.0}
    assert features_now(then, now) == {"rows": 1e6, "seed": 7.0, **now}
    assert features_now(then, {}) == then


def test_parameters_of_two_flows_are_two_features_although_they_have_one_name() -> None:
    """A task of both would be foretold by a number that says something else there."""
    one, two = (features_of_flow(each, {"n": 3}) for each in (report, other))
    assert not one.keys() & two.keys()
    renamed = report.with_options(name="weekly")
    assert features_of_flow(renamed, {"n": 3}) == one
