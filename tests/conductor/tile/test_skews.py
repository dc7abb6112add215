"""Scores of distances, turned into those of positions by pads and reshapes, are made in tiles."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor import Goal, conduct
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.tile.settings import TileSettings
from orchestrator_core.conductor.tile.skews.products import NAMES

from .tiling import assert_same, check, compiled, flat, in_tiles, passes

B, H, D = 2, 2, 8
Array = jax.Array
Fn = Callable[..., Any]


def transformer_xl(x: Array) -> Array:
    b, h, n, m = x.shape
    x = jnp.pad(x, ((0, 0), (0, 0), (0, 0), (1, 0))).reshape(b, h, m + 1, n)
    return x[:, :, 1:].reshape(b, h, n, m)


def wrong_side(x: Array) -> Array:
    b, h, n, m = x.shape
    x = jnp.pad(x, ((0, 0), (0, 0), (0, 0), (0, 1))).reshape(b, h, m + 1, n)
    return x[:, :, 1:].reshape(b, h, n, m)


def too_late(x: Array) -> Array:
    """Cut off at the end instead of at the beginning."""
    b, h, n, m = x.shape
    x = jnp.pad(x, ((0, 0), (0, 0), (0, 0), (1, 0))).reshape(b, h, m + 1, n)
    return x[:, :, :-1].reshape(b, h, n, m)


def with_ones(x: Array) -> Array:
    """What runs into the rows is no zero."""
    b, h, n, m = x.shape
    ones = ((0, 0), (0, 0), (0, 0), (1, 0))
    x = jnp.pad(x, ones, constant_values=1.0).reshape(b, h, m + 1, n)
    return x[:, :, 1:].reshape(b, h, n, m)


def conformer(x: Array) -> Array:
    b, h, n, m = x.shape
    x = jnp.concatenate([jnp.zeros((b, h, n, 1)), x], -1).reshape(b, h, m + 1, n)
    return x[:, :, 1:].reshape(b, h, n, m)[..., : m // 2 + 1]


def xlnet(x: Array) -> Array:
    b, h, n, m = x.shape
    return x.reshape(b, h, m, n)[:, :, 1:].reshape(b, h, n, m - 1)[..., :n]


def tensor2tensor(x: Array) -> Array:
    b, h, n, _ = x.shape
    x = jnp.pad(x, ((0, 0), (0, 0), (0, 0), (0, 1))).reshape(b, h, 2 * n * n)
    x = jnp.pad(x, ((0, 0), (0, 0), (0, n - 1))).reshape(b, h, n + 1, 2 * n - 1)
    return x[:, :, :n, n - 1 :]


SHIFTS: dict[Fn, Callable[[int], int]] = {
    transformer_xl: lambda n: n,
    wrong_side: lambda n: n,
    too_late: lambda n: n,
    with_ones: lambda n: n,
    conformer: lambda n: 2 * n - 1,
    xlnet: lambda n: 2 * n,
    tensor2tensor: lambda n: 2 * n - 1,
}


def attention(shift: Fn, is_causal: bool) -> Fn:
    def function(q: Array, k: Array, v: Array, r: Array, u: Array, w: Array) -> Array:
        content = jnp.einsum("bhid,bhjd->bhij", q + u[:, None], k)
        distance = jnp.einsum("bhid,hjd->bhij", q + w[:, None], r)
        scores = (content + shift(distance)) / D**0.5
        if is_causal:
            scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e30)
        return jax.nn.softmax(scores) @ v

    return function


def arrays(shift: Fn, n: int) -> tuple[Array, ...]:
    random = np.random.default_rng(n)
    shapes = [(B, H, n, D)] * 3 + [(H, SHIFTS[shift](n), D), (H, D), (H, D)]
    return tuple(jnp.asarray(random.normal(size=each), "float32") for each in shapes)


def with_gradients(function: Fn) -> Fn:
    def loss(*given: Array) -> Array:
        made = function(*given)
        return (made * jnp.cos(jnp.arange(made.size)).reshape(made.shape)).sum()

    return jax.value_and_grad(loss, (0, 1, 2, 3, 4, 5))


def keeps_nothing(graph: Graph, n: int) -> bool:
    """Is nothing as large as all pairs?"""
    return not any(v.size >= B * H * n * n for node in graph.nodes for v in node.outputs)


@pytest.mark.parametrize(
    "shift",
    [
        transformer_xl,
        pytest.param(conformer, marks=pytest.mark.slow),
        pytest.param(xlnet, marks=pytest.mark.slow),
        pytest.param(tensor2tensor, marks=pytest.mark.slow),
    ],
)
def test_forward_and_backward_keep_nothing_of_all_pairs(shift: Fn) -> None:
    given = arrays(shift, 72)  # no multiple of the tile
    function = attention(shift, shift is transformer_xl)
    graph, _ = in_tiles(function, given)
    assert len(passes(graph)) == 1
    assert keeps_nothing(graph, 72)
    graph = check(with_gradients(function), given, tolerance=2e-5)
    assert len(passes(graph)) == 2
    assert keeps_nothing(graph, 72)


@pytest.mark.slow
@pytest.mark.parametrize("n", [96, 101])
def test_rows_that_run_into_each_other(n: int) -> None:
    """Without a mask all that Transformer-XL's shift makes counts."""
    given = arrays(transformer_xl, n)
    check(with_gradients(attention(transformer_xl, False)), given, tolerance=2e-5)


