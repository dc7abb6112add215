"""What is done in tiles has the values of the original, forward and with derivatives inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.scipy.special import logsumexp

from orchestrator_core.conductor import Goal, conduct
from orchestrator_core.conductor.tile.settings import TileSettings

from .tiling import check, in_tiles, passes

S, D, H, V = 64, 8, 2, 70
Array = jax.Array
ROW, COLUMN = jnp.arange(S)[:, None], jnp.arange(S)[None]
CAUSAL = ROW >= COLUMN


@pytest.fixture(scope="module")
def qkv() -> tuple[Array, Array, Array]:
    random = np.random.default_rng(0)
    q, k, v = random.normal(size=(3, 1, H, S, D)).astype("float32")
    return jnp.asarray(q), jnp.asarray(k), jnp.asarray(v)


def scores(q: Array, k: Array) -> Array:
    return jnp.einsum("bhqd,bhkd->bhqk", q, k) / D**0.5


def causal(q: Array, k: Array, v: Array) -> Array:
    position = jnp.arange(S)
    masked = jnp.where(position[:, None] >= position[None], scores(q, k), -1e30)
    return jax.nn.softmax(masked) @ v


def sinkhorn(q: Array, k: Array, v: Array) -> Array:
    s = scores(q, k)
    s = s - logsumexp(s, -1, keepdims=True)
    s = s - logsumexp(s, -2, keepdims=True)
    return jnp.exp(s) @ v


def one_plus(q: Array, k: Array, v: Array) -> Array:
    """Not a softmax: one more in the denominator."""
    s = scores(q, k)
    e = jnp.exp(s - s.max(-1, keepdims=True))
    return (e / (1 + e.sum(-1, keepdims=True))) @ v


def contrastive(q: Array, k: Array, v: Array) -> Array:
    logits = q[0, 0] @ k[0, 0].T
    rows, columns = jax.nn.log_softmax(logits), jax.nn.log_softmax(logits, 0)
    return -((rows + columns) * jnp.eye(S)).sum() + v.sum()


def regression(q: Array, k: Array, v: Array) -> Array:
    near = jnp.exp(-((q[0, 0][:, None] - k[0, 0][None]) ** 2).sum(-1) / 4)
    return (near @ v[0, 0]) / near.sum(1, keepdims=True)


def cross_entropy(q: Array, k: Array, v: Array) -> Array:
    logits = q[0, 0] @ jnp.tile(k[0, 0].T, (1, 2))[:, :V]
    label = jnp.arange(S) % V
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), label[:, None], 1).mean() + v.sum()


def both_ways(q: Array, k: Array, v: Array) -> Array:
    """The same value cut in two ways, and used twice."""
    p = jax.nn.softmax(scores(q, k) + scores(q, k).mT)
    return p @ (p.mT @ v)


SLOW = [pytest.param(each, marks=pytest.mark.slow) for each in (one_plus, regression, both_ways)]
FUNCTIONS = [causal, contrastive, cross_entropy, *SLOW]


def with_gradients(function: Callable[..., Array]) -> Callable[..., Any]:
    def loss(*arrays: Array) -> Array:
        made = function(*arrays)
        return (made * jnp.cos(jnp.arange(made.size)).reshape(made.shape)).sum()

    return jax.value_and_grad(loss, (0, 1, 2))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_values_and_derivatives(function: Callable[..., Array], qkv: Any) -> None:
    check(with_gradients(function), qkv, tolerance=2e-5)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8", "uint8"])
def test_positions_of_types_that_cannot_count_so_far(dtype: str) -> None:
    """They are rounded, or wrap, as those of one array are."""
    size = 2101 if dtype == "float16" else 301  # no multiples of the tile
    random = np.random.default_rng(1)
    arrays = [jnp.asarray(random.normal(size=(size, 4)), "float32") for _ in range(3)]

    def function(q: Array, k: Array, v: Array) -> Array:
        position = jnp.arange(size, dtype=dtype)
        i, j = position[:, None], position
        return jax.nn.softmax(jnp.where((i >= j) & (i - j < 9), q @ k.T, -1e30)) @ v

    assert len(passes(check(function, arrays))) == 1


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("mode", ["clip", "fill"])
def test_indices_that_cannot_point_to_the_end(dtype: str, mode: str) -> None:
    """As those of characters may be: what is before a tile may not wrap into it."""
    size = 301
    random = np.random.default_rng(2)
    x, w = (jnp.asarray(random.normal(size=(size, 4)), "float32") for _ in range(2))
    bounds = np.iinfo(dtype)
    label = jnp.asarray(random.integers(max(bounds.min, -9), min(bounds.max, size), size), dtype)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(),
        collapsed_slice_dims=(1,),
        start_index_map=(1,),
        operand_batching_dims=(0,),
        start_indices_batching_dims=(0,),
    )

    def function(x: Array, w: Array) -> Array:
        logits = x @ w.T
        picked = lax.gather(
            logits, label[:, None], numbers, slice_sizes=(1, 1), mode=mode, fill_value=2.0
        )
        return logsumexp(logits, -1) - picked

    check(function, (x, w))
    check(jax.grad(lambda *a: jnp.sin(function(*a)).sum(), (0, 1)), (x, w), tolerance=2e-5)


def test_attention_takes_one_pass_forward_and_one_back(qkv: Any) -> None:
    graph, _ = in_tiles(causal, qkv)
    assert len(passes(graph)) == 1
    graph, _ = in_tiles(with_gradients(causal), qkv)
    assert len(passes(graph)) == 2
    assert not any(v.size >= H * S * S for n in graph.nodes for v in n.outputs)


def test_many_passes_in_a_row(qkv: Any) -> None:
    check(sinkhorn, qkv)


def test_a_long_chain_of_operations_on_scores_is_done_in_tiles(qkv: Any) -> None:
    """Longer than Python's stack is deep."""

    def function(q: Array, k: Array, v: Array) -> Array:
        s = scores(q, k)
        for _ in range(2000):
            s = jnp.tanh(s)
        return jax.nn.softmax(s) @ v

    graph, _ = in_tiles(function, qkv)
    assert len(passes(graph)) == 1


