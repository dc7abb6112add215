"""Numbers that a scan is given are made in its body, each once."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.kernels.numbers import with_numbers_inside
from tests.conductor.kernels.interpreting import assert_near, graph_of


@pytest.mark.parametrize("steps", [3, 60, 600])
def test_a_number_that_is_read_twice_in_each_step(steps: int) -> None:
    """From the last to the first there are 2^steps ways."""

    def function(x: Any) -> Any:
        factor = jnp.sqrt(2.0)
        for _ in range(steps):
            factor = factor * 0.5 + factor * 0.25
        return jax.lax.scan(lambda c, e: (c * factor + e, c), jnp.zeros(16), x)[1]

    x = jnp.ones((5, 16))
    graph = graph_of(function, [x])
    made = with_numbers_inside(graph)
    (body,) = made.nodes[-1].bodies
    assert len(body.inputs) == 2
    of_factor, of_step = 2 + 3 * steps, 2
    assert len(body.nodes) == of_factor + of_step
    assert_near(evaluate(made, [x]), evaluate(graph, [x]), 1e-6)


def test_numbers_that_several_constants_are_made_of_are_made_once() -> None:
    def function(x: Any) -> Any:
        root = jnp.sqrt(2.0)
        one, two = root * 0.5, root * 0.25
        return jax.lax.scan(lambda c, e: (c * one + e * two, c), jnp.zeros(16), x)[1]

    x = jnp.ones((5, 16))
    graph = graph_of(function, [x])
    made = with_numbers_inside(graph)
    (body,) = made.nodes[-1].bodies
    assert [each.name for each in body.nodes].count("sqrt") == 1
    assert_near(evaluate(made, [x]), evaluate(graph, [x]), 1e-6)
