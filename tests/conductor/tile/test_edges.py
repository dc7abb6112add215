"""Where identities of real numbers end: saturated weights, infinities, NaN, overflow, lost digits.

The results are those of the original, or nearer to the float64 value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor import Conducted, Goal
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.rewriting import rewritten
from tests.conductor.hurry import IN_A_HURRY

from .tiling import check, flat, in_tiles, passes

N, D = 64, 4
Array = jax.Array
EVERYTHING = Goal(always=True)
RANDOM = np.random.default_rng(0)
Q, K, V = (RANDOM.normal(size=(N, D)).astype(np.float32) for _ in range(3))
AT = np.arange(N)
CAUSAL = AT[:, None] >= AT


def attention(q: Array, k: Array, v: Array) -> Array:
    return jax.nn.softmax(q @ k.T * 0.5) @ v


def gradient(q: Array, k: Array, v: Array) -> Any:
    return jax.grad(lambda *a: jnp.sin(attention(*a)).sum(), (0, 1, 2))(q, k, v)


def both(function: Any, *arrays: Any) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Conducted, and as it was."""
    made = jax.jit(Conducted(function, EVERYTHING))(*arrays)
    return jax.tree.map(
        np.asarray, (jax.tree.leaves(made), jax.tree.leaves(jax.jit(function)(*arrays)))
    )


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e6, 1e30])
def test_the_gradient_of_saturated_weights_is_exactly_zero(scale: float) -> None:
    """Each row's weights are 1 at one place: what is subtracted there is the same number."""
    ours, theirs = both(gradient, Q * scale, K, V)
    assert (theirs[0] == 0).all()
    assert (ours[0] == 0).all()
    np.testing.assert_allclose(ours[2], theirs[2], rtol=1e-6)


def test_a_gradient_with_some_saturated_rows() -> None:
    q = Q * np.where(AT % 2, 1e4, 1.0).astype(np.float32)[:, None]
    ours, theirs = both(gradient, q, K, V)
    assert (ours[0][theirs[0] == 0] == 0).all()
    np.testing.assert_allclose(ours[0], theirs[0], atol=2e-6)
    np.testing.assert_allclose(ours[1], theirs[1], atol=2e-5 * np.abs(theirs[1]).max())


def test_the_gradient_of_saturated_weights_that_are_scaled_and_masked() -> None:
    """A product, chosen or not, may be rounded together with the difference from the largest."""

    def of(q: Array, k: Array, v: Array) -> Array:
        return jax.nn.softmax(jnp.where(CAUSAL, q @ k.T * 0.3, -jnp.inf)) @ v

    given = (Q * 100, K * 100, V * 100)
    ours, theirs = both(jax.grad(lambda *a: jnp.sin(of(*a)).sum(), (0, 1, 2)), *given)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, atol=2e-5 * np.abs(b).max())


@pytest.mark.parametrize(
    "bad", [np.nan, np.inf, pytest.param(-np.inf, marks=pytest.mark.slow), 3e38]
)
@pytest.mark.parametrize("which", [1, 2])
def test_what_is_not_finite_spreads_as_in_the_original(bad: float, which: int) -> None:
    given = [Q.copy(), K.copy(), V.copy()]
    given[which][N - 2, 1] = bad
    ours, theirs = both(attention, *given)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("bad", [np.nan, pytest.param(np.inf, marks=pytest.mark.slow)])
def test_the_gradient_of_a_row_with_one_weight_knows_what_is_not_finite_elsewhere(
    bad: float,
) -> None:
    """The first row has the weight 1 at itself, and 0 times what is not finite beside it."""

    def of(q: Array, k: Array, v: Array) -> Array:
        return jax.nn.softmax(jnp.where(CAUSAL, q @ k.T, -jnp.inf)) @ v

    v = V.copy()
    v[N - 2, 1] = bad
    ours, theirs = both(jax.value_and_grad(lambda *a: (of(*a) * K).sum()), Q, K, v)
    assert np.isnan(theirs[1]).all()
    assert np.isnan(ours[1]).all()


def test_a_sum_of_exponentials_with_an_infinite_exponent_is_infinite() -> None:
    def of(x: Array, y: Array) -> Array:
        return jax.nn.logsumexp(x[:, None] + y[None], axis=1)

    x = np.where(AT == 3, np.inf, np.where(AT == 5, -np.inf, Q[:, 0])).astype(np.float32)
    ours, theirs = both(of, x, K[:, 0])
    assert np.isposinf(ours[0][3])
    assert np.isneginf(ours[0][5])
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-6)


def test_what_is_below_the_largest_exponent_by_far_may_be_all_that_counts() -> None:
    """The largest has the weight zero; shifted by it, the others are too small for the type."""

    def of(x: Array, w: Array) -> Array:
        return (jnp.exp(x - x.min(1, keepdims=True)) * w).sum(1)

    x = np.broadcast_to(np.where(AT == 9, 88.0, 0.0), (N, N)).astype(np.float32)
    w = np.broadcast_to(np.where(AT == 9, 0.0, 1.0), (N, N)).astype(np.float32)
    ours, theirs = both(of, x, w)
    assert (theirs[0] == N - 1).all()
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5)


