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

from .tiling import compiled, in_tiles, passes

ROWS = 83
"""Tiles of 32 leave a rest, or share elements."""

EVEN = 96


def huge(length: int) -> jax.Array:
    """The largest numbers, of which the second half takes away what the first half adds: the sum is
    zero, and that of any tile but the middle one is infinite."""
    half = length // 2
    signs = jnp.sign(jnp.arange(length) - (length - 1) / 2)
    return -signs.at[half if length % 2 else length].set(0.0) * jnp.float32(3e38)


def assert_zero(made: Any, terms: int) -> None:
    """But for what is rounded of so many of the largest numbers."""
    assert np.abs(np.asarray(made, "float64")).max() <= terms * 3e38 * 2.0**-23


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
def test_a_sum_that_overflows_in_tiles_alone_is_what_it_is(columns: int) -> None:
    def function(x: jax.Array, y: jax.Array, large: jax.Array) -> jax.Array:
        return (pairs(x, y) * 0.0 + large).sum(1)

    given = (*vectors(ROWS, columns), huge(columns))
    graph, sites = in_tiles(function, given)
    assert any(site.is_changed for site in sites)
    assert_zero(compiled(graph, given)(*given)[0], columns)


@pytest.mark.parametrize("rows", [EVEN, 91])
def test_sums_that_are_taken_again_together_are_each_what_they_would_be(rows: int) -> None:
    """One is finite, one is no number, one infinite, and one overflows in tiles alone."""

    def function(x: jax.Array, y: jax.Array, large: jax.Array) -> Any:
        made = pairs(x, y)
        zero = made * 0.0
        infinite = jnp.abs(zero + large[:, None]).sum(0)
        lost = jnp.where(zero + large[:, None] > 0, jnp.inf, -jnp.inf).sum(0)
        return made.sum(0), lost, infinite, (zero + large[:, None]).sum(0)

    given = (*vectors(rows, EVEN), huge(rows))
    graph, _ = in_tiles(function, given)
    finite, lost, infinite, by_order = map(np.asarray, compiled(graph, given)(*given))
    expected = np.tanh(np.asarray(given[0], "float64")[:, None] * np.asarray(given[1])[None])
    np.testing.assert_allclose(finite, expected.sum((0, 2)), rtol=1e-5, atol=1e-4)
    assert np.isnan(lost).all()
    assert np.isposinf(infinite).all()
    assert_zero(by_order, rows)


def test_an_infinity_that_meets_very_little_stays_one() -> None:
    """Made smaller, that would be nothing, and infinity times zero is no number."""

    def function(x: jax.Array, y: jax.Array, little: jax.Array) -> jax.Array:
        return jnp.where(pairs(x, y) > -9, jnp.inf, 0.0) @ little

    given = (*vectors(EVEN, EVEN), jnp.full((EVEN, 4), 2e-38, "float32"))
    graph, _ = in_tiles(function, given)
    assert walks(function, given) == [1]
    assert np.isposinf(compiled(graph, given)(*given)[0]).all()


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
