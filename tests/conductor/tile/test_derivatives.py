"""Functions whose derivatives JAX writes in another way from version to version."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import Array

from orchestrator_core.conductor import Goal
from tests.conductor.corpus.case import Case, normal
from tests.conductor.corpus.examine import examined

N, D = 96, 8


def gelu_of_products(x: Array, y: Array, z: Array) -> Array:
    """The derivative holds exp(-x^2), from JAX 0.12 on by a polynomial and the bits of a number."""
    return jax.nn.gelu(x @ y.T / D**0.5, approximate=False) @ z / N


def tanh_of_products(x: Array, y: Array, z: Array) -> Array:
    """The derivative is ``(1 - t) + (1 - t) t``, and an operation of its own from 0.11 on."""
    return jnp.tanh(x @ y.T / D**0.5) @ z / N


def base_two(x: Array, y: Array, z: Array) -> Array:
    """The logarithm is one of two from 0.11 on."""
    scores = x @ y.T / D**0.5
    return jnp.exp2(scores - jnp.log2(jnp.exp2(scores).sum(-1, keepdims=True))) @ z


@pytest.mark.parametrize("function", [gelu_of_products, tanh_of_products, base_two])
def test_the_backward_pass_is_tiled(function) -> None:
    case = Case(
        function.__name__,
        function,
        lambda: tuple(normal(N, D, seed=n) for n in range(3)),
        large=N,
    )
    outcome = examined(case, "gradient_inside", Goal(always=True))
    assert outcome.verdict.is_right, outcome.verdict.why
    assert outcome.is_recognised