def test_scores_that_a_huge_bias_rounds_away() -> None:
    """Of scores plus 1e30 nothing is left, so all weights are the same."""

    def of(q: Array, k: Array, bias: Array, v: Array) -> Array:
        return jax.nn.softmax(q @ k.T + bias[:, None]) @ v

    ours, theirs = both(of, Q, K, np.where(AT % 3 == 0, -1e30, 0.0).astype(np.float32), V)
    np.testing.assert_allclose(ours[0], theirs[0], atol=2e-6)


def test_a_mask_given_to_softmax_takes_one_pass_forward_and_one_back() -> None:
    def loss(q: Array, k: Array, v: Array) -> Array:
        weights = jax.nn.softmax(q @ k.T, where=jnp.asarray(CAUSAL))
        return ((weights @ v) ** 2).sum()

    graph = read(jax.make_jaxpr(flat(jax.value_and_grad(loss, (0, 1, 2))))(Q, K, V))
    assert len(passes(rewritten(graph, EVERYTHING)[0])) == 2
    ours, theirs = both(jax.grad(loss), Q, K, V)
    np.testing.assert_allclose(ours[0], theirs[0], atol=2e-5)


@pytest.mark.slow
def test_weights_that_are_dropped_take_one_pass_forward_and_one_back() -> None:
    def loss(q: Array, k: Array, v: Array, kept: Array) -> Array:
        weights = jnp.where(kept, jax.nn.softmax(q @ k.T) / 0.9, 0.0)
        return ((weights @ v) ** 2).sum()

    kept = RANDOM.random((N, N)) < 0.9
    graph = check(jax.value_and_grad(loss, (0, 1, 2)), (Q, K, V, kept), tolerance=2e-5)
    assert len(passes(graph)) == 2


@pytest.mark.slow
def test_rows_without_a_key_are_zero_where_the_mask_is_given_to_softmax() -> None:
    def of(q: Array, k: Array, v: Array) -> Array:
        return jax.nn.softmax(q @ k.T, where=jnp.asarray(CAUSAL & (AT[:, None] % 7 != 3))) @ v

    ours, theirs = both(of, Q, K, V)
    assert (ours[0][3] == 0).all()
    np.testing.assert_allclose(ours[0], theirs[0], atol=2e-6)


def _guarded(q: Array, k: Array, v: Array) -> Array:
    """Rows without a key are zero."""
    s = jnp.where((AT % 5 > 0)[:, None], q @ k.T, -jnp.inf)
    largest = s.max(-1, keepdims=True)
    e = jnp.exp(s - jnp.where(jnp.isfinite(largest), largest, 0))
    total = e.sum(-1, keepdims=True)
    return jnp.where(total > 0, e / jnp.where(total > 0, total, 1), 0) @ v


def _weighed(q: Array, k: Array, v: Array) -> Array:
    return (jnp.where(CAUSAL, jax.nn.softmax(q @ k.T), 0) * (q @ v.T)).sum(1)


@pytest.mark.parametrize("function", [_guarded, _weighed])
def test_a_mask_hides_only_what_is_under_it(function: Callable[..., Array]) -> None:
    """0 times NaN is NaN, where the 0 is what a mask has left."""
    v = V.copy()
    v[-1, 1] = np.nan
    ours, theirs = both(function, Q, K, v)
    assert "tiles" in str(Conducted(function, EVERYTHING).explain(Q, K, v))
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5, atol=1e-6)
    assert np.isnan(ours[0]).any(-1).all()


def test_heads_that_are_made_one_by_one_and_stacked() -> None:
    def loss(q: Array, k: Array, v: Array) -> Array:
        scores = jnp.stack([q[:, h : h + 2] @ k[:, h : h + 2].T for h in (0, 2)])
        return (jax.nn.softmax(scores) @ v).sum() + (jax.nn.softmax(scores) @ v**2).sum()

    graph = check(jax.grad(loss, (0, 1, 2)), (Q, K, V), tolerance=2e-5)
    assert not any(value.size >= N * N for node in graph.nodes for value in node.outputs)


