"""Sums that run along a tiled axis are made in tiles, from what each block comes to."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array, lax

from orchestrator_core.conductor import Goal, conduct
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.rewriting import rewritten
from orchestrator_core.conductor.tile.cumulative.nodes import NAMES
from tests.conductor.corpus.case import normal, wide
from tests.conductor.corpus.examine import x64

from .tiling import SMALL, assert_same, check, compiled, flat, in_tiles, passes

B, N, D = 2, 72, 8
"""No multiple of a tile, nor of a block."""

Fn = Callable[..., Any]

RUNNING: dict[str, Fn] = {
    "sum": lax.cumsum,
    "product": lambda s, axis, reverse: lax.cumprod(1 + s / N, axis, reverse=reverse),
    "maximum": lax.cummax,
    "minimum": lax.cummin,
    "logsumexp": lax.cumlogsumexp,
}

SOME = [
    name if name in ("sum", "maximum") else pytest.param(name, marks=pytest.mark.slow)
    for name in RUNNING
]
"""One whose totals are added, and one whose totals are numbers of the blocks."""


def arrays(n: int = N, seed: int = 0) -> tuple[Array, ...]:
    random = np.random.default_rng(seed)
    return tuple(jnp.asarray(random.normal(size=(B, n, D)), "float32") for _ in range(3))


def scores(q: Array, k: Array) -> Array:
    return q @ k.mT / D**0.5


def lower(s: Array) -> Array:
    i = jnp.arange(s.shape[-2])[:, None]
    return i > jnp.arange(s.shape[-1])


def of(change: Fn) -> Fn:
    return lambda q, k, v: jax.nn.softmax(change(scores(q, k))) @ v


def stick_breaking(q: Array, k: Array, v: Array) -> Array:
    s = scores(q, k)
    left = jnp.where(lower(s), jax.nn.log_sigmoid(-s), 0)
    between = lax.cumsum(left, s.ndim - 1, reverse=True) - left
    return jnp.where(lower(s), jnp.exp(jax.nn.log_sigmoid(s) + between), 0) @ v


def contextual(q: Array, k: Array, v: Array, places: Array) -> Array:
    s = scores(q, k)
    gates = jnp.where(lower(s), jax.nn.sigmoid(s), 0)
    at = jnp.minimum(jnp.flip(jnp.cumsum(jnp.flip(gates, -1), -1), -1), places.shape[1] - 1)
    table = q @ places
    high, low = (
        jnp.take_along_axis(table, each(at).astype("int32"), -1) for each in (jnp.ceil, jnp.floor)
    )
    part = at - jnp.floor(at)
    s = s + high * part + low * (1 - part)
    return jax.nn.softmax(jnp.where(lower(s), s, -1e30)) @ v


def with_gradients(function: Fn, count: int = 3) -> Fn:
    def loss(*given: Array) -> Array:
        made = function(*given)
        return (made * jnp.cos(jnp.arange(made.size)).reshape(made.shape)).sum()

    return jax.value_and_grad(loss, tuple(range(count)))


def keeps_nothing(graph: Graph, n: int = N) -> bool:
    """Is nothing as large as all pairs?"""
    return not any(v.size >= B * n * n for node in graph.nodes for v in node.outputs)


@pytest.mark.parametrize(
    ("axis", "is_reverse"), [(2, False), pytest.param(1, True, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", SOME)
def test_every_operation_along_keys_and_queries(name: str, is_reverse: bool, axis: int) -> None:
    running = RUNNING[name]
    graph = check(of(lambda s: running(s, axis, reverse=is_reverse)), arrays())
    assert len(passes(graph)) == 2
    assert keeps_nothing(graph)


def forward(function: Fn) -> Fn:
    return function


BOTH_WAYS = pytest.mark.parametrize(
    "way", [forward, pytest.param(with_gradients, marks=pytest.mark.slow)]
)


@pytest.mark.parametrize("n", [64, pytest.param(101, marks=pytest.mark.slow)])
def test_gradients_keep_nothing_of_all_pairs(n: int) -> None:
    function, given = with_gradients(stick_breaking), arrays(n)
    graph = check(function, given, tolerance=2e-5)
    assert keeps_nothing(graph, n)
    with x64():
        exact = jax.jit(flat(function))(*wide(given))
    assert_same(exact, compiled(graph, given)(*given), 2e-5)


@BOTH_WAYS
@pytest.mark.parametrize(
    "change",
    [
        lambda s: jnp.cumsum(s, -1),
        pytest.param(lambda s: jnp.cumsum(s, -2) / N, marks=pytest.mark.slow),
        pytest.param(
            lambda s: jnp.where(lower(s), lax.cumsum(s, 2, reverse=True), -1e30),
            marks=pytest.mark.slow,
        ),
        pytest.param(lambda s: jnp.cumsum(jnp.cumsum(s, -1), -2) / N, marks=pytest.mark.slow),
        pytest.param(lambda s: s - jnp.cumsum(jax.nn.softmax(s), -2), marks=pytest.mark.slow),
    ],
)
def test_softmax_of_sums_and_sums_of_softmaxes(change: Fn, way: Fn) -> None:
    graph = check(way(of(change)), arrays(), tolerance=5e-5)
    assert keeps_nothing(graph)


def test_turned_round_and_back_is_from_the_end() -> None:
    graph = check(of(lambda s: jnp.cumsum(s[..., ::-1], -1)[..., ::-1]), arrays())
    assert keeps_nothing(graph)


BEFORE = ((0, 0), (0, 0), (1, 0))
AFTER = ((0, 0), (0, 0), (0, 1))


@BOTH_WAYS
@pytest.mark.parametrize(
    "change",
    [
        lambda s: jnp.pad(jnp.cumsum(s, -1)[..., :-1], BEFORE),
        pytest.param(
            lambda s: jnp.pad(jnp.cumsum(s, -1), BEFORE)[..., :-1], marks=pytest.mark.slow
        ),
        lambda s: jnp.cumsum(jnp.pad(s[..., :-1], BEFORE), -1),
        pytest.param(
            lambda s: jnp.concatenate([jnp.zeros((B, N, 1)), jnp.cumsum(s, -1)[..., :-1]], -1),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            lambda s: jnp.pad(lax.cumsum(s, 2, reverse=True), AFTER)[..., 1:],
            marks=pytest.mark.slow,
        ),
        pytest.param(
            lambda s: jnp.flip(jnp.pad(jnp.cumsum(jnp.flip(s, -1), -1)[..., :-1], BEFORE), -1),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_all_before_without_its_own(change: Fn, way: Fn) -> None:
    graph = check(way(of(change)), arrays(), tolerance=5e-5)
    assert keeps_nothing(graph)


@BOTH_WAYS
@pytest.mark.parametrize(
    "change",
    [
        lambda s: jnp.pad(jnp.cumsum(s, -1)[..., :-1], BEFORE, constant_values=1.0),
        pytest.param(lambda s: jnp.pad(jnp.cumsum(s, -1)[..., 1:], BEFORE), marks=pytest.mark.slow),
        pytest.param(lambda s: jnp.pad(jnp.cumsum(s, -1)[..., 1:], AFTER), marks=pytest.mark.slow),
        pytest.param(
            lambda s: jnp.pad(jnp.cumsum(s, -2)[..., :-1], BEFORE), marks=pytest.mark.slow
        ),
        pytest.param(
            lambda s: jnp.flip(jnp.cumsum(jnp.flip(s, -2), -1), -1), marks=pytest.mark.slow
        ),
        pytest.param(lambda s: jnp.flip(jnp.cumsum(s, -1), -1), marks=pytest.mark.slow),
    ],
)
def test_near_misses_are_what_they_are(change: Fn, way: Fn) -> None:
    function, given = way(of(change)), arrays()
    graph, _ = in_tiles(function, given)
    assert_same(jax.jit(flat(function))(*given), compiled(graph, given)(*given), 5e-5)


@pytest.mark.slow
@pytest.mark.parametrize("is_reverse", [False, True])
def test_the_last_of_running_sums_is_all_of_them(is_reverse: bool) -> None:
    def change(s: Array) -> Array:
        made = lax.cumsum(s, 2, reverse=is_reverse)
        return (made[..., :1] if is_reverse else made[..., -1:]) - made

    graph = check(with_gradients(of(change)), arrays(), tolerance=5e-5)
    assert keeps_nothing(graph)


@pytest.mark.slow
def test_each_row_picks_from_a_table_of_its_own() -> None:
    """Contextual positions, and their gradients, which are added to such a table."""
    given = (*arrays(), jnp.asarray(np.random.default_rng(5).normal(size=(D, 9)), "float32"))
    graph = check(contextual, given)
    assert keeps_nothing(graph)
    graph = check(with_gradients(contextual, 4), given, tolerance=5e-5)
    assert keeps_nothing(graph)


@pytest.mark.parametrize(
    ("tile", "shape"),
    [
        (48, None),
        pytest.param(32, (16, 50), marks=pytest.mark.slow),
        pytest.param(None, (64, 40), marks=pytest.mark.slow),
    ],
)
def test_tiles_begin_where_blocks_do(tile: int | None, shape: tuple[int, int] | None) -> None:
    """Whatever size is asked for."""
    settings = dataclasses.replace(SMALL, tile=tile, shape=shape)
    check(
        of(lambda s: jnp.cumsum(jnp.cumsum(s, -1), -2) / N), arrays(300), settings, tolerance=2e-5
    )


@pytest.mark.parametrize("name", SOME)
def test_what_is_no_number_spreads_as_it_did(name: str) -> None:
    """From where it stands to the end, and infinities that meet are no number."""
    given = arrays()

    def function(q: Array, k: Array, v: Array) -> Any:
        made = RUNNING[name](scores(q, k), 2, reverse=False)
        return [
            jnp.where(each, 1.0, 0.0) @ v
            for each in (made != made, made == np.inf, made == -np.inf)
        ]

    graph, _ = in_tiles(function, given)
    original, tiled = jax.jit(flat(function)), compiled(graph, given)
    bad = (np.nan, np.inf, -np.inf)
    for one, other, at in itertools.product(bad, (0.0, *bad), (0, 31, 32, 71)):
        worse = [given[0].at[..., 0].set(1), given[1].at[:, at, 0].set(one), given[2]]
        worse[1] = worse[1].at[:, 40, 0].add(other)
        assert_same(original(*worse), tiled(*worse), 5e-6)


def test_rows_that_see_nothing() -> None:
    def change(s: Array) -> Array:
        seen = lower(s) & (jnp.arange(N)[:, None] > 9)
        return jnp.where(seen, lax.cumsum(jnp.where(seen, s, 0), 2, reverse=True), -jnp.inf)

    check(of(change), arrays())


@pytest.mark.parametrize(
    "compare", [jnp.greater_equal, pytest.param(jnp.equal, marks=pytest.mark.slow)]
)
def test_what_is_compared_is_the_same_in_every_pass(compare: Fn) -> None:
    """The largest so far is one of the numbers, bit for bit."""
    check(of(lambda s: jnp.where(compare(s * 0.3, lax.cummax(s * 0.3, 2)), s, -1e9)), arrays())


def test_the_largest_of_sums_is_one_of_them() -> None:
    """Its gradient asks which."""

    def function(q: Array, k: Array, v: Array) -> Array:
        return jnp.cumsum(scores(q, k) * 0.3, -1).max(-1, keepdims=True) * v

    check(with_gradients(function), arrays(), tolerance=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_sums_of_16_bits_are_no_worse(dtype: str) -> None:
    given = [each.astype(dtype) for each in arrays()]
    graph, _ = in_tiles(stick_breaking, given)
    exact = stick_breaking(*(each.astype("float32") for each in given))
    ours, theirs = compiled(graph, given)(*given)[0], jax.jit(stick_breaking)(*given)
    assert ours.dtype == dtype
    off = [np.abs(np.asarray(each, "float32") - exact).max() for each in (ours, theirs)]
    assert off[0] <= 1.5 * off[1]


def test_complex_numbers_beside_zeros_are_no_running_sum() -> None:
    """Only what is real is read as one; the rest of the function is tiled all the same."""

    def padded(q: Array, k: Array) -> Array:
        turned = jnp.exp(1j * jnp.cumsum(q, 0))
        before = jnp.pad(turned[:-1], ((1, 0), (0, 0)))
        return jnp.exp(-jnp.abs(q @ k.T)) @ before.real

    check(padded, tuple(jnp.asarray(normal(70, 4, seed=each)) for each in range(2)))


def test_whole_numbers_are_exact() -> None:
    def function(q: Array, k: Array, v: Array) -> Array:
        s = scores(q, k)
        count = jnp.cumsum(s > 0, -1)
        return jnp.where(count % 3 == 0, jnp.exp(s), 0) @ v, count.max(-1)

    graph = check(function, arrays())
    assert keeps_nothing(graph)


@pytest.mark.slow
def test_strict_changes_the_order_of_sums_alone() -> None:
    check(stick_breaking, arrays(), precision="strict")
    check(with_gradients(stick_breaking), arrays(), precision="strict", tolerance=2e-5)


@pytest.mark.slow
def test_in_a_loop_over_layers_and_under_vmap() -> None:
    def layers(q: Array, k: Array, v: Array) -> Array:
        def layer(x: Array, scale: Array) -> tuple[Array, None]:
            return x + stick_breaking(x * scale, k, v), None

        return (lax.scan(layer, q, jnp.array([1.0, 0.5, 2.0]))[0] ** 2).sum()

    given = arrays()
    function = jax.value_and_grad(layers, (0, 1, 2))
    made = conduct(function, goal=Goal(always=True))(*given)
    assert_same(jax.tree.leaves(jax.jit(function)(*given)), jax.tree.leaves(made), 5e-5)
    stacked = [jnp.stack([each, 2 * each]) for each in given]
    several = jax.vmap(conduct(stick_breaking, goal=Goal(always=True)))(*stacked)
    assert_same([jax.vmap(stick_breaking)(*stacked)], [several], 5e-6)


def test_what_is_in_no_tile_is_as_it_was() -> None:
    """The sums are returned, so all of them are needed."""

    def returned(q: Array, k: Array, v: Array) -> Any:
        return jnp.cumsum(q @ k.mT, -1), of(lambda s: s)(q, k, v)

    graph, sites = in_tiles(returned, arrays())
    assert all(site.reason for site in sites)
    assert not any(node.name in NAMES for node in graph.nodes)
    assert_same(jax.jit(flat(returned))(*arrays()), compiled(graph, arrays())(*arrays()), 5e-6)


def test_an_array_that_is_moved_a_thousand_times_leaves_the_others_in_tiles() -> None:
    """One move of another, more often than functions of Python may call each other."""

    def function(q: Array, k: Array, v: Array, x: Array) -> Any:
        for _ in range(600):
            x = x[::-1]
            x = jnp.pad(x[:-1], (1, 0))
        return of(lambda s: s)(q, k, v), x

    graph, _ = in_tiles(function, (*arrays(), jnp.ones(9)))
    assert passes(graph)


def test_what_was_done_is_told() -> None:
    _, sites = in_tiles(stick_breaking, arrays())
    (site,) = [site for site in sites if site.is_changed]
    assert site.chosen.startswith("2 passes of 32 x 32 tiles")
    assert site.chosen.endswith("running sums in blocks of 32")


@pytest.mark.parametrize(
    ("function", "less"),
    [
        (stick_breaking, 20),
        pytest.param(with_gradients(stick_breaking), 15, marks=pytest.mark.slow),
    ],
)
def test_memory(function: Fn, less: int) -> None:
    given = [jax.ShapeDtypeStruct((4, 2048, 64), "float32")] * 3
    goal = Goal(objective="memory", allow=frozenset({"tiling"}))
    graph, sites = rewritten(read(jax.make_jaxpr(flat(function))(*given)), goal)
    assert [site.is_changed for site in sites] == [True]
    before = jax.jit(flat(function)).lower(*given).compile().memory_analysis()
    after = compiled(graph, given).memory_analysis()
    assert before.temp_size_in_bytes >= less * after.temp_size_in_bytes
