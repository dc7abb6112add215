"""The largest elements along an axis and where they are, of tiles that are not kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from orchestrator_core.conductor import Conducted, Goal, conduct
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.tile.settings import TileSettings

from .tiling import assert_same, check, compiled, flat, in_tiles, passes

N, M, D, K = 72, 101, 8, 5  # no multiples of the tile
Array = jax.Array


def points(dtype: str = "float32") -> tuple[Array, Array]:
    random = np.random.default_rng(4)
    return tuple(jnp.asarray(random.normal(size=(n, D)), dtype) for n in (N, M))


def whole_numbers() -> tuple[Array, Array]:
    """Whose products are exact and often equal."""
    random = np.random.default_rng(5)
    return tuple(jnp.asarray(random.integers(-2, 3, (n, D)), "float32") for n in (N, M))


def keeps_nothing(graph: Graph) -> bool:
    return not any(v.size >= N * M for node in graph.nodes for v in node.outputs)


def apart(x: Array, y: Array) -> Array:
    return (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T


def neighbours(x: Array, y: Array) -> Any:
    return lax.top_k(-apart(x, y), K)


def neighbours_down(x: Array, y: Array) -> Any:
    """Along the first axis."""
    numbers, places = lax.top_k(-apart(x, y).T, K)
    return numbers.T, places.T


def codes(x: Array, y: Array) -> Array:
    """Of a book, as in van den Oord and others, "Neural discrete representation learning"."""
    return y[jnp.argmin(apart(x, y), 1)]


def farthest(x: Array, y: Array) -> Any:
    distance = apart(x, y)
    return jnp.argmax(distance, 1), jnp.argmax(distance, 0), distance.max(1)


def means(x: Array, y: Array) -> Array:
    """A step of Lloyd's k-means."""
    one = jax.nn.one_hot(jnp.argmin(apart(x, y), 1), M)
    return one.T @ x / jnp.maximum(one.sum(0), 1)[:, None]


def best_keys(x: Array, y: Array) -> Array:
    """Attention to the best keys alone, as in Gupta and others (2021)."""
    scores = x @ y.T
    least = lax.top_k(scores, K)[0][:, -1:]
    return jax.nn.softmax(jnp.where(scores >= least, scores, -1e9)) @ y


ALSO = [pytest.param(each, marks=pytest.mark.slow) for each in (neighbours_down, farthest)]


@pytest.mark.parametrize("function", [neighbours, codes, means, *ALSO])
@pytest.mark.parametrize("given", [points, whole_numbers])
def test_same_numbers_and_same_places(function: Any, given: Any) -> None:
    """Of equal numbers, that which stands first."""
    graph = check(function, given(), tolerance=2e-6)
    assert keeps_nothing(graph)


def test_places_are_exact() -> None:
    given = whole_numbers()
    for function in (neighbours, lambda x, y: jnp.argmax(x @ y.T, 0)):
        graph = check(function, given, tolerance=0.0)
        assert len(passes(graph)) == 1


@pytest.mark.parametrize("k", [1, 32, 33, M])
def test_more_than_a_tile_has(k: int) -> None:
    check(lambda x, y: lax.top_k(x @ y.T, k), whole_numbers(), tolerance=0.0)


@pytest.mark.parametrize("dtype", ["bfloat16", "int32", "uint32"])
def test_other_types(dtype: str) -> None:
    random = np.random.default_rng(6)
    x, y = (jnp.asarray(random.integers(0, 9, n), dtype) for n in (N, M))

    def function(x: Array, y: Array) -> Any:
        scores = x[:, None] * y - y[::-1]  # of unsigned numbers, some are very large
        return lax.top_k(scores, K), jnp.argmin(scores, 1), jnp.argmax(scores, 0)

    check(function, (x, y), tolerance=0.0)


def test_in_double_precision() -> None:
    with jax.enable_x64(True):
        check(neighbours, points("float64"), tolerance=1e-14)
        check(farthest, points("float64"), tolerance=1e-14)


