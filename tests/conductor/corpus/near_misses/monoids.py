"""Other sums than sums, ties, what is used twice, and narrow types in some places."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from tests.conductor.corpus.case import Case, family
from tests.conductor.corpus.near_misses.given import N, causal, lower, scores, three


def _distances(q: Array, k: Array) -> Array:
    return ((q[:, None] - k[None]) ** 2).sum(-1)


def _nearest(q: Array, k: Array, v: Array) -> Array:
    """Chamfer's distance; two points of k are one point."""
    d = _distances(q, k.at[5].set(k[6]))
    return d.min(1) + d.min(0) + v.sum(-1)


def _nearest_by_products(q: Array, k: Array, v: Array) -> Array:
    d = (q * q).sum(-1)[:, None] + (k * k).sum(-1) - 2 * q @ k.T
    return d.min(1) + v.sum(-1)


def _ties(q: Array, k: Array, v: Array) -> Array:
    """The derivative of a maximum is shared among equals."""
    s = jnp.round(2 * q) @ jnp.round(2 * k).T
    return s.max(-1, keepdims=True) * v


def _mean_of_ties(q: Array, k: Array, v: Array) -> Array:
    s = jnp.round(q) @ jnp.round(k).T
    is_top = (s == s.max(-1, keepdims=True)).astype(v.dtype)
    return is_top @ v / is_top.sum(-1, keepdims=True)


def _ties_of_highest(q: Array, k: Array, v: Array) -> Array:
    s = jnp.round(q) @ jnp.round(k).T
    least = lax.top_k(s, 5)[0][:, -1:]
    return jax.nn.softmax(jnp.where(s >= least, s, -jnp.inf)) @ v


def _first_of_ties(q: Array, k: Array, v: Array) -> Array:
    s = jnp.round(q) @ jnp.round(k).T
    return v[jnp.argmax(s, -1)] + v[jnp.argmin(s, -1)]


def _parity(q: Array, k: Array, v: Array) -> Array:
    odd = (scores(q, k) > 0).sum(-1) % 2
    return jnp.where(odd[:, None] == 1, v, -v)


def _bits(q: Array, k: Array, v: Array) -> Array:
    each = jnp.where(scores(q, k) > 1, 1 << (jnp.arange(N) % 8), 0)
    return lax.reduce(each, 0, lax.bitwise_or, (1,)).astype(v.dtype)[:, None] * v


def _own_monoid(q: Array, k: Array, v: Array) -> Array:
    """A reduction that is no known one: x + y + xy."""
    s = jnp.tanh(scores(q, k)) / N
    return lax.reduce(s, jnp.zeros((), s.dtype), lambda x, y: x + y + x * y, (1,))[:, None] * v


def _log_sum_twice(q: Array, k: Array, v: Array) -> tuple[Array, Array]:
    s = causal(scores(q, k))
    total = jax.nn.logsumexp(s, -1, keepdims=True)
    return jnp.exp(s - total) @ v, (total**2)[:, 0]


def _signed_log_sum(q: Array, k: Array, v: Array) -> Array:
    """Weights of both signs: what is left of a sum may be near zero."""
    total, sign = jax.nn.logsumexp(scores(q, k), -1, b=v[:, 0], return_sign=True)
    return total * sign


def _soft_minimum(q: Array, k: Array, v: Array) -> Array:
    return -0.1 * jax.nn.logsumexp(-_distances(q, k) / 0.1, -1) + v.sum(-1)


def _variance(q: Array, k: Array, v: Array) -> Array:
    p = jax.nn.softmax(scores(q, k))
    return p @ (v * v) - (p @ v) ** 2


def _divergence(q: Array, k: Array, v: Array) -> Array:
    one, other = jax.nn.log_softmax(scores(q, k)), jax.nn.log_softmax(scores(v, k))
    return (jnp.exp(one) * (one - other)).sum(-1)


def _entropy_of_masked(q: Array, k: Array, v: Array) -> Array:
    p = jax.nn.softmax(causal(scores(q, k), -jnp.inf))
    return jax.scipy.special.entr(p).sum(-1) + v.sum(-1)


def _infinite_entropy(q: Array, k: Array, v: Array) -> Array:
    """Zero times minus infinity."""
    logs = jax.nn.log_softmax(causal(scores(q, k), -jnp.inf))
    return (jnp.exp(logs) * logs).sum(-1)[:, None] * v


