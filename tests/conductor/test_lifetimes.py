"""What a conducted function has closed over goes when the function goes."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from orchestrator_core.conductor import conduct

CALLS = 8
LAST = 2
"""Calls whose arrays JAX may still hold, for the next one like them."""

WAYS: dict[str, Callable[[Any], Any]] = {
    "called": conduct,
    "its derivative": lambda function: jax.grad(conduct(function)),
    "for each element": lambda function: jax.vmap(conduct(function)),
    "its tangents": lambda function: lambda x: jax.jvp(conduct(function), (x,), (x,)),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_a_function_has_closed_over_goes_with_it(way: str) -> None:
    left = [_called(WAYS[way], size) for size in range(3, 3 + CALLS)]
    for _ in range(3):  # what one collection lets go of may hold what the next one finds
        gc.collect()
    assert sum(each() is not None for each in left) <= LAST


def _called(way: Callable[[Any], Any], size: int) -> weakref.ref[jax.Array]:
    """Calls a function with an array of its own, which is all that is left of it."""
    weights = jnp.ones((size, 5)) + 0
    jax.block_until_ready(way(lambda x: (x @ weights).sum() * 2)(jnp.ones((4, size))))
    return weakref.ref(weights)
