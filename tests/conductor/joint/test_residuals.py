"""What a forward pass keeps is a cut of fewest bytes."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import pytest

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.joint.residuals import residuals


def kept(
    function: Callable[..., list[jax.Array]], objective: str = "time"
) -> tuple[list[str], list[str]]:
    """Names of the nodes whose results are kept, and of those done again, to have all but the last
    result of a function; the last is an output that is there anyway."""
    jaxpr = jax.make_jaxpr(function)(jnp.ones((4, 4)))
    whole = read(jaxpr)
    wanted = [each for each in whole.outputs[:-1] if isinstance(each, Value)]
    graph = Graph(whole.inputs, whole.outputs[-1:], whole.nodes, whole.constants)
    found = residuals(graph, wanted, objective)
    names = [graph.producer[value].name for value in found.kept]
    return names, [node.name for node in found.again]


def test_what_is_cheap_is_done_again_from_inputs() -> None:
    assert kept(lambda x: [2 * x + 1, x]) == ([], ["mul", "add"])


def test_the_smaller_value_is_kept() -> None:
    names, again = kept(lambda x: [jnp.broadcast_to(jnp.sin(x)[:, :1], (4, 9)) * 3, x])
    assert (names, again) == (["slice"], ["broadcast_in_dim", "mul"])


def test_one_value_serves_two_readers() -> None:
    def function(x: jax.Array) -> list[jax.Array]:
        y = jnp.sin(x)
        return [y + 1, y * 2, x]

    assert kept(function) == (["sin"], ["add", "mul"])


def test_of_equal_cuts_the_one_that_does_least_again() -> None:
    assert kept(lambda x: [jnp.sin(x) * 2 + 1, x]) == (["add"], [])


def test_outputs_are_there_anyway() -> None:
    def function(x: jax.Array) -> list[jax.Array]:
        y = jnp.sin(x)
        return [y * 2 + 1, y]

    assert kept(function) == (["sin"], ["mul", "add"])


@pytest.mark.parametrize(("objective", "expected"), [("time", ["exp"]), ("memory", [])])
def test_for_memory_more_is_done_again(objective: str, expected: list[str]) -> None:
    assert kept(lambda x: [jnp.exp(2 * x), x], objective)[0] == expected


def test_products_are_never_done_again() -> None:
    def function(x: jax.Array) -> list[jax.Array]:
        y = x @ x
        return [jnp.sin(y), jnp.cos(y), x]

    assert kept(function, "memory") == (["dot_general"], ["sin", "cos"])