def _own_sum_of_squares(q: Array, k: Array, v: Array) -> Array:
    p = jax.nn.softmax(causal(scores(q, k)))
    return (p @ v) / (p * p).sum(-1, keepdims=True)


def _inverse_distance(guarded: bool):
    """Each point is at no distance of itself, which is masked late or early."""

    def function(q: Array, k: Array, v: Array) -> Array:
        d = _distances(q, q)
        itself = jnp.eye(N, dtype=bool)
        safe = jnp.where(itself, 1.0, d) if guarded else d
        return jnp.where(itself, 0.0, 1 / jnp.sqrt(safe)) @ (v + k)

    return function


def _without_length(q: Array, k: Array, v: Array) -> Array:
    q, k = q.at[3].set(0.0), k.at[N - 2].set(0.0)
    unit = [x / jnp.linalg.norm(x, axis=-1, keepdims=True) for x in (q, k)]
    return jax.nn.softmax(causal(unit[0] @ unit[1].T * 5)) @ v


def _divided(by: float):
    return lambda q, k, v: jax.nn.softmax(causal(scores(q, k) / by, -jnp.inf)) @ v


def _mixed(q: Array, k: Array, v: Array) -> Array:
    """Scores and weights in the narrow type of the arguments, sums in 32 bits."""
    wide = jnp.promote_types(q.dtype, jnp.float32)
    s = lax.dot_general(q, k, (((1,), (1,)), ((), ())), preferred_element_type=wide)
    e = jnp.exp(causal(s) - s.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)).astype(v.dtype) @ v


def _overflowing_half(q: Array, k: Array, v: Array) -> Array:
    """Some scores are beyond what 16 bits hold."""
    s = (100 * q).astype(jnp.float16) @ (300 * k).astype(jnp.float16).T
    return jax.nn.softmax(causal(jnp.minimum(s, 6e4)).astype(jnp.float32) / 3e4) @ v


def _detached(q: Array, k: Array, v: Array) -> Array:
    """The largest has no derivative, the sum has half of its own."""
    s = causal(scores(q, k))
    e = jnp.exp(s - lax.stop_gradient(s.max(-1, keepdims=True)))
    total = e.sum(-1, keepdims=True)
    return e @ v / (0.5 * total + 0.5 * lax.stop_gradient(total))


def _narrow() -> tuple[Any, ...]:
    return tuple(np.asarray(each, jnp.bfloat16) for each in three())


MONOIDS = [
    Case("monoid: scores in 16 bits, sums in 32", _mixed, _narrow),
    *family(
        "monoid",
        {
            "nearest": _nearest,
            "nearest by products": _nearest_by_products,
            "largest of equals": _ties,
            "mean of the largest": _mean_of_ties,
            "equals among the highest": _ties_of_highest,
            "first of equals": _first_of_ties,
            "max plus": lambda q, k, v: (scores(q, k)[..., None] + v[None]).max(1),
            "min max": lambda q, k, v: jnp.maximum(scores(q, k)[..., None], v[None]).min(1),
            "any of both": lambda q, k, v: (
                ((scores(q, k)[..., None] > 1) & (v > 0)[None]).any(1) * v
            ),
            "parity": _parity,
            "bits": _bits,
            "one of its own": _own_monoid,
            "logsumexp twice": _log_sum_twice,
            "logsumexp of both signs": _signed_log_sum,
            "soft minimum": _soft_minimum,
            "variance": _variance,
            "divergence": _divergence,
            "entropy of masked": _entropy_of_masked,
            "entropy without a number": _infinite_entropy,
            "divided by its squares": _own_sum_of_squares,
            "two softmaxes multiplied": lambda q, k, v: (
                (jax.nn.softmax(s := scores(q, k), 0) * jax.nn.softmax(s, 1)) @ v
            ),
            "inverse distance, masked late": _inverse_distance(False),
            "inverse distance, masked early": _inverse_distance(True),
            "rows without length": _without_length,
            "divided by nothing": _divided(0.0),
            "divided by 1e-38": _divided(1e-38),
            "16 bits overflow": _overflowing_half,
            "half a derivative": _detached,
            "causal sum of squares": lambda q, k, v: (
                jnp.where(lower(s := scores(q, k)), s * s, 0.0).sum(-1)[:, None] * v
            ),
        },
        three,
    ),
]
"""All of q, k and v [N, D]."""
