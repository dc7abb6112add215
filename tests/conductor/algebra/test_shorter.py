"""Shorter graphs compute the same numbers in every bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.algebra.rewrite import algebra
from orchestrator_core.conductor.algebra.shorter import shorter
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.read import read

X = jnp.asarray(np.random.default_rng(0).normal(size=(4, 6)), "float32")


def names(function: Callable[..., Any], *args: Any) -> list[str]:
    """Of the nodes of the shorter graph, whose values are proven to be the same."""
    graph = read(jax.make_jaxpr(function)(*args))
    new, _ = shorter(graph)
    leaves = jax.tree.leaves(args)
    for one, other in zip(evaluate(graph, leaves), evaluate(new, leaves), strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
    return [node.name for node in new.nodes]


@pytest.mark.parametrize(
    ("function", "left"),
    [
        (lambda x: jnp.sin(x) * jnp.sin(x), ["sin", "mul"]),
        (lambda x: x.T.T + 1, ["add"]),
        (
            lambda x: x[None].transpose(0, 2, 1).transpose(2, 0, 1),
            ["broadcast_in_dim", "transpose"],
        ),
        (lambda x: x.reshape(24).reshape(2, 12).reshape(4, 6) + 1, ["add"]),
        (lambda x: x.reshape(24).reshape(2, 12) + 1, ["reshape", "add"]),
        (
            lambda x: x.astype("int8").astype("int32").astype("int8") + 1,
            ["convert_element_type", "add"],
        ),
        (lambda x: jnp.negative(-x) + x[::-1][::-1], ["add"]),
        (lambda x: jnp.maximum(-jnp.inf, x) * 1.0 / 1.0 + 2, ["add"]),
        (lambda x: x * (jnp.float32(3) / 7 + 1), ["mul"]),
        (lambda x: jax.lax.stop_gradient(x) + 1, ["add"]),
        (lambda x: jnp.where(jnp.broadcast_to(True, (4, 6)), x, 0) + 1, ["add"]),
        (lambda x: jnp.where(jnp.broadcast_to(False, (4, 6)), 2 * x, x) + 1, ["add"]),
    ],
)
def test_what_is_left(function: Callable[..., Any], left: list[str]) -> None:
    assert names(function, X) == left


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + 0.0,  # of a negative zero it makes a positive one
        lambda x: x.astype(jnp.bfloat16).astype(jnp.float32),
        lambda x: x.astype("int32").astype("float32"),
        lambda x: x.T.reshape(4, 6).T,
        lambda x: x[::-1][:, ::-1],
        lambda x: jnp.exp(jnp.float32(1)) * x,  # not the same number on every device
        lambda x: x[:, :1] * jnp.ones((4, 6)),
        lambda x: jax.lax.complex(x, x) * 1 / 1,  # an infinity times 0j is not a number
        lambda x: jax.lax.max(jax.lax.complex(x, x), jnp.complex64(-np.inf)),
    ],
)
def test_what_must_stay(function: Callable[..., Any]) -> None:
    before = [node.name for node in read(jax.make_jaxpr(function)(X)).nodes]
    assert names(function, X) == before


def test_what_was_asked_for_twice_is_done_twice() -> None:
    def twice(x: jax.Array) -> jax.Array:
        each = (jnp.sin(y) for y in map(jax.lax.optimization_barrier, (x, x)))
        return next(each) + next(each)

    assert names(twice, X).count("sin") == 2


def test_random_numbers_of_one_key_and_of_two() -> None:
    def draw(x: jax.Array) -> jax.Array:
        first, second = jax.random.split(jax.random.key(0))
        return x + jax.random.normal(first, (6,)) + jax.random.normal(second, (6,))

    graph = read(jax.make_jaxpr(draw)(X))
    new, _ = shorter(graph)
    np.testing.assert_array_equal(evaluate(graph, [X])[0], evaluate(new, [X])[0])


def test_side_effects_stay() -> None:
    def says(x: jax.Array) -> jax.Array:
        jax.debug.print("said")
        jax.debug.print("said")
        return x

    graph, _ = shorter(read(jax.make_jaxpr(says)(X)))
    assert len([node for node in graph.nodes if node.effects]) == 2


def test_special_numbers_pass_as_they_did() -> None:
    odd = jnp.asarray([0.0, -0.0, jnp.inf, -jnp.inf, jnp.nan, 1e-45, 3e38], "float32")
    graph = read(
        jax.make_jaxpr(lambda x: jnp.maximum(-jnp.inf, x) * 1.0 + x.astype("float16"))(odd)
    )
    new, _ = shorter(graph)
    one, other = (np.asarray(evaluate(each, [odd])[0]) for each in (graph, new))
    assert one.tobytes() == other.tobytes()


def test_bodies_of_loops_are_shortened_and_reported() -> None:
    def function(x: jax.Array) -> jax.Array:
        return jax.lax.scan(lambda c, y: (jnp.sin(c) * jnp.sin(c) + y, c), x[0], x)[0]

    graph, (site,) = algebra(read(jax.make_jaxpr(function)(X)), Goal())
    (loop,) = [node for node in graph.nodes if node.name == "scan"]
    assert [node.name for node in loop.bodies[0].nodes] == ["sin", "mul", "add"]
    assert site.is_changed
    np.testing.assert_array_equal(evaluate(graph, [X])[0], jax.jit(function)(X))
    same, sites = algebra(graph, Goal())
    assert same is graph
    assert sites == []


def test_parameters_of_two_kinds_are_two_operations() -> None:
    """Python finds -0.0 equal to 0.0, and True to 1."""
    scaled = _jax.Primitive("scaled")
    scaled.def_abstract_eval(lambda x, *, by: x)
    jaxpr = jax.make_jaxpr(lambda x: [scaled.bind(x, by=k) for k in (0.0, -0.0, 0.0, 1, 1.0, True)])
    new, found = shorter(read(jaxpr(X)))
    assert [repr(node.params["by"]) for node in new.nodes] == ["0.0", "-0.0", "1", "1.0", "True"]
    assert found == {"repeated": 1}