def test_truth_values() -> None:
    x, y = points()
    check(lambda x, y: jnp.argmax(x @ y.T > 1, 1), (x, y), tolerance=0.0)
    check(lambda x, y: jnp.argmin(x @ y.T > 1, 1), (x, y), tolerance=0.0)


@pytest.mark.parametrize("name", ["top_k", "argmax", "argmin"])
def test_what_is_no_number_and_both_zeros(name: str) -> None:
    """NaN is the largest to all three, and the smallest as well; -0 is 0 but to `top_k`."""
    random = np.random.default_rng(7)
    odd = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-40], "float32")
    x, y = (jnp.asarray(random.choice(odd, n)) for n in (N, M))
    is_x = jnp.asarray(random.random((N, 1)) < 0.3)

    def function(x: Array, y: Array, is_x: Array) -> Any:
        scores = jnp.where(is_x, x[:, None], y)
        return lax.top_k(scores, K) if name == "top_k" else getattr(jnp, name)(scores, 1)

    graph = check(function, (x, y, is_x), tolerance=0.0)
    assert len(passes(graph)) == 1


@pytest.mark.parametrize("k", [1, 2, K, M])
def test_numbers_that_are_made_of_both_kinds_of_nan(k: int) -> None:
    """-NaN is the least of all, NaN the largest."""
    x, y = (each[:, 0] for each in points())
    y = y.at[jnp.array([3, 70])].set(-np.float32(np.nan)).at[41].set(-jnp.inf)
    check(lambda x, y: lax.top_k(x[:, None] + y, k), (x, y), tolerance=0.0)
    y = y.at[50].set(jnp.nan)
    check(lambda x, y: lax.top_k(x[:, None] + y, k), (x, y), tolerance=0.0)


def test_rows_that_see_fewer_than_are_asked() -> None:
    """Of what is masked, again that which stands first."""

    def function(x: Array, y: Array) -> Any:
        seen = jnp.arange(N)[:, None] >= jnp.arange(M)
        scores = jnp.where(seen, x @ y.T, -jnp.inf)
        return lax.top_k(scores, K), jnp.argmax(scores, 1)

    check(function, whole_numbers(), tolerance=0.0)


@pytest.mark.parametrize("given", [points, whole_numbers])
def test_attention_to_the_best_keys(given: Any) -> None:
    """What is compared with the k-th largest has the same bits as that, in every pass."""
    graph = check(best_keys, given())
    assert keeps_nothing(graph)


def test_rows_that_are_summed_again_beside_what_is_not_finite_know_their_best_keys() -> None:
    """In tiles of another size the k-th largest would be rounded otherwise, and left out."""

    def of(x: Array, y: Array, v: Array) -> Array:
        scores = jnp.einsum("hqd,hkd->hqk", x, y)
        least = lax.top_k(scores, K)[0][..., -1:]
        return jax.nn.softmax(jnp.where(scores >= least, scores, -jnp.inf)) @ v

    random = np.random.default_rng(0)
    x, y, v = (random.normal(size=(2, 64, 8)).astype("float32") for _ in range(3))
    v[0, 50, 1] = np.nan
    goal = Goal(always=True)
    assert_same([jax.jit(of)(x, y, v)], [Conducted(of, goal)(x, y, v)], 5e-6)


def test_gradients_of_attention_to_the_best_keys() -> None:
    def loss(x: Array, y: Array) -> Array:
        return (best_keys(x, y) ** 2).sum()

    graph = check(jax.value_and_grad(loss, (0, 1)), points(), tolerance=2e-5)
    assert keeps_nothing(graph)


@pytest.mark.slow
def test_gradients_of_the_largest() -> None:
    """They go back to where those are."""

    def loss(x: Array, y: Array) -> Array:
        return jnp.sqrt(1 - neighbours(x, y)[0]).sum()

    graph = check(jax.value_and_grad(loss, (0, 1)), points(), tolerance=2e-5)
    assert keeps_nothing(graph)