def test_strict_changes_the_order_of_sums_alone(qkv: Any) -> None:
    graph = check(causal, qkv, precision="strict")
    assert len(passes(graph)) == 3  # the maximum, then the sum, then the weighted sum


@pytest.mark.slow
def test_a_barrier_of_checkpoint_is_no_border(qkv: Any) -> None:
    def loss(q: Array, k: Array, v: Array) -> Array:
        weights = jax.checkpoint(jax.nn.softmax)(scores(q, k))
        return ((weights @ v) ** 2).sum()

    graph = check(jax.grad(loss), qkv, tolerance=2e-5)
    assert not any(v.size >= H * S * S for n in graph.nodes for v in n.outputs)


@pytest.mark.slow
def test_the_last_tiles_may_be_smaller(qkv: Any) -> None:
    check(causal, qkv, TileSettings(2**10, 40, 24, always=True))


def test_what_is_returned_is_stored(qkv: Any) -> None:
    def both(q: Array, k: Array, v: Array) -> tuple[Array, Array]:
        weights = jax.nn.softmax(scores(q, k))
        return weights @ v, weights

    check(both, qkv)


def test_the_derivative_of_a_product_of_coordinates() -> None:
    """It reshapes and turns in one operation."""

    def boxes(a: Array, b: Array) -> Array:
        sizes = jnp.maximum(a[:, None] - b[None], 0.1)
        return (sizes.prod(-1) / (1 + sizes.sum(-1))).max(1)

    given = jnp.asarray(np.random.default_rng(2).random((2, 70, 2)), "float32")
    graph = check(jax.value_and_grad(lambda *ab: boxes(*ab).sum(), (0, 1)), tuple(given))
    assert len(passes(graph)) == 3


def test_what_is_read_as_a_whole_may_come_back_into_tiles(qkv: Any) -> None:
    def flipped(q: Array, k: Array, v: Array) -> Array:
        weights = jnp.exp(-jnp.abs(scores(q, k)))
        return (jnp.flip(weights, -1) * weights) @ v

    check(flipped, qkv)


def test_doubles_stay_exact() -> None:
    with jax.enable_x64(True):
        random = np.random.default_rng(1)
        given = tuple(jnp.asarray(each) for each in random.normal(size=(3, 1, 1, S, D)))
        check(causal, given, tolerance=1e-14)


def test_a_function_without_a_pairwise_value_is_left_alone(qkv: Any) -> None:
    graph, sites = in_tiles(lambda q, k, v: (q * k).sum() + v.sum(), qkv)
    assert sites == []
    assert passes(graph) == []


