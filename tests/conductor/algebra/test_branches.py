"""Branches that are known before the function runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.algebra.shorter import shorter
from orchestrator_core.conductor.cost import on_device
from orchestrator_core.conductor.cost.known_devices import known_device
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.read import read

Array = jax.Array
X = jnp.asarray(np.random.default_rng(0).normal(size=(5, 5)), "float32")
TABLE = np.arange(5, dtype="float32")


def by_platform(x: Array) -> Array:
    return jax.lax.platform_dependent(x, tpu=jnp.cos, default=lambda x: jnp.sin(x) * TABLE)


def by_number(x: Array) -> Array:
    return jax.lax.switch(np.int32(7), [jnp.cos, jnp.tan, lambda x: x + TABLE], x)


def twice(x: Array) -> Array:
    return by_platform(x) + by_platform(2 * x)


def inside(x: Array) -> Array:
    return jax.lax.cond(x[0, 0] > 0, by_platform, jnp.cos, x)


def names(function: Callable[..., Any]) -> list[str]:
    """Of the nodes that are left, with the values of all."""
    graph = read(jax.make_jaxpr(function)(X))
    with on_device(known_device("cpu", "cpu")):
        made, _ = shorter(graph)
    for one, other in zip(evaluate(graph, [X]), evaluate(made, [X]), strict=True):
        np.testing.assert_array_equal(one, other)
    return [node.name for node in made.nodes]


@pytest.mark.parametrize("function", [by_platform, by_number, twice, jnp.diagonal, jnp.diag])
def test_the_branch_takes_the_place_of_the_choice(function: Callable[..., Any]) -> None:
    assert not {"cond", "platform_index"} & set(names(function))


def test_diagonals_have_gradients_without_choices() -> None:
    left = names(jax.grad(lambda x: jnp.sin(jnp.diagonal(x)).sum()))
    assert "cond" not in left
    assert "scatter-add" in left


def test_a_choice_by_value_stays() -> None:
    assert "cond" in names(inside)


def test_a_way_of_one_platform_alone_stays_a_choice() -> None:
    """Whoever compiles the function for another platform gets the other way."""

    def function(x: Array) -> Array:
        return jax.lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos)

    assert "cond" in names(function)