@pytest.mark.parametrize("n", [67, 75])
def test_of_equal_points_the_first(n: int) -> None:
    """Also where a tile of the rest would be so small that its numbers were rounded otherwise."""
    random = np.random.default_rng(3)
    x, y = (jnp.asarray(random.normal(size=(n, D)), "float32") for _ in range(2))
    y = y[: n // 3][jnp.arange(n) % (n // 3)]

    def distances(x: Array, y: Array) -> Array:
        return jnp.tanh(x[:, None] - y[None]).mean(-1)

    def function(x: Array, y: Array) -> Any:
        apart = distances(x, y)
        return lax.top_k(apart, 7)[1], jnp.argmax(apart, 1), jnp.argmin(distances(y, x), 0)

    check(function, (x, y), tolerance=0.0)


def test_heads_and_the_axis_between_them() -> None:
    random = np.random.default_rng(8)
    q, k = (jnp.asarray(random.normal(size=(2, n, 3, D)), "float32") for n in (N, M))

    def function(q: Array, k: Array) -> Any:
        scores = jnp.einsum("bihd,bjhd->bijh", q, k)
        return jnp.argmax(scores, 2), jnp.argmin(scores, 1)

    check(function, (q, k), tolerance=0.0)


def test_under_vmap_and_in_a_loop() -> None:
    def several(function: Callable[..., Any]) -> Callable[..., Any]:
        def looped(x: Array, y: Array) -> Array:
            def step(y: Array, _: None) -> tuple[Array, None]:
                return jax.vmap(function, (None, 0))(x, y), None

            return lax.scan(step, jnp.stack([y, 2 * y]), None, length=3)[0]

        return looped

    x, y = points()
    made = several(conduct(means, goal=Goal(always=True)))(x, y)
    assert_same([several(means)(x, y)], [made], 1e-5)


def test_skips_tiles_that_are_proven_to_have_nothing_larger() -> None:
    """And computes the others, also those that are visited out of order."""

    def function(x: Array, y: Array) -> Any:
        near = jnp.abs(jnp.arange(N)[:, None] - jnp.arange(M)) < 9
        return lax.top_k(jnp.where(near, x @ y.T, -1e30), K)

    _, sites = in_tiles(function, whole_numbers())
    assert "may be skipped" in sites[0].chosen
    check(function, whole_numbers(), tolerance=0.0)


def test_what_is_not_tiled_is_as_it_was() -> None:
    """All pairs are returned; and places along an axis that no tile cuts."""
    x, y = points()

    def returned(x: Array, y: Array) -> Any:
        return apart(x, y), *neighbours(x, y)

    graph, sites = in_tiles(returned, (x, y), TileSettings(min_elements=2**10, min_axis=40))
    assert not any(site.is_changed for site in sites)
    assert sum(node.name == "top_k" for node in graph.nodes) == 1

    def nearest_feature(x: Array, y: Array) -> Array:
        return jnp.cos(jnp.argmax(x[:, None] * y, -1) * 1.0).sum(1)

    graph, _ = in_tiles(nearest_feature, (x, y))
    assert_same([jax.jit(nearest_feature)(x, y)], compiled(graph, (x, y))(x, y), 5e-6)


def test_less_memory_than_all_pairs() -> None:
    random = np.random.default_rng(9)
    x, y = (jnp.asarray(random.normal(size=(2048, 16)), "float32") for _ in range(2))
    graph = check(codes, (x, y), TileSettings(tile=256, always=True), tolerance=0.0)
    kept = compiled(graph, (x, y)).memory_analysis().temp_size_in_bytes
    plain = jax.jit(flat(codes)).lower(x, y).compile().memory_analysis().temp_size_in_bytes
    assert kept * 8 < plain
