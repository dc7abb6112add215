"""Results are compared by a stated tolerance."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.guard.differences import difference, tolerance
from orchestrator_core.conductor.guard.inputs import like


@pytest.mark.parametrize(
    ("dtype", "allowed"),
    [("float32", 1.2e-4), ("bfloat16", 0.125), ("float16", 0.0156), ("complex64", 1.2e-4)],
)
def test_what_is_allowed_is_relative_to_the_largest_element(dtype: str, allowed: float) -> None:
    expected = jnp.asarray([8.0, 0.0, 1.0], dtype)
    assert tolerance(expected.dtype) == pytest.approx(allowed, rel=0.05)
    assert difference([expected], [expected + 8 * 0.9 * allowed]) is None
    assert difference([expected], [expected + 8 * 1.5 * allowed]) is not None


def test_integers_booleans_and_keys_must_be_equal() -> None:
    for one, other in (
        (jnp.arange(3), jnp.asarray([0, 1, 3])),
        (jnp.asarray([True]), jnp.asarray([False])),
        (jax.random.key(0), jax.random.key(1)),
    ):
        assert difference([one], [one]) is None
        assert difference([one], [other]) is not None


@pytest.mark.parametrize(
    ("expected", "found"),
    [([np.nan, 1], [1, 1]), ([1, 1], [1, np.inf]), ([np.inf, 1], [-np.inf, 1])],
)
def test_nan_and_infinities_must_be_where_they_were(expected: Any, found: Any) -> None:
    one, other = jnp.asarray(expected, "float32"), jnp.asarray(found, "float32")
    assert difference([one], [one]) is None
    assert "elsewhere" in str(difference([one], [other]))


def test_other_shapes_and_types_differ() -> None:
    x = jnp.ones((2, 3))
    assert difference([x], [x.T]) is not None
    assert difference([x], [x.astype("bfloat16")]) is not None


def test_all_zeros_must_stay_zeros() -> None:
    assert difference([jnp.zeros(3)], [jnp.full(3, 1e-30)]) is not None


def test_random_inputs_look_like_those_of_the_call() -> None:
    positive, mixed = jnp.asarray([1e6, 2e6]), jnp.asarray([-1e-6, 2e-6])
    index, key = jnp.arange(5), jax.random.key(0)
    drawn = like([positive, mixed, index, key, 3.0])
    assert float(drawn[0].min()) >= 0
    assert float(jnp.abs(drawn[0]).max()) > 1e4
    assert float(jnp.abs(drawn[1]).max()) < 1e-4
    assert drawn[2] is index
    assert drawn[3] is key
    assert drawn[4] == 3.0
