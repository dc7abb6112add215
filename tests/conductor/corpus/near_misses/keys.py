"""Along the axis of keys stands more than a sum: order, neighbours, ranks, pieces."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from tests.conductor.corpus.case import family
from tests.conductor.corpus.near_misses.given import N, causal, lower, scores, three

ORDER = np.random.default_rng(11).permutation(N)


def _attended(s: Array, v: Array) -> Array:
    return jax.nn.softmax(s) @ v


def _of(change):
    """The scores changed before the softmax."""
    return lambda q, k, v: _attended(change(scores(q, k)), v)


def _after(change):
    """The weights changed after it."""
    return lambda q, k, v: change(jax.nn.softmax(causal(scores(q, k)))) @ v


def _skewed(s: Array) -> Array:
    """Transformer-XL: relative positions by padding and reshaping."""
    padded = jnp.pad(s, ((0, 0), (1, 0))).reshape(N + 1, N)
    return padded[1:].reshape(N, N)


def _highest(s: Array) -> Array:
    values, _ = lax.top_k(s, 5)
    return jnp.where(s >= values[:, -1:], s, -1e9)


def _highest_gathered(q: Array, k: Array, v: Array) -> Array:
    values, where = lax.top_k(scores(q, k), 5)
    return (jax.nn.softmax(values)[..., None] * v[where]).sum(1)


def _stick_breaking(s: Array) -> Array:
    before = jnp.cumsum(jax.nn.log_sigmoid(-s), -1)
    return jax.nn.log_sigmoid(s) + before - jax.nn.log_sigmoid(-s)


def _forgetting(q: Array, k: Array, v: Array) -> Array:
    """A learned decay: differences of a running sum."""
    f = jnp.cumsum(jax.nn.log_sigmoid(v[:, 0]))
    return _attended(causal(scores(q, k) + f[:, None] - f[None]), v)


def _contextual(s: Array) -> Array:
    """Positions counted by gates, from the end."""
    at = jnp.cumsum(jax.nn.sigmoid(s)[:, ::-1], -1)[:, ::-1]
    return s - 0.1 * at


def _nearer(s: Array) -> Array:
    """Geometric attention: what is nearer to the query, on both sides, was not chosen."""
    left = jnp.pad(jnp.cumsum(jax.nn.log_sigmoid(-s), -1), ((0, 0), (1, 0)))
    i, j = jnp.arange(N)[:, None], jnp.arange(N)[None]
    apart = jnp.abs(i - j)
    first, last = jnp.maximum(i - apart + 1, 0), jnp.minimum(i + apart, N)
    between = jnp.take_along_axis(left, last, -1) - jnp.take_along_axis(left, first, -1)
    return jax.nn.log_sigmoid(s) + jnp.where(apart > 0, between, 0)


def _exclusive(s: Array) -> Array:
    """A running sum of all before, by moving it on."""
    return jnp.pad(jnp.cumsum(s, -1)[:, :-1], ((0, 0), (1, 0)))


def _gated_gap(s: Array) -> Array:
    """Sums that begin anew: less what there was where the last began."""
    sums, starts = jnp.cumsum(jax.nn.sigmoid(s), -1), s > 0.5
    return sums - lax.cummax(jnp.where(starts, sums, 0), 1)


def _convolved(s: Array) -> Array:
    return jnp.apply_along_axis(lambda row: jnp.convolve(row, jnp.ones(3, s.dtype), "same"), 1, s)


def _convolved_in_both(s: Array) -> Array:
    kernel = jnp.ones((1, 1, 3, 3), s.dtype) / 9
    return lax.conv_general_dilated(s[None, None], kernel, (1, 1), "SAME")[0, 0]


def _strided(q: Array, k: Array, v: Array) -> Array:
    return _attended(scores(q, k)[:, ::2], v[::2])


def _padded_keys(q: Array, k: Array, v: Array) -> Array:
    s = jnp.pad(scores(q, k), ((0, 0), (0, 6)), constant_values=-1e9)
    return _attended(s, jnp.pad(v, ((0, 6), (0, 0))))


def _sliced(q: Array, k: Array, v: Array) -> Array:
    return _attended(lax.dynamic_slice(scores(q, k), (0, 3), (N, 20)), v[3:23])


def _updated(q: Array, k: Array, v: Array) -> Array:
    s = lax.dynamic_update_slice(scores(q, k), jnp.zeros((N, 7), q.dtype), (0, 11))
    return _attended(s, v)


def _window_pooled(s: Array) -> Array:
    return lax.reduce_window(s, -jnp.inf, lax.max, (1, 3), (1, 1), "SAME")


def _shifted_mean(s: Array) -> Array:
    return (jnp.roll(s, 1, -1) + s + jnp.roll(s, -1, -1)) / 3


KEYS = family(
    "keys",
    {
        "cumulative sum": _of(lambda s: jnp.cumsum(s, -1) / N),
        "cumulative sum along queries": _of(lambda s: jnp.cumsum(s, 0) / N),
        "cumulative sum backwards": _of(lambda s: lax.cumsum(s, 1, reverse=True) / N),
        "cumulative maximum": _of(lambda s: lax.cummax(s, 1)),
        "cumulative product": _of(lambda s: lax.cumprod(1 + s / N, 1)),
        "cumulative logsumexp": _of(lambda s: s - lax.cumlogsumexp(s, 1)),
        "cumulative softmax": _after(lambda p: jnp.cumsum(p, -1)),
        "cumulative softmax along queries": _after(lambda p: jnp.cumsum(p, 0)),
        "stick-breaking": lambda q, k, v: jnp.exp(_stick_breaking(scores(q, k))) @ v,
        "cumulative sum of all before": _of(lambda s: _exclusive(s) / N),
        "cumulative sum twice": _of(lambda s: jnp.cumsum(jnp.cumsum(s, -1), -1) / N**2),
        "cumulative sum twice, there and back": _of(
            lambda s: lax.cumsum(jnp.cumsum(s, -1), 1, reverse=True) / N**2
        ),
        "cumulative sum along both": _of(lambda s: jnp.cumsum(jnp.cumsum(s, 0), 1) / N),
        "cumulative sum of the mask": _of(lambda s: s / jnp.cumsum(lower(s), -1).astype(s.dtype)),
        "cumulative sum of a comparison": _of(
            lambda s: s - 0.1 * jnp.cumsum(s > 0, -1).astype(s.dtype)
        ),
        "cumulative sum of another": _of(lambda s: s + jnp.cumsum(s.T, -1) / N),
        "cumulative minimum backwards": _of(lambda s: lax.cummin(s, 1, reverse=True)),
        "cumulative product of small numbers": _of(lambda s: lax.cumprod(jax.nn.sigmoid(s), 1)),
        "cumulative product with zeros": _of(
            lambda s: lax.cumprod(jnp.where(s > 1, 0, 1 + s / N), 1)
        ),
        "no smaller before": _of(lambda s: jnp.where(s >= lax.cummax(s, 1), s, -1e9)),
        "equal to the largest before": _of(lambda s: jnp.where(s == lax.cummax(s, 1), s, -1e9)),
        "beginning anew": _of(_gated_gap),
        "cumulative sum of infinities": _of(
            lambda s: jnp.cumsum(jnp.where(lower(s), s, -jnp.inf), -1)
        ),
        "cumulative sum of large numbers": _of(lambda s: jnp.cumsum(s * 1e38, -1)),
        "cumulative sum of nothing seen": _of(
            lambda s: jnp.where(lower(s).T & lower(s), jnp.cumsum(causal(s, 0.0), -1), -jnp.inf)
        ),
        "nearer on both sides": lambda q, k, v: jnp.exp(_nearer(scores(q, k))) @ v,
        "forgetting": _forgetting,
        "contextual positions": _of(_contextual),
        "sorted": _of(jnp.sort),
        "sorted along queries": _of(lambda s: jnp.sort(s, 0)),
        "rank": _of(lambda s: s * jnp.argsort(s).astype(s.dtype) / N),
        "five highest kept": _of(_highest),
        "five highest gathered": _highest_gathered,
        "above the third": _of(lambda s: jnp.where(s > jnp.sort(s)[:, N // 3, None], s, -1e9)),
        "rolled": _of(lambda s: jnp.roll(s, 3, -1)),
        "rolled along queries": _of(lambda s: jnp.roll(s, 3, 0)),
        "rolled weights": _after(lambda p: jnp.roll(p, 1, -1)),
        "flipped": _of(lambda s: s[:, ::-1]),
        "flipped along queries": _of(lambda s: s[::-1]),
        "flipped weights": _after(lambda p: p[:, ::-1]),
        "flipped in both": _after(lambda p: p[::-1, ::-1]),
        "transposed": _of(lambda s: causal(s).T),
        "transposed weights": _after(lambda p: p.T),
        "skewed": _of(_skewed),
        "skewed and masked": _of(lambda s: causal(_skewed(s))),
        "difference of neighbours": _of(lambda s: jnp.diff(s, axis=-1, prepend=0.0)),
        "mean of neighbours": _of(_shifted_mean),
        "convolved": _of(_convolved),
        "convolved in both": _of(_convolved_in_both),
        "pooled": _of(_window_pooled),
        "permuted": _of(lambda s: s[:, ORDER]),
        "permuted along queries": _of(lambda s: s[ORDER]),
        "permuted back": _of(lambda s: s[:, ORDER][:, np.argsort(ORDER)]),
        "strided": _strided,
        "padded": _padded_keys,
        "sliced": _sliced,
        "updated": _updated,
        "repeated": _of(lambda s: jnp.repeat(s[:, ::2], 2, axis=-1)),
        "tiled": _of(lambda s: jnp.tile(s[:, : N // 2], (1, 2))),
        "split and swapped": _of(lambda s: jnp.concatenate([s[:, N // 2 :], s[:, : N // 2]], -1)),
        "interleaved": _of(lambda s: jnp.stack([s[:, : N // 2], s[:, N // 2 :]], -1).reshape(N, N)),
        "minus its median": _of(lambda s: s - jnp.median(s, -1, keepdims=True)),
        "divided by its norm": _of(lambda s: s / jnp.linalg.norm(s, axis=-1, keepdims=True)),
        "masked by weights": lambda q, k, v: _attended(
            jnp.where(jax.nn.softmax(scores(q, k)) > 0.02, scores(q, k), -1e9), v
        ),
        "masked by the maximum": _of(lambda s: jnp.where(s < s.max(-1, keepdims=True), s, -1e9)),
        "mask the other way": _of(lambda s: jnp.where(lower(s).T, s, -1e9)),
        "mask without diagonal": _of(lambda s: jnp.where(lower(s) & ~lower(s).T, s, -1e9)),
    },
    three,
)
