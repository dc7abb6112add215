"""Which differences are proven to be nowhere above zero."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import pytest

from orchestrator_core.conductor.facts.bounds import is_below_zero
from orchestrator_core.conductor.facts.dataflow import Dataflow
from orchestrator_core.conductor.ir.read import read

Array = jax.Array

BELOW: dict[str, Callable[[Array], Array]] = {
    "along rows": lambda x: x - x.max(1, keepdims=True),
    "along columns": lambda x: x - x.max(0),
    "of all": lambda x: x - x.max(),
    "without gradient": lambda x: x - jax.lax.stop_gradient(x.max(1))[:, None],
    "of another, too": lambda x: x - jnp.maximum(x.max(1), 3.0)[:, None],
    "where finite": lambda x: x - jnp.where(jnp.isfinite(m := x.max(1)), m, 0.0)[:, None],
}

OTHERS: dict[str, Callable[[Array], Array]] = {
    "of the transposed": lambda x: x - x.max(0)[:, None],
    "of the smallest": lambda x: x - x.min(1, keepdims=True),
    "of others": lambda x: x - (2 * x).max(1, keepdims=True),
    "the smaller of two": lambda x: x - jnp.minimum(x.max(1), 3.0)[:, None],
    "the other way round": lambda x: x.max(1, keepdims=True) - x,
    "where something else is finite": lambda x: x - jnp.where(x[0, 0] > 0, x.max(1), 0.0)[:, None],
}


def is_proven(function: Callable[[Array], Array]) -> bool:
    graph = read(jax.make_jaxpr(function)(jnp.ones((5, 5))))
    (node,) = [node for node in graph.nodes if node.name == "sub"]
    return is_below_zero(Dataflow(graph), node)


@pytest.mark.parametrize("name", BELOW)
def test_a_value_less_its_largest_is_not_above_zero(name: str) -> None:
    assert is_proven(BELOW[name])


@pytest.mark.parametrize("name", OTHERS)
def test_other_differences_are_not_proven(name: str) -> None:
    assert not is_proven(OTHERS[name])


@pytest.mark.parametrize("extreme", [jnp.max, jnp.min])
def test_each_bound_is_looked_at_once(extreme: Callable[..., Array]) -> None:
    """There are 2 ** 200 ways to the last of them."""

    def function(x: Array) -> Array:
        bound = extreme(x, 1, keepdims=True)
        for _ in range(200):
            bound = jnp.maximum(bound, bound)
        return x - bound

    assert is_proven(function) == (extreme is jnp.max)


def test_the_largest_may_be_seen_through_many_views() -> None:
    """More than Python's stack is deep."""

    def function(x: Array) -> Array:
        largest = x.max(1)
        for _ in range(1000):
            largest = largest.reshape(1, 5).reshape(5)
        return x - largest[:, None]

    assert is_proven(function)
