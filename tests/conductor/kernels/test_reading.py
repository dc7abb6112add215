"""Where values come from, as kernels of attention are recognised."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.kernels.attention.reading import Reading

MANY = 3000
"""Operations one after another: more than Python lets functions call each other."""


def number(function: Callable[[jax.Array], jax.Array]) -> float | None:
    """What the result of a function is everywhere."""
    graph = read(jax.make_jaxpr(function)(jnp.ones(3)))
    return Reading(graph).number(graph.outputs[0])


def test_roots_of_a_number_are_numbers() -> None:
    def function(_: jax.Array) -> jax.Array:
        return jnp.broadcast_to(lax.sqrt(lax.rsqrt(jnp.bfloat16(1 / 16)).astype("float32")), (3, 4))

    assert number(function) == pytest.approx(2.0)


@pytest.mark.parametrize("step", [jnp.sin, lambda x: x[None, :].reshape(3)], ids=["sin", "views"])
def test_a_long_chain_is_followed_to_its_end(step: Callable[[jax.Array], jax.Array]) -> None:
    def function(x: jax.Array) -> jax.Array:
        for _ in range(MANY):
            x = step(x)
        return x

    assert number(function) is None


def test_a_number_at_the_end_of_a_long_chain_is_found() -> None:
    def function(_: jax.Array) -> jax.Array:
        x = lax.broadcast(2.0, (3,))
        for _ in range(MANY):
            x = lax.reshape(x, (3,) if x.ndim == 2 else (3, 1))
        return x

    assert number(function) == 2.0
