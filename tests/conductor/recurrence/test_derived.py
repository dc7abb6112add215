"""Derivatives of parallel scans are loops as well, found by what they compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from orchestrator_core.conductor import Goal, _jax
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.recurrence.derived import derived
from orchestrator_core.conductor.recurrence.soup import soups
from tests.conductor.recurrence.judged import errors, normal, rewritten, run, with_gradients

WITH_ITS_DERIVATIVE = "a plain loop, and its derivative another"


def linear(one: Any, two: Any) -> Any:
    return one[0] * two[0], two[0] * one[1] + two[1]


def real(a: Any, b: Any) -> Any:
    return lax.associative_scan(linear, (jnp.tanh(a), jnp.sin(b)))[1]


def backwards(a: Any, b: Any) -> Any:
    return lax.associative_scan(linear, (jnp.tanh(a), b), reverse=True)[1] * b


def along_the_second_axis(a: Any, b: Any) -> Any:
    return jnp.cos(lax.associative_scan(linear, (jnp.tanh(a), b), axis=1)[1])


def gates_without_gradient(a: Any, b: Any) -> Any:
    return lax.associative_scan(linear, (lax.stop_gradient(jnp.tanh(a)), b))[1] ** 2


def turning(a: Any, b: Any) -> Any:
    """Orvieto et al. 2023: a complex state; b is what it reads."""
    gates = 0.9 * jnp.exp(1j * a)
    return lax.associative_scan(linear, (gates, b + 0j))[1].real


@pytest.mark.parametrize(
    ("function", "length"),
    [
        (real, 16),
        (real, 13),
        (backwards, 9),
        (along_the_second_axis, 9),
        (gates_without_gradient, 9),
        (turning, 9),
    ],
)
def test_forward_and_backward_become_loops(function: Callable[..., Any], length: int) -> None:
    given = normal((length, 9), (length, 9))
    train = with_gradients(function, 2)
    made, sites, _ = rewritten(train, given)
    assert WITH_ITS_DERIVATIVE in [site.chosen for site in sites]
    assert max(errors(train, run(made, given), given)) < 1e-5


def test_a_training_step_keeps_nothing_of_the_shuffles() -> None:
    train = with_gradients(real, 2)
    given = normal((400, 24), (400, 24))
    _, _, graph = rewritten(train, given, Goal(objective="memory"))
    assert {"pad", "slice", "concatenate"}.isdisjoint(node.name for node in graph.nodes)


def tilted(a: Any, b: Any) -> Any:
    """Its backward pass is not that of the scan: what comes back is scaled place by place within
    the shuffles."""

    @jax.custom_vjp
    def scaled(x: Any) -> Any:
        return x

    scaled.defvjp(lambda x: (x, None), lambda _, g: (g * 1.001,))

    def operation(one: Any, two: Any) -> Any:
        return one[0] * two[0], scaled(two[0] * one[1]) + two[1]

    return lax.associative_scan(operation, (jnp.tanh(a), b))[1]


def test_another_derivative_is_not_taken_for_it() -> None:
    given = normal((16, 4), (16, 4))
    train = with_gradients(tilted, 2)
    graph = read(_jax.trace(lambda *a: jax.tree.leaves(train(*a)), given))
    assert all(derived(graph, soup) is None for soup in soups(graph))
    made, _, _ = rewritten(train, given)
    exact = run(lambda *arrays: jax.tree.leaves(train(*arrays)), given)
    for one, other in zip(run(made, given), exact, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
