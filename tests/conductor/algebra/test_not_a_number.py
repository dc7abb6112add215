"""A choice by NaN goes where both that it chooses from are NaN, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor import conduct
from orchestrator_core.conductor.algebra.shorter import shorter
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.read import read

X = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 3e38, -3e38, 1e-40, 88.8, -104.0, 0.3])


def log_of_sum(x: jax.Array, y: Any, instead: Any = 0.0) -> jax.Array:
    apart = x - y
    whole = jnp.maximum(x, y) + jnp.log1p(jnp.exp(-jnp.abs(apart)))
    return jnp.where(apart != apart, x + y + instead, whole)


def is_chosen(function: Callable[..., Any], *args: Any) -> bool:
    """Is there still a choice in the shorter graph, whose values are proven to be the same?"""
    graph = read(jax.make_jaxpr(function)(*args))
    new, _ = shorter(graph)
    for one, other in zip(evaluate(graph, args), evaluate(new, args), strict=True):
        np.testing.assert_array_equal(np.asarray(one, float), np.asarray(other, float))
    return "select_n" in [node.name for node in new.nodes]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: log_of_sum(x, 0.0),
        lambda x: log_of_sum(x, 2.5),
        lambda x: log_of_sum(-3 * jnp.tanh(x), jnp.full_like(x, 1.0)),
        lambda x: jnp.where(x == x, jnp.exp(x), x),
        lambda x: jnp.where(jnp.isnan(-(x + 1)), x, jnp.log(x)),
        lambda x: log_of_sum(jnp.split(x, 2)[0], 0.0),  # of several results of one operation
    ],
)
def test_nan_or_nan(function: Callable[..., Any], dtype: str) -> None:
    with np.errstate(over="ignore"):
        assert not is_chosen(function, jnp.asarray(X.astype(dtype)))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: log_of_sum(x, x[::-1]),  # of two infinities the difference is NaN
        lambda x: log_of_sum(x, jnp.inf),
        lambda x: jnp.where(x != x, 0.0, x),
        lambda x: jnp.where(x != x, x, 1.0),
        lambda x: jnp.where(x != x, x, jnp.maximum(x, 0)),  # as its library has it
        lambda x: jnp.where(jnp.log(x) != jnp.log(x), x, jnp.log(x)),
        lambda x: jnp.where(0 * x != 0 * x, x, 2 * x),
        lambda x: jnp.where(x[::-1] != x[::-1], x, 2 * x),
        lambda x: jnp.where(x[:1] != x[:1], x, 2 * x),
        lambda x: jnp.where(x != x + 1, x, 2 * x),
    ],
)
def test_something_else_or_nan(function: Callable[..., Any]) -> None:
    assert is_chosen(function, jnp.asarray(X, "float32"))


@pytest.mark.parametrize("function", [jax.nn.softplus, jax.nn.log_sigmoid])
def test_functions_of_jax(function: Callable[..., Any]) -> None:
    x = jnp.asarray(X, "float32")
    conducted = conduct(function)
    np.testing.assert_array_equal(conducted(x), jax.jit(function)(x))
    (site,) = conducted.explain(x).sections[0].sites
    assert site.found == "operations: 1 without effect"
    gradient = jax.grad(lambda x: function(x).sum())
    np.testing.assert_array_equal(conduct(gradient)(x), jax.jit(gradient)(x))