def test_a_mask_that_numpy_made_is_one_like_others() -> None:
    """It may be of a type that JAX does not take without 64 bits."""
    mask = np.where(np.tril(np.ones((70, 70), bool)), 0.0, -np.inf)
    assert mask.dtype == np.float64

    def attend(q: Any) -> Any:
        return jax.nn.softmax(q @ q.T + mask) @ q

    q = jnp.asarray(np.random.default_rng(0).normal(size=(70, 8)), "float32")
    found = conduct(attend, Goal(always=True))(q)
    np.testing.assert_allclose(found, jax.jit(attend)(q), rtol=2e-5, atol=2e-6)


def test_of_layers_that_are_nearly_alike_each_does_its_own(qkv: Any) -> None:
    """The second and third are the same program; the first reads other axes, one has another
    scale, and one another window."""

    def layer(x: Array, k: Array, v: Array, scale: float, window: int) -> Array:
        apart = jnp.arange(S)[:, None] - jnp.arange(S)
        mask = (apart >= 0) & (apart < window)
        return jax.nn.softmax(jnp.where(mask, scale * (x @ k.mT), -1e9)) @ v

    def layers(q: Array, k: Array, v: Array) -> Array:
        for scale, window in ((0.3, S), (0.3, S), (0.3, S), (0.5, S), (0.3, 20)):
            q = layer(q, k, v, scale, window)
        return q

    graph = check(layers, qkv)
    first, second, third, scaled, window = (node.apply for node in passes(graph))
    assert second is third
    assert len({first, second, scaled, window}) == 4


@pytest.mark.parametrize("window", [(), (H,)])
@pytest.mark.parametrize("mode", ["drop", "clip"])
def test_what_pairs_add_to_a_table_by_index(qkv: Any, window: tuple[int, ...], mode: str) -> None:
    """As the gradient of a bias for each distance; some are out of bounds."""
    q, k, _ = qkv
    table = jnp.asarray(np.random.default_rng(1).normal(size=(20, *window)), jnp.float32)

    def added(q: Array, k: Array, table: Array) -> Array:
        weights = jax.nn.softmax(scores(q, k))[0]
        each = weights.transpose(1, 2, 0) if window else weights.sum(0)
        return table.at[ROW - COLUMN + 4].add(each, mode=mode)

    graph, (site,) = in_tiles(added, (q, k, table))
    assert site.is_changed
    made = [v for node in graph.nodes for v in node.outputs if v.dtype == "float32"]
    assert [v for v in made if v.size >= S * S] == []
    check(added, (q, k, table))


@pytest.mark.parametrize("mode", ["promise_in_bounds", "clip", "fill"])
def test_what_is_picked_out_of_bounds_is_what_xla_picks(qkv: Any, mode: str) -> None:
    """`s[rows, labels]` promises that none is, and XLA moves it to the bound; gradients drop it."""
    labels = jnp.arange(S).at[:3].set(jnp.asarray([-1, -S - 2, 10**6]))

    def loss(q: Array, k: Array) -> tuple[Array, Array]:
        log_p = jax.nn.log_softmax(scores(q, k)[0, 0])
        picked = log_p.at[jnp.arange(S), labels].get(mode=mode)
        return jnp.where(jnp.isnan(picked), 3.0, picked).sum(), picked

    check(jax.value_and_grad(loss, (0, 1), has_aux=True), qkv[:2])


def test_weights_of_eight_bits_are_rounded_as_they_are_written(qkv: Any) -> None:
    """Two bits of a weight are left: of what it is before it is divided they would be others."""

    def attention(q: Array, k: Array, v: Array) -> Array:
        weights = jax.nn.softmax(scores(q, k)).astype(jnp.float8_e5m2)
        return weights.astype(jnp.float32) @ v

    check(attention, qkv)


def test_a_train_step_of_a_bias_that_is_learned_keeps_no_pairs(qkv: Any) -> None:
    table = jnp.asarray(np.random.default_rng(1).normal(size=(2 * S - 1, H)), jnp.float32)

    def loss(q: Array, k: Array, v: Array, table: Array) -> Array:
        bias = jnp.moveaxis(table[ROW - COLUMN + S - 1], -1, 0)
        return jnp.sin(jax.nn.softmax(scores(q, k) + bias) @ v).sum()

    step, arrays = jax.value_and_grad(loss, (0, 1, 2, 3)), (*qkv, table)
    graph, _ = in_tiles(step, arrays)
    assert len(passes(graph)) == 2
    assert [v for p in passes(graph) for v in p.outputs if v.size >= S * S] == []
    check(step, arrays)
