"""Weights that are no softmax, or more than one."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

from tests.conductor.corpus.case import family
from tests.conductor.corpus.near_misses.given import N, causal, lower, scores, three


def softmax(q: Array, k: Array) -> Array:
    return jax.nn.softmax(causal(scores(q, k)))


def _one_more(q: Array, k: Array, v: Array) -> Array:
    s = causal(scores(q, k))
    m = s.max(-1, keepdims=True)
    e = jnp.exp(s - m)
    return (e / (1 + e.sum(-1, keepdims=True))) @ v


def _sink_joined(q: Array, k: Array, v: Array) -> Array:
    s = causal(scores(q, k))
    joined = jnp.concatenate([s, jnp.full((N, 1), 0.7, s.dtype)], -1)
    return jax.nn.softmax(joined)[:, :-1] @ v


def _sparsemax(q: Array, k: Array, v: Array) -> Array:
    z = scores(q, k)
    down = -jnp.sort(-z, -1)
    rank = jnp.arange(1, N + 1, dtype=z.dtype)
    kept = 1 + rank * down > jnp.cumsum(down, -1)
    count = kept.sum(-1, keepdims=True)
    bound = (jnp.where(kept, down, 0).sum(-1, keepdims=True) - 1) / count
    return jnp.maximum(z - bound, 0) @ v


def _sinkhorn(q: Array, k: Array, v: Array) -> Array:
    s = scores(q, k)
    for _ in range(2):
        s = s - jax.nn.logsumexp(s, -1, keepdims=True)
        s = s - jax.nn.logsumexp(s, -2, keepdims=True)
    return jnp.exp(s) @ v


def _two_halves(q: Array, k: Array, v: Array) -> Array:
    """Each half of the keys is normalised alone."""
    s = scores(q, k)
    p = [jax.nn.softmax(s[:, : N // 2]), jax.nn.softmax(s[:, N // 2 :])]
    return jnp.concatenate(p, -1) @ v


def _two_halves_merged(q: Array, k: Array, v: Array) -> Array:
    """Two halves of the keys merged as they should be, by hand."""
    made = []
    for half in (slice(0, 30), slice(30, N)):
        s = scores(q, k[half])
        m = s.max(-1, keepdims=True)
        e = jnp.exp(s - m)
        made.append((m, e.sum(-1, keepdims=True), e @ v[half]))
    (m1, l1, o1), (m2, l2, o2) = made
    m = jnp.maximum(m1, m2)
    a, b = jnp.exp(m1 - m), jnp.exp(m2 - m)
    return (a * o1 + b * o2) / (a * l1 + b * l2)


def _gumbel(q: Array, k: Array, v: Array) -> Array:
    noise = jax.random.gumbel(jax.random.PRNGKey(3), (N, N), jnp.float32)
    return jax.nn.softmax(scores(q, k) + noise.astype(q.dtype)) @ v


def _dropped(q: Array, k: Array, v: Array) -> Array:
    kept = jax.random.bernoulli(jax.random.PRNGKey(4), jnp.float32(0.8), (N, N))
    return jnp.where(kept, softmax(q, k) / 0.8, 0) @ v


def _dropped_before(q: Array, k: Array, v: Array) -> Array:
    kept = jax.random.bernoulli(jax.random.PRNGKey(5), jnp.float32(0.5), (N, N))
    return jax.nn.softmax(jnp.where(kept, scores(q, k), -1e9)) @ v


def _dropped_rows(q: Array, k: Array, v: Array) -> Array:
    kept = jax.random.bernoulli(jax.random.PRNGKey(6), jnp.float32(0.8), (N, 1))
    return (softmax(q, k) * kept) @ v


def _talking(q: Array, k: Array, v: Array) -> Array:
    """Two heads that mix their scores before and their weights after the softmax."""
    s = jnp.stack([scores(q, k), scores(k, q)])
    mix = jnp.array([[1.0, 0.3], [-0.2, 0.9]], q.dtype)
    p = jax.nn.softmax(jnp.einsum("hij,hg->gij", s, mix))
    return jnp.einsum("gij,gh,jd->id", p, mix, v)


def _over_heads(q: Array, k: Array, v: Array) -> Array:
    s = jnp.stack([scores(q, k), scores(k, q), causal(scores(q, k), 0.0)])
    return (jax.nn.softmax(s, axis=0) @ v).sum(0)


def _over_heads_and_keys(q: Array, k: Array, v: Array) -> Array:
    s = jnp.stack([scores(q, k), scores(k, q)])
    return (jax.nn.softmax(s, axis=(0, 2)) @ v).sum(0)


def _straight_through(q: Array, k: Array, v: Array) -> Array:
    p = softmax(q, k)
    hard = jax.nn.one_hot(p.argmax(-1), N, dtype=p.dtype)
    return (hard + p - lax.stop_gradient(p)) @ v


def _renormalised(q: Array, k: Array, v: Array) -> Array:
    p = jnp.where(lower(scores(q, k)), jax.nn.softmax(scores(q, k)), 0)
    return (p / p.sum(-1, keepdims=True)) @ v


def _entmax(q: Array, k: Array, v: Array) -> Array:
    """Quadratic weights above a bound that depends on the row."""
    s = scores(q, k)
    p = jnp.maximum(s - s.mean(-1, keepdims=True), 0) ** 2
    return (p / p.sum(-1, keepdims=True)) @ v


def _of(weigh):
    return lambda q, k, v: weigh(scores(q, k)) @ v


WEIGHTS = family(
    "weights",
    {
        "softmax and one": _one_more,
        "a further key joined": _sink_joined,
        "sparsemax": _sparsemax,
        "Sinkhorn": _sinkhorn,
        "two halves alone": _two_halves,
        "two halves merged": _two_halves_merged,
        "Gumbel": _gumbel,
        "dropped after": _dropped,
        "dropped before": _dropped_before,
        "dropped by row": _dropped_rows,
        "talking heads": _talking,
        "over heads": _over_heads,
        "over heads and keys": _over_heads_and_keys,
        "straight through": _straight_through,
        "masked and normalised again": _renormalised,
        "quadratic above the mean": _entmax,
        "softmax of softmax": _of(lambda s: jax.nn.softmax(jax.nn.softmax(s))),
        "softmax of log_softmax": _of(lambda s: jax.nn.softmax(jax.nn.log_softmax(s, 0))),
        "log_softmax": _of(lambda s: jax.nn.log_softmax(causal(s, -5.0))),
        "softmax minus its mean": _of(lambda s: jax.nn.softmax(s) - 1 / N),
        "softmax along queries": _of(lambda s: jax.nn.softmax(s, axis=0)),
        "softmax along both": _of(lambda s: jax.nn.softmax(s, 0) * jax.nn.softmax(s, 1)),
        "softmax divided by its maximum": _of(
            lambda s: (p := jax.nn.softmax(s)) / p.max(-1, keepdims=True)
        ),
        "softmax of minus": _of(lambda s: 1 - jax.nn.softmax(-s)),
        "root of softmax": _of(lambda s: jnp.sqrt(jax.nn.softmax(s))),
        "power of softmax": _of(lambda s: jax.nn.softmax(s) ** 1.5),
        "rounded softmax": _of(lambda s: jnp.round(jax.nn.softmax(s) * 8) / 8),
        "clipped softmax": _of(lambda s: jnp.clip(1.2 * jax.nn.softmax(s) - 0.1, 0, 1)),
        "sigmoid": _of(jax.nn.sigmoid),
        "sigmoid normalised": _of(lambda s: (p := jax.nn.sigmoid(s)) / p.sum(-1, keepdims=True)),
        "exp without sum": _of(lambda s: jnp.exp(causal(s))),
        "expm1": _of(lambda s: (e := jnp.expm1(s)) / (e.sum(-1, keepdims=True) + 60)),
        "softplus normalised": _of(lambda s: (e := jax.nn.softplus(s)) / e.sum(-1, keepdims=True)),
        "exp of squares": _of(lambda s: (e := jnp.exp(-s * s)) / e.sum(-1, keepdims=True)),
        "exp of exp": _of(lambda s: (e := jnp.exp(-jnp.exp(s))) / e.sum(-1, keepdims=True)),
        "cosh": _of(lambda s: (e := jnp.cosh(s)) / e.sum(-1, keepdims=True)),
        "exp of the rank": _of(
            lambda s: jax.nn.softmax(jnp.argsort(jnp.argsort(s)).astype(s.dtype) / N)
        ),
        "exp without its own maximum": _of(
            lambda s: (e := jnp.exp(s - s.max())) / e.sum(-1, keepdims=True)
        ),
        "hard maximum": _of(lambda s: (s == s.max(-1, keepdims=True)).astype(s.dtype)),
        "a bound by the mean": _of(lambda s: jnp.where(s > s.mean(-1, keepdims=True), s, 0)),
        "layer norm": _of(
            lambda s: (s - s.mean(-1, keepdims=True)) / jnp.sqrt(s.var(-1, keepdims=True) + 1e-5)
        ),
    },
    three,
)
