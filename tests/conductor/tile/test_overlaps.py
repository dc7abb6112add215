"""The last tiles of an axis overlap those before them: what two of them have counts once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.tile.accumulators import Picked, Tiles
from orchestrator_core.conductor.tile.blocks import Blocks, Segment

from .tiling import check, compiled, in_tiles, passes

ROWS, COLUMNS = 90, 91
"""Tiles of 32 begin at 0, 32 and 58, or 59."""

TWICE = 60
"""In two tiles along either axis."""


def arrays(rows: int = ROWS, columns: int = COLUMNS) -> tuple[jax.Array, jax.Array]:
    random = np.random.default_rng(0)
    x, y = (random.normal(size=(n, 4)).astype("float32") for n in (rows, columns))
    return jnp.asarray(x), jnp.asarray(y)


def kernel(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.exp(-((x[:, None] - y[None]) ** 2).sum(-1))


def both(x: jax.Array, y: jax.Array) -> Any:
    pairs = kernel(x, y)
    return pairs @ y, pairs.T @ x, pairs.sum(0), pairs.sum(1), pairs.sum()


def products(x: jax.Array, y: jax.Array) -> Any:
    pairs = 1 + 0.01 * jnp.sin(x[:, :1] * y[None, :, 0])
    return pairs.prod(0), pairs.prod(1), pairs.min(0), pairs.max(1)


def counts(x: jax.Array, y: jax.Array) -> Any:
    near = ((x[:, None] - y[None]) ** 2).sum(-1) < 4
    return near.sum(0), near.sum(1), near.all(0), near.any(1)


def bits(x: jax.Array, y: jax.Array) -> Any:
    """Of a type that has no -1."""
    i, j = (each.view("uint8")[:, :1] | 4 for each in (x, y))
    found = i[:, None, 0] | j[None, :, 0]

    def all_of(axis: int) -> jax.Array:
        return jax.lax.reduce(found, np.uint8(255), jax.lax.bitwise_and, (axis,))

    return all_of(0), all_of(1)


def causal(x: jax.Array, y: jax.Array) -> Any:
    is_later = jnp.arange(len(y))[None] > jnp.arange(len(x))[:, None]
    return jax.nn.softmax(jnp.where(is_later, -jnp.inf, x @ y.T)) @ y


def gradients(x: jax.Array, y: jax.Array) -> Any:
    return jax.grad(lambda *both: jnp.sin(causal(*both)).sum(), argnums=(0, 1))(x, y)


def in_heads(x: jax.Array, y: jax.Array) -> Any:
    q, k = x.reshape(-1, 2, 2), y.reshape(-1, 2, 2)
    scores = jnp.einsum("qhd,khd->hqk", q, k)
    weights = jax.nn.softmax(scores, axis=-1)
    return jnp.einsum("hqk,khd->qhd", weights, k), weights.sum(1)


def nearest(x: jax.Array, y: jax.Array) -> Any:
    """Gradients that ask again which numbers are the least: two of each row are, by turns in a
    tile and in the next one that has them, too."""

    def least(x: jax.Array, y: jax.Array) -> jax.Array:
        found = (jnp.abs(x[:, None] - y[None]).sum(-1) + 1).min(1)
        return (found * jnp.arange(len(x))).sum()

    return jax.value_and_grad(least, argnums=(0, 1))(x, y.at[TWICE - 30].set(y[TWICE]))


def picked(x: jax.Array, y: jax.Array) -> Any:
    """Of each row the element of a column, some of which two tiles have."""

    def chosen(x: jax.Array, y: jax.Array) -> jax.Array:
        logits = jnp.tanh(x[:, :1] * y[None, :, 0])
        at = (jnp.arange(len(x)) * 7) % len(y)
        found = jnp.take_along_axis(logits, at[:, None], 1)[:, 0]
        return (jax.nn.logsumexp(logits, axis=1) - found).sum()

    return jax.value_and_grad(chosen, argnums=(0, 1))(x, y)


def by_distance(x: jax.Array, y: jax.Array) -> Any:
    """With a table of biases, of which each is added to dozens of pairs."""

    def mixed(x: jax.Array, y: jax.Array, table: jax.Array) -> jax.Array:
        apart = jnp.abs(jnp.arange(len(x))[:, None] - jnp.arange(len(y))[None])
        return jnp.sin(jax.nn.softmax(x @ y.T + table[jnp.minimum(apart // 4, 7)]) @ y).sum()

    return jax.value_and_grad(mixed, argnums=(0, 1, 2))(x, y, jnp.linspace(0.0, 1.0, 8))


FUNCTIONS = (
    *(both, products, counts, bits, causal, gradients, in_heads),
    *(nearest, picked, by_distance),
)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_all_tiles_are_of_one_size(function: Callable[..., Any]) -> None:
    given = arrays()
    for node in passes(check(function, given)):
        segments = node.params["runner"].blocks.segments
        assert {role: len(each) for role, each in segments.items()} == {"i": 1, "j": 1}


def test_every_pair_counts_once() -> None:
    """Of which each is one, so that sums are exact."""
    given = tuple(map(jnp.zeros_like, arrays()))
    graph, _ = in_tiles(both, given)
    by_rows, by_columns, *sums = compiled(graph, given)(*given)
    assert not by_rows.any()
    assert not by_columns.any()
    assert [np.unique(each).tolist() for each in sums] == [[ROWS], [COLUMNS], [ROWS * COLUMNS]]


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(("function", "side"), [(both, 0), (products, 1), (gradients, 1)])
def test_what_is_no_number_spreads_as_it_would(
    function: Callable[..., Any], value: float, side: int
) -> None:
    given = list(arrays())
    given[side] = given[side].at[TWICE, 1].set(value)
    check(function, given)


def test_rows_that_the_tile_before_has_made_stay() -> None:
    """Of the last tile the rows from 64 on have nothing to add, so it is left out; those before
    that it shares have, and the tile before has added it."""

    def function(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.where(x[:, :1] > 0, kernel(x, y), 0.0) @ y

    x, y = arrays()
    made = check(function, (x.at[:, 0].set(jnp.where(jnp.arange(ROWS) < 64, 1.0, -1.0)), y))
    (node,) = passes(made)
    assert node.params["runner"].is_skipping


def test_of_what_is_picked_the_first_tile_has_it() -> None:
    """The same number may be rounded otherwise at another place of a tile, and be asked later
    whether it is the largest."""
    (node, *_) = passes(in_tiles(picked, arrays())[0])
    (one,) = (each for each in node.params["runner"].accumulators if isinstance(each, Picked))
    operand, indices = one.wanted
    tile = jnp.arange(32.0 * 32).reshape(32, 32)
    known = {operand: tile, indices: jnp.full((32, 1, 1), TWICE)}
    for stale, found in ((0, tile[:, TWICE - (COLUMNS - 32)]), (2, jnp.full(32, -1.0))):
        place = Tile({"i": 0, "j": COLUMNS - 32}, {"i": 32, "j": 32}, {"j": stale})
        made = one.added(jnp.full((32, 1), -1.0), Tiles(known, place, {}))
        np.testing.assert_array_equal(made[:, 0], found)


def test_an_infinite_weight_beside_what_is_not_told_again() -> None:
    """Infinity times zero, of a row that counts for nothing there, were no number."""

    def function(x: jax.Array, y: jax.Array) -> Any:
        return jnp.abs(x[:, :1] * y[None, :, 0]) @ jnp.abs(y)

    x, y = arrays()
    made = check(function, (x.at[:, 0].set(1.0), y.at[TWICE, 0].set(jnp.inf)))
    assert passes(made)


def test_a_rest_that_shares_much_is_a_tile_of_its_own() -> None:
    given = arrays(ROWS, 70)
    (node,) = passes(check(both, given))
    segments = node.params["runner"].blocks.segments["j"]
    assert [(each.count, each.size, each.shared) for each in segments] == [(2, 32, 0), (1, 6, 0)]


def test_where_tiles_begin_and_what_they_share() -> None:
    tiles = Segment(0, 3, 32, shared=6)
    assert (tiles.end, tiles.starts.tolist()) == (90, [0, 32, 58])
    assert [int(tiles.start(k)) for k in range(3)] == [0, 32, 58]
    assert [int(tiles.stale(k)) for k in range(3)] == [0, 0, 6]
    first, last = Blocks({"i": (tiles,)}).ends("i")
    assert (first.tolist(), last.tolist()) == ([0, 32, 58], [31, 63, 89])


def test_elements_that_are_told_again_are_left_out_along_axes_of_several_parts() -> None:
    tile = Tile({"i": 0, "j": 0}, {"i": 3, "j": 4}, {"j": 3})
    spec = (((3, "i"),), ((2, None), (4, "j")))
    made = tile.fresh(jnp.ones((3, 8)), spec, {"i", "j"}, 0.0)
    assert made.tolist() == [[0, 0, 0, 1, 0, 0, 0, 1]] * 3
    assert tile.fresh(jnp.ones((3, 8)), spec, {"i"}, 0.0).all()
