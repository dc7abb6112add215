"""Sums that overflow as tiles order them are taken once more, of smaller numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import jaxprs_in_params

from orchestrator_core.conductor.facts.axes import ROLES
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.tile.careful import plain_runner

from .tiling import check, in_tiles, passes

ROWS = 83
"""Tiles of 32 leave a rest, or share elements."""

EVEN = 96


def signs(length: int) -> jax.Array:
    return jnp.where(jnp.arange(length) % 3 == 2, -1, 1) * jnp.float32(3e38)


def vectors(*lengths: int) -> list[jax.Array]:
    random = np.random.default_rng(0)
    return [jnp.asarray(random.normal(size=(n, 4)).astype("float32")) for n in lengths]


def pairs(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.tanh(x[:, None] * y[None]).sum(-1)


def walks(function: Any, given: Any) -> list[int]:
    """How many sums are taken again in each walk over the tiles that seldom runs."""
    graph, _ = in_tiles(function, given)
    program = jax.make_jaxpr(lambda *arrays: evaluate(graph, arrays))(*given)
    return sorted(choices(program.jaxpr))


def choices(program: Any) -> Iterator[int]:
    """How many arrays each `cond` makes, wherever it stands."""
    for equation in program.eqns:
        if equation.primitive.name == "cond":
            yield len(equation.outvars)
        for inner in jaxprs_in_params(equation.params):
            yield from choices(inner)


@pytest.mark.parametrize("columns", [97, 96])
def test_sums_that_overflow_in_tiles_are_taken_again_of_odd_sizes(columns: int) -> None:
    """Of 3e38, 3e38 and -3e38 in an order of the tiles' own."""

    def function(x: jax.Array, y: jax.Array, huge: jax.Array) -> jax.Array:
        return (pairs(x, y) * 1e-30 + huge).sum(1)

    check(function, (*vectors(ROWS, columns), signs(columns)))


@pytest.mark.parametrize("rows", [EVEN, 91])
def test_sums_that_are_taken_again_together_are_each_what_they_would_be(rows: int) -> None:
    """One overflows as tiles order it, one is infinite, one is no number, one is finite."""

    def function(x: jax.Array, y: jax.Array, huge: jax.Array) -> Any:
        made = pairs(x, y)
        by_order = (made * 1e-30 + huge[:, None]).sum(0)
        infinite = (made + 2).sum(0) + jnp.where(made > 1e9, 0.0, 1e38 * huge[:, None]).sum(0)
        return by_order, infinite, (made + jnp.nan).sum(0), made.sum(0)

    check(function, (*vectors(rows, EVEN), signs(rows)))


def test_small_sums_are_taken_again_in_one_walk() -> None:
    """Each walk is code that is to be compiled."""

    def function(x: jax.Array, y: jax.Array) -> Any:
        made = pairs(x, y)
        return made.sum(1), made.sum(0), made @ y, made.T @ x

    assert walks(function, vectors(EVEN, EVEN)) == [4]


def test_large_sums_are_taken_again_one_by_one() -> None:
    """They are there twice then."""

    def function(x: jax.Array, y: jax.Array, wide: jax.Array) -> Any:
        made = pairs(x, y)
        return made @ wide, made.T @ wide, made.sum(0), made.sum(1)

    wide = jnp.ones((EVEN, 64), "float32")
    assert walks(function, (*vectors(EVEN, EVEN), wide)) == [1, 1, 2]


@pytest.mark.parametrize("lengths", [(ROWS, 97), (97, ROWS), (EVEN, 97)])
def test_they_are_little_code(lengths: tuple[int, int]) -> None:
    """Tiles of one size, all of which leave out what they share with others."""

    def function(x: jax.Array, y: jax.Array) -> Any:
        made = jnp.exp(-((x[:, None] - y[None]) ** 2).sum(-1))
        return made @ y, made.sum(0)

    given = vectors(*lengths)
    (node,) = passes(in_tiles(function, given)[0])
    again = plain_runner(node.params["runner"].one, dict.fromkeys(ROLES, 32))
    assert [len({each.size for each in again.blocks.segments[role]}) for role in ROLES] == [1, 1]
    run = jax.make_jaxpr(again)([jnp.zeros(v.shape, v.dtype) for v in again.one.recipe.values])
    assert "cond[" not in str(run)