def test_parts_of_a_sum_may_be_larger_than_any_number() -> None:
    """Half of the terms overflow together, the other half makes up for it."""

    def of(x: Array, v: Array) -> Array:
        return jnp.exp(jnp.tanh(x) + x) @ v

    x = np.zeros((N, N), np.float32)
    v = np.where(AT < N // 2, 3e37, -3e37).astype(np.float32)[:, None] * np.ones(D, np.float32)
    v[0] += 1e37
    made = np.asarray(jax.jit(Conducted(of, EVERYTHING))(x, v))
    np.testing.assert_allclose(made, v.astype(float).sum(0)[None].repeat(N, 0), rtol=1e-5)


def test_an_infinity_stays_one_however_the_rest_of_its_sum_overflows() -> None:
    """The first tile sums to minus infinity, the second holds a term that is infinite."""

    def of(x: Array, w: Array) -> Array:
        return jnp.exp(jnp.tanh(x) + x) @ w

    x = np.broadcast_to(np.where(AT == 40, 100.0, 87.5), (N, N)).astype(np.float32)
    w = np.where(AT == 40, 1.0, -1.0).astype(np.float32)[:, None] * np.ones(D, np.float32)
    made = np.asarray(jax.jit(Conducted(of, EVERYTHING))(x, w))
    assert np.isposinf(made).all()


def test_where_nothing_waits_no_identity_is_used() -> None:
    """An exponential that can be had at once is summed as it is written, without a maximum."""

    def of(q: Array, k: Array, v: Array) -> Array:
        near = jnp.exp(-((q[:, None] - k[None]) ** 2).sum(-1))
        return (near @ v) / near.sum(1, keepdims=True)

    graph, _ = in_tiles(of, (Q, K, V))
    (only,) = passes(graph)
    assert only.params["runner"].one.shifts == ()


def test_what_is_compared_for_equality_is_the_same_number_in_every_pass() -> None:
    """The derivative of a maximum asks who is the maximum. A compiler that rounds a product and a
    sum together in one pass and not in another would find nobody, and divide by zero."""

    def masked_after(q: Array, k: Array, v: Array) -> Array:
        s = (q @ k.T / 2) * 3 - 90
        e = jnp.where(CAUSAL, jnp.exp(s - s.max(-1, keepdims=True)), 0)
        return (e / e.sum(-1, keepdims=True)) @ v

    def loss(q: Array, k: Array, v: Array) -> Any:
        return jax.grad(lambda *a: jnp.sin(masked_after(*a)).sum(), (0, 1, 2))(q, k, v)

    lowered = jax.jit(Conducted(loss, EVERYTHING)).lower(Q, K, V)
    ours = lowered.compile(compiler_options=IN_A_HURRY)(Q, K, V)
    # Compiled so, plain JAX 0.12 itself finds nobody.
    theirs = jax.jit(loss)(Q, K, V)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=1e-4)


EXTREMES = {
    "is the largest": lambda s: s == s.max(-1, keepdims=True),
    "is not below the largest": lambda s: s >= s.max(-1, keepdims=True),
    "is not above the smallest": lambda s: s <= s.min(-1, keepdims=True),
    "is among the eight largest": lambda s: s >= jax.lax.top_k(s, 8)[0][..., -1:],
}

SCORES = {
    "times a number": lambda q, k: (q @ k.T) * 0.1771 + q[:, :1],
    "divided by a number": lambda q, k: (q @ k.T) / 5.657 - q[:, :1],
    "less a product": lambda q, k: -((q @ k.T) * 0.1771) - q[:, :1],
}


@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
@pytest.mark.parametrize("is_one", EXTREMES.values(), ids=EXTREMES)
def test_who_is_the_largest_is_asked_of_the_same_numbers(
    score: Callable[[Array, Array], Array], is_one: Callable[[Array], Array]
) -> None:
    """Some row would have nobody, and the sum over it would be empty."""

    def of(q: Array, k: Array, v: Array) -> Array:
        return is_one(score(q, k)).astype(v.dtype) @ v

    q, k, v = (np.random.default_rng(seed).normal(size=(192, 32)).astype("f4") for seed in range(3))
    ours, theirs = both(of, q, k, v)
    np.testing.assert_allclose(ours[0], theirs[0], atol=1e-5)


def masked(q: Array, k: Array, v: Array) -> Array:
    return jax.nn.softmax(jnp.where(CAUSAL, (q * 1e19) @ (k * 1e19).T, -1e9)) @ v


def test_rows_beside_those_that_overflow_are_what_they_were() -> None:
    """Their scores are near the largest number. In tiles of another size they are rounded otherwise
    than the maximum that they are shifted by, and all exponentials would be zero."""
    q, k, v = (np.random.default_rng(seed).normal(size=(N, 6)).astype("f4") for seed in (1, 2, 3))
    ours, theirs = both(masked, q, k, v)
    rows = np.isfinite(theirs[0]).all(1)
    assert 8 < rows.sum() < 56
    np.testing.assert_array_equal(np.isnan(ours[0]), np.isnan(theirs[0]))
    np.testing.assert_allclose(ours[0][rows], theirs[0][rows], atol=1e-5)


def test_gradients_of_rows_beside_those_that_overflow() -> None:
    q, k, v = (np.random.default_rng(seed).normal(size=(N, 6)).astype("f4") for seed in (1, 2, 3))
    ours, theirs = both(jax.grad(lambda *a: jnp.sin(masked(*a)).sum(), (0, 1, 2)), q, k, v)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
        seen = np.isfinite(b)
        scale = np.abs(b[seen]).max(initial=1e-30)
        np.testing.assert_allclose(a[seen] / scale, b[seen] / scale, atol=1e-5)


def test_scores_that_are_chosen_hundreds_of_times() -> None:
    """Each time between two that were chosen before, so that there are 2^200 ways to the first."""

    def function(q: Array, k: Array, v: Array) -> Array:
        scores = q @ k.T
        for step in range(200):
            scores = jnp.where(scores > step, jnp.minimum(scores, step + 1), scores)
        return jax.nn.softmax(scores) @ v

    graph, _ = in_tiles(function, (Q, K, V))
    assert passes(graph)