@pytest.mark.parametrize(
    "shift",
    [
        wrong_side,
        pytest.param(too_late, marks=pytest.mark.slow),
        pytest.param(with_ones, marks=pytest.mark.slow),
    ],
)
def test_near_misses_are_what_they_are(shift: Fn) -> None:
    check(attention(shift, False), arrays(shift, 72))


@pytest.mark.slow
def test_the_time_axis_first() -> None:
    n = 72

    def function(q: Array, k: Array, v: Array, r: Array, u: Array, w: Array) -> Array:
        q, k, v, r = (jnp.moveaxis(each, -2, 0) for each in (q, k, v, r))
        content = jnp.einsum("ibnd,jbnd->ijbn", q + u, k)
        distance = jnp.einsum("ibnd,jnd->ijbn", q + w, r)
        wide = jnp.concatenate([jnp.zeros((n, 1, B, H)), distance], 1)
        shifted = wide.reshape(n + 1, n, B, H)[1:].reshape(n, n, B, H)
        scores = (content + shifted) / D**0.5
        causal = jnp.tril(jnp.ones((n, n), bool))[:, :, None, None]
        weights = jax.nn.softmax(jnp.where(causal, scores, -1e30), 1)
        return jnp.einsum("ijbn,jbnd->ibnd", weights, v)

    graph = check(with_gradients(function), arrays(transformer_xl, n), tolerance=2e-5)
    assert keeps_nothing(graph, n)


def test_in_16_bits_with_the_time_axis_first() -> None:
    """Run, not only compiled: of sums in 32 bits XLA's library for CPUs does not know all."""
    n, m = 150, 300

    def loss(q: Array, k: Array, v: Array, r: Array) -> Array:
        distance = jnp.einsum("ind,jnd->ijn", q, r)
        wide = jnp.pad(distance, ((0, 0), (1, 0), (0, 0))).reshape(m + 1, n, H)
        scores = jnp.einsum("ind,jnd->ijn", q, k) + wide[1:].reshape(n, m, H)
        scores = jnp.where(jnp.triu(jnp.ones((n, m), bool), 1 + n)[..., None], -1e30, scores)
        made = jnp.einsum("ijn,jnd->ind", jax.nn.softmax(scores / D**0.5, 1), v)
        return (made.astype(jnp.float32) ** 2).sum()

    keys = jax.random.split(jax.random.key(0), 4)
    sizes = zip(keys, (n, m, m, m), strict=True)
    given = [jax.random.normal(key, (size, H, D)).astype(jnp.bfloat16) for key, size in sizes]
    gradients = jax.grad(loss, (0, 1, 2, 3))
    tiled = conduct(gradients, Goal(always=True))
    assert "✓ tiling" in str(tiled.explain(*given))
    exact = gradients(*(each.astype(jnp.float32) for each in given))
    for ours, theirs in zip(jax.jit(tiled)(*given), exact, strict=True):
        assert float(jnp.abs(ours - theirs).max()) < 5e-2 * float(jnp.abs(theirs).max())


