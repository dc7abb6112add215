"""Windows of one element are elements picked and put by index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.tile.canonical import canonical

Array = jax.Array
X = jnp.asarray(np.random.default_rng(0).normal(size=(6, 9)), "float32")
AT = jnp.asarray([0, 8, 3, -1, 40, -40])


def each(x: Array, at: Array) -> Array:
    return jax.vmap(lambda row, k: row[k])(x, at)


def summed(x: Array, at: Array) -> Array:
    return jax.grad(lambda x: jnp.sin(each(x, at)).sum())(x)


def apart(x: Array, at: Array) -> Array:
    return jax.vmap(jax.grad(lambda row, k: jnp.sin(row[k])))(x, at)


def put(x: Array, at: Array) -> Array:
    """Not into zeros, so that what was there is gone."""
    return jax.vmap(lambda row, k: jax.lax.dynamic_update_slice(row, row[:1], (k,)))(x, at)


def wide(x: Array, at: Array) -> Array:
    return jax.vmap(lambda row, k: jax.lax.dynamic_slice(row, (k,), (3,)))(x, at)


@pytest.mark.parametrize(
    ("function", "is_put", "is_changed"),
    [
        (each, False, True),
        (summed, True, True),
        (apart, True, True),
        (put, True, False),
        (wide, False, False),
    ],
)
def test_the_same_elements(function: Callable[..., Any], is_put: bool, is_changed: bool) -> None:
    graph = read(jax.make_jaxpr(function)(X, AT))
    made = canonical(graph, lambda atom: False)
    np.testing.assert_array_equal(evaluate(graph, [X, AT])[0], evaluate(made, [X, AT])[0])
    kind = "scatter" if is_put else "gather"
    (node,) = [node for node in made.nodes if node.name.startswith(kind)]
    numbers = node.params["dimension_numbers"]
    windows = numbers.update_window_dims if is_put else numbers.offset_dims
    assert (windows == ()) is is_changed
