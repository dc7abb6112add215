"""Tiles are skipped only where that changes nothing, whatever stands in them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.tile import price
from orchestrator_core.conductor.tile.blocks import Blocks
from orchestrator_core.conductor.tile.leaf import interval_of_leaf
from orchestrator_core.conductor.tile.run import Runner

from .tiling import SMALL, assert_same, check, compiled, flat, in_tiles, passes

S, D = 96, 4
TILE = {"i": 32, "j": 32}
BELOW = np.tril(np.ones((3, 3)), -1)
Array = jax.Array


@pytest.fixture(scope="module")
def qkv() -> tuple[Array, Array, Array]:
    random = np.random.default_rng(0)
    q, k, v = random.normal(size=(3, S, D)).astype("float32")
    return jnp.asarray(q), jnp.asarray(k), jnp.asarray(v)


def attention(
    mask: Callable[[Array, Array], Array], fill: float = -1e30
) -> Callable[[Array, Array, Array], Array]:
    def function(q: Array, k: Array, v: Array) -> Array:
        position = jnp.arange(S)
        visible = mask(position[:, None], position[None])
        return jax.nn.softmax(jnp.where(visible, q @ k.T, fill)) @ v

    return function


def causal(i: Array, j: Array) -> Array:
    return i >= j


def none_in_the_first_rows(i: Array, j: Array) -> Array:
    return (i >= j) & (i >= 40)


def skipped(graph: Any) -> list[int]:
    """Of each pass, how many of its nine tiles are known to be left out."""
    runners = [node.params["runner"] for node in passes(graph)]
    return [int(price._gone(runner, {"i": 3, "j": 3}).sum()) for runner in runners]


def test_a_mask_made_of_positions_leaves_tiles_out(qkv: Any) -> None:
    graph, _ = in_tiles(attention(causal), qkv)
    assert skipped(graph) == [3]
    graph, _ = in_tiles(attention(lambda i, j: (i >= j) & (i - j < 30)), qkv)
    assert skipped(graph) == [4]
    graph, _ = in_tiles(attention(lambda i, j: i >= -j), qkv)
    assert skipped(graph) == [0]


def is_proving(function: Any, given: Any) -> bool:
    """Are there proofs at run time?"""
    graph, _ = in_tiles(function, given)
    return any(node.params["runner"].is_skipping for node in passes(graph))


def test_there_are_no_proofs_where_positions_tell_that_no_tile_is_left_out(qkv: Any) -> None:
    def by_slope(q: Array, k: Array, v: Array, slope: Array) -> Array:
        position = jnp.arange(S)
        return jax.nn.softmax(q @ k.T - slope * abs(position[:, None] - position)) @ v

    def by_length(q: Array, k: Array, v: Array, length: Array) -> Array:
        return jax.nn.softmax(jnp.where(jnp.arange(S) < length, q @ k.T, -1e30)) @ v

    def given_whole(q: Array, k: Array, v: Array, mask: Array) -> Array:
        return jax.nn.softmax(jnp.where(mask, q @ k.T, -1e30)) @ v

    assert is_proving(attention(causal), qkv)
    assert not is_proving(attention(lambda i, j: i >= -j), qkv)
    assert not is_proving(attention(lambda i, j: (i != j) & (i % 2 == j % 2)), qkv)
    more = jnp.float32(1), jnp.int32(50), jnp.ones((S, S), bool)
    for function, each in zip((by_slope, by_length, given_whole), more, strict=True):
        assert is_proving(function, (*qkv, each))


def test_there_are_no_proofs_where_a_tile_counts_whatever_its_masks_are(qkv: Any) -> None:
    x, y, _ = qkv

    def half_masked(x: Array, y: Array, here: Array) -> Array:
        near = jnp.abs(x[:, None] - y[None]).sum(-1)
        return (near + jnp.where(here[:, None] == here, near, 0)).sum(1)

    def at_the_least(x: Array, y: Array) -> Array:
        far = jnp.abs(x[:, None] - y[None]).sum(-1)
        return (jnp.where(far == far.min(1, keepdims=True), far**2, 0)).sum(1)

    def nearby(x: Array, y: Array) -> Array:
        far = jnp.abs(x[:, None] - y[None]).sum(-1)
        return jnp.where(far < 1, jnp.exp(-far), 0).sum(1)

    def by_weight(x: Array, y: Array, weight: Array) -> Array:
        return (jnp.exp(jnp.abs(x[:, None] - y[None]).sum(-1)) * weight).sum(1)

    def added(q: Array, k: Array, here: Array) -> Array:
        mask = jnp.where(here[:, None] == here, 0, -1e9)
        return jax.nn.softmax(q @ k.T + mask) @ k

    def times(q: Array, k: Array, here: Array) -> Array:
        mask = jnp.where(here[:, None] == here, 1.0, 0.0)
        weights = jnp.exp(q @ k.T) * mask
        return weights @ k / weights.sum(1, keepdims=True)

    def sloped(q: Array, k: Array, slope: Array) -> Array:
        position = jnp.arange(S)
        causal = jnp.where(position[:, None] >= position, 0, -1e9)
        return jax.nn.softmax(q @ k.T + slope[:, None] * position + causal) @ k

    here = jnp.arange(S) // 32
    for function in (added, times, sloped):
        assert is_proving(function, (x, y, here))
    assert not is_proving(half_masked, (x, y, here))
    assert not is_proving(at_the_least, (x, y))
    assert is_proving(nearby, (x, y))
    assert is_proving(by_weight, (x, y, jnp.ones((S, S))))


@pytest.mark.parametrize(("number", "place"), [(np.nan, 1), (np.nan, 2), (np.inf, 0), (-np.inf, 2)])
def test_what_is_not_finite_in_a_skipped_tile_still_counts(
    qkv: Any, number: float, place: int
) -> None:
    """The product of a zero weight and an infinity is NaN, and must stay that."""
    given = list(qkv)
    given[place] = given[place].at[90, 1].set(number)
    check(attention(causal), given)


@pytest.mark.parametrize("fill", [-1e9, -jnp.inf, jnp.inf])
def test_rows_that_see_nothing(qkv: Any, fill: float) -> None:
    check(attention(none_in_the_first_rows, fill), qkv)


@pytest.mark.slow
def test_derivatives_of_masked_rows(qkv: Any) -> None:
    function = attention(none_in_the_first_rows, -1e9)
    check(jax.grad(lambda *given: (function(*given) ** 2).sum(), (0, 1, 2)), qkv, tolerance=2e-5)


@pytest.mark.parametrize("rows", [96, 90, 80])
def test_a_mask_found_at_run_time_is_proven_at_run_time(qkv: Any, rows: int) -> None:
    """The tiles that are done are counted: those of two documents, and no others."""
    document = jnp.asarray([0] * 32 + [1] * (rows - 32))

    def function(q: Array, k: Array, v: Array, document: Array) -> Array:
        same = document[:, None] == document[None]
        return jax.nn.softmax(jnp.where(same, q @ k.T, -1e30)) @ v

    given = (*(each[:rows] for each in qkv), document)
    graph, _ = in_tiles(function, given)
    (node,) = passes(graph)
    assert tiles_done(node, flat(function), given, graph) == 1 + 4


def tiles_done(node: Any, function: Any, given: Any, graph: Any) -> int:
    """How many tiles a pass does, told by a callback in each."""
    told: list[int] = []
    runner: Runner = node.params["runner"]

    def tiles(*given: Any) -> Any:
        jax.debug.callback(lambda: told.append(1))
        return runner.one.recipe.tiles(*given)

    seen = dataclasses.replace(
        runner, one=_Like(runner.one, recipe=_Like(runner.one.recipe, tiles=tiles))
    )
    nodes = [dataclasses.replace(n, apply=seen) if n is node else n for n in graph.nodes]
    changed = dataclasses.replace(graph, nodes=tuple(nodes))
    made = compiled(changed, given)(*given)
    assert_same(jax.jit(function)(*given), made, 5e-6)
    jax.effects_barrier()
    return len(told)


class _Like:
    """What has all attributes of another, but for some."""

    def __init__(self, other: Any, **instead: Any) -> None:
        self.__dict__.update(instead)
        self._other = other

    def __getattr__(self, name: str) -> Any:
        return getattr(self._other, name)


def test_without_skipping_every_tile_is_done(qkv: Any) -> None:
    settings = dataclasses.replace(SMALL, skips=False)
    graph, _ = in_tiles(attention(causal), qkv, settings)
    assert skipped(graph) == [0]


def test_ends_of_a_constant_are_found_when_the_program_runs(qkv: Any) -> None:
    """XLA's own evaluator took seconds for a mask of 1024 x 1024."""
    mask = jnp.tril(jnp.ones((S, S), bool))
    graph, _ = in_tiles(lambda q, k, v: jax.nn.softmax(jnp.where(mask, q @ k.T, -1e30)) @ v, qkv)
    (node,) = passes(graph)
    runner, blocks = node.params["runner"].one, Blocks.even({"i": 3, "j": 3}, TILE)
    (key,) = (key for key in runner.recipe.leaves if key[0].dtype == bool)

    @jax.jit
    def ends() -> tuple[Array, Array]:
        found = interval_of_leaf(mask, key[1], blocks, runner.outer)
        return found.low, found.high

    assert [end.tolist() for end in ends()] == [BELOW.tolist(), (BELOW + np.eye(3)).tolist()]
    assert "reduce(" in ends.lower().compile().as_text()