@pytest.mark.slow
def test_scaled_and_cast_before_it_is_shifted() -> None:
    def function(q: Array, k: Array, v: Array, r: Array, u: Array, w: Array) -> Array:
        distance = jnp.einsum("bhid,hjd->bhij", q + w[:, None], r) * 0.25
        scores = (q + u[:, None]) @ k.mT / D**0.5 - transformer_xl(-distance)
        return jax.nn.softmax(scores) @ v

    graph = check(with_gradients(function), arrays(transformer_xl, 72), tolerance=2e-5)
    assert keeps_nothing(graph, 72)


@pytest.mark.slow
def test_what_is_no_number_spreads_as_it_did() -> None:
    """Also from where the skew has nothing, as zero times infinity."""
    function, given = with_gradients(attention(transformer_xl, True)), arrays(transformer_xl, 72)
    graph, _ = in_tiles(function, given)
    original, tiled = jax.jit(flat(function)), compiled(graph, given)
    for bad, place, at in itertools.product((np.nan, np.inf), (0, 1, 3), (0, 40, 71)):
        worse = list(given)
        worse[place] = given[place].at[..., at, 3].set(bad)
        for a, b in zip(original(*worse), tiled(*worse), strict=True):
            np.testing.assert_array_equal(np.isnan(a), np.isnan(b), f"{bad} {place} {at}")


@pytest.mark.slow
def test_rows_that_see_nothing() -> None:
    def function(q: Array, k: Array, v: Array, r: Array, u: Array, w: Array) -> Array:
        distance = jnp.einsum("bhid,hjd->bhij", q + w[:, None], r)
        scores = (q + u[:, None]) @ k.mT + transformer_xl(distance)
        position = jnp.arange(72)
        seen = (position[:, None] >= position[None]) & (position[:, None] > 9)
        return jax.nn.softmax(jnp.where(seen, scores, -jnp.inf)) @ v

    check(function, arrays(transformer_xl, 72))


@pytest.mark.slow
def test_strict_changes_the_order_of_sums_alone() -> None:
    given = arrays(transformer_xl, 72)
    check(attention(transformer_xl, True), given, precision="strict")


@pytest.mark.slow
def test_in_a_loop_over_layers_and_under_vmap() -> None:
    function = attention(transformer_xl, True)
    *given, u, w = arrays(transformer_xl, 72)

    def layers(q: Array, k: Array, v: Array, r: Array) -> Array:
        def layer(x: Array, bias: Array) -> tuple[Array, None]:
            return x + function(x, k, v, r, bias, w), None

        made, _ = jax.lax.scan(layer, q, jnp.stack([u, -u, u]))
        return (made**2).sum()

    made = conduct(jax.value_and_grad(layers, (0, 1, 2, 3)), goal=Goal(always=True))
    expected = jax.jit(jax.value_and_grad(layers, (0, 1, 2, 3)))(*given)
    assert_same(jax.tree.leaves(expected), jax.tree.leaves(made(*given)), 5e-5)
    several = jax.vmap(conduct(function, goal=Goal(always=True)), (0, 0, 0, None, None, None))
    stacked = [jnp.stack([each, 2 * each]) for each in given[:3]]
    expected_rows = jax.vmap(function, (0, 0, 0, None, None, None))(*stacked, given[3], u, w)
    assert_same([expected_rows], [several(*stacked, given[3], u, w)], 5e-6)


def test_what_is_not_tiled_is_as_it_was() -> None:
    """The skew is returned, so all of it is needed; and small tiles would not pay."""
    given = arrays(transformer_xl, 72)

    def returned(q: Array, k: Array, v: Array, r: Array, u: Array, w: Array) -> Any:
        shifted = transformer_xl(jnp.einsum("bhid,hjd->bhij", q, r))
        return shifted, jax.nn.softmax(q @ k.mT) @ v

    goals = [TileSettings(min_elements=2**10, min_axis=40), None]
    for settings in goals:
        graph, sites = in_tiles(returned, given, *([settings] if settings else []))
        assert all(site.reason for site in sites)
        assert not any(node.name in NAMES for node in graph.nodes)
        assert_same(jax.jit(flat(returned))(*given), compiled(graph, given)(*given), 5e-6)
