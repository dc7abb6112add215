"""Conducted recurrences with derivatives and batches inside and outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from orchestrator_core.conductor import Goal, conduct
from tests.conductor.recurrence.judged import normal

GOAL = Goal(allow=frozenset({"recurrence"}))


def min_gru(x: Any, w: Any, u: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        z = jax.nn.sigmoid(x @ w)
        h = (1 - z) * h + z * (x @ u)
        return h, h

    return (lax.scan(step, jnp.zeros(w.shape[1]), x)[1] ** 2).sum()


def gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    return jax.value_and_grad(function, argnums=(0, 1, 2))


def batch(function: Callable[..., Any]) -> Callable[..., Any]:
    return jax.vmap(function, (0, None, None))


def conducted(function: Callable[..., Any]) -> Callable[..., Any]:
    return conduct(function, GOAL)


ORDERS = {
    "inside": lambda f: conducted(gradient(f)),
    "outside": lambda f: gradient(conducted(f)),
    "batch inside": lambda f: conducted(batch(gradient(f))),
    "batch outside": lambda f: jax.jit(batch(gradient(conducted(f)))),
}


@pytest.mark.parametrize("name", ORDERS)
def test_any_order(name: str) -> None:
    x, w, u = normal((40, 24), (24, 32), (24, 32))
    x = jnp.stack([x, -x, x / 2]) if "batch" in name else x
    plain = batch(gradient(min_gru)) if "batch" in name else gradient(min_gru)
    made, expected = ORDERS[name](min_gru)(x, w, u), jax.jit(plain)(x, w, u)
    for a, b in zip(jax.tree.leaves(made), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5 * float(jnp.abs(b).max()))


def test_loops_in_loops() -> None:
    def layers(x: Any, w: Any, u: Any) -> Any:
        def layer(x: Any, wu: Any) -> Any:
            w, u = wu

            def step(h: Any, x: Any) -> Any:
                h = 0.9 * h + jnp.tanh(x @ w) * (x @ u)
                return h, h

            return lax.scan(step, jnp.zeros(w.shape[1]), x)[1], None

        return (lax.scan(layer, x, (w, u))[0] ** 2).sum()

    x, w, u = normal((40, 24), (3, 24, 24), (3, 24, 24))
    given = x, w / 5, u / 5
    made, expected = conducted(gradient(layers))(*given), jax.jit(gradient(layers))(*given)
    for a, b in zip(jax.tree.leaves(made), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5 * float(jnp.abs(b).max()))


def test_a_sum_of_many_steps_in_16_bits_moves_towards_the_exact_one() -> None:
    """What the loop adds is soon less than half a last digit; ``strict`` leaves it so."""

    def total(x: Any) -> Any:
        return lax.scan(lambda c, x: (c + x, None), jnp.zeros(4, x.dtype), x)[0]

    x = jnp.ones((1000, 4), jnp.bfloat16)
    plain = np.asarray(jax.jit(total)(x), float)
    made = np.asarray(conduct(total, Goal(always=True))(x), float)
    assert (plain == 256).all()
    np.testing.assert_allclose(made, 1000, rtol=3e-2)
    strict = conduct(total, Goal(always=True, precision="strict"))(x)
    np.testing.assert_array_equal(np.asarray(strict, float), plain)
