"""Finer kinds: coarse names for how fast a worker is, and the way back to its kind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator_core.graph.finer_kind import finer_kind, plain_kind


@pytest.mark.parametrize(
    ("speed", "name"),
    [
        (1.0, "4t-16g"),
        (1.09, "4t-16g"),
        (0.92, "4t-16g"),
        (1.8, "4t-16g~x2"),
        (2.2, "4t-16g~x2"),
        (0.5, "4t-16g~x0.5"),
        (0.26, "4t-16g~x0.25"),
        (4.3, "4t-16g~x4"),
        (9.8, "4t-16g~x10"),
        (39.0, "4t-16g~x40"),
        (1 / 39.0, "4t-16g~x0.025"),
    ],
)
def test_a_speed_is_named_by_the_nearest_step(speed: float, name: str) -> None:
    assert finer_kind("4t-16g", speed) == name


@given(st.floats(1e-4, 1e4), st.sampled_from(["worker", "8t-64g-GPU1-h100", "a~b", "~"]))
def test_the_kind_comes_back(speed: float, kind: str) -> None:
    assert plain_kind(finer_kind(kind, speed)) == kind
    assert plain_kind(kind) == kind
