"""Numbers that a loop chooses between come from outside where that pays, and only there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from orchestrator_core.conductor import conduct
from orchestrator_core.conductor.algebra.choices import numbers_outside
from orchestrator_core.conductor.cost import on_device
from orchestrator_core.conductor.cost.known_devices import known_device
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.read import read


def gated(choice: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def step(h: Any, x: Any) -> Any:
        gate = jax.nn.sigmoid(choice(x > h))
        h = gate * h + (1 - gate) * x
        return h, (h, gate)

    return lambda x: lax.scan(step, jnp.zeros(x.shape[1]), x)[1]


def consts_of(function: Any, x: Any) -> list[int]:
    """How many more constants each loop takes; values are proven to be the same."""
    before = read(jax.make_jaxpr(lambda x: jax.tree.leaves(function(x)))(x))
    after, sites = numbers_outside(before, Goal())
    for a, b in zip(evaluate(before, [x]), evaluate(after, [x]), strict=True):
        np.testing.assert_array_equal(a, b)
    loops = [[n for n in graph.nodes if n.name == "scan"] for graph in (before, after)]
    more = [len(new.inputs) - len(old.inputs) for old, new in zip(*loops, strict=True)]
    assert len(sites) == sum(count > 0 for count in more)
    return more


@pytest.fixture
def x() -> Any:
    return jnp.asarray(np.random.default_rng(0).normal(size=(20, 8)), jnp.float32)


def test_numbers_of_the_body_and_of_outside(x: Any) -> None:
    assert consts_of(gated(lambda c: jnp.where(c, 2.0, -2.0)), x) == [2]

    def from_outside(x: Any) -> Any:
        high, low = jnp.full(8, 2.0), jnp.full(8, -2.0)
        return gated(lambda c: lax.select(c, high, low))(x)

    assert consts_of(from_outside, x) == [2]
    assert consts_of(lambda x: (from_outside(x), from_outside(-x)), x) == [2, 2]


@pytest.mark.parametrize(
    "choice",
    [
        lambda c: jnp.where(c, 2.0, jnp.arange(8.0)),  # no number
        lambda c: jnp.where(c, 2, -2) * 0.5,  # whole numbers
        lambda c: jnp.where(c.any(), 2.0, -2.0),  # for all of the row
        lambda c: jnp.where(c, 2.0, c),  # what is known in the step alone
    ],
)
def test_other_choices_stay(choice: Callable[[Any], Any], x: Any) -> None:
    assert consts_of(gated(choice), x) == [0]


def test_long_rows_and_other_devices_stay(x: Any) -> None:
    choice = gated(lambda c: jnp.where(c, 2.0, -2.0))
    assert consts_of(choice, jnp.tile(x, 2)) == [0]
    assert consts_of(choice, x[:, :1]) == [0]
    with on_device(known_device("NVIDIA H200", "gpu")):
        assert consts_of(choice, x) == [0]


def test_the_compiled_loop_takes_arrays(x: Any) -> None:
    """XLA does not put the numbers back."""
    step = jax.value_and_grad(lambda x: gated(lambda c: jnp.where(c, 2.0, -2.0))(x)[0].sum())
    made = conduct(step)
    for a, b in zip(jax.tree.leaves(made(x)), jax.tree.leaves(step(x)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
    assert "made before the loop" in str(made.explain(x))
    text = made.lower(x).compile().as_text()
    choices = [line for line in text.splitlines() if " select(" in line and "f32[8]" in line]
    assert choices
    assert not any("broadcast" in line.split("select(")[1] for line in choices)
