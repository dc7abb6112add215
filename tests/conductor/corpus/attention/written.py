"""Attention as whole blocks that are known by a name, in our own words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from tests.conductor.corpus.case import Case, normal

B, S, E, H = 2, 72, 16, 4
D = E // H


def split(x: Array) -> Array:
    return x.reshape(*x.shape[:-1], H, -1).swapaxes(-2, -3)


def joined(x: Array) -> Array:
    x = x.swapaxes(-2, -3)
    return x.reshape(*x.shape[:-2], -1)


def causal(s: Array, fill: float = -1e9) -> Array:
    i, j = jnp.arange(s.shape[-2])[:, None], jnp.arange(s.shape[-1])
    return jnp.where(i >= j, s, fill)


def gpt2(x: Array, w: Array, o: Array) -> Array:
    q, k, v = (split(each) for each in jnp.split(x @ w, 3, axis=-1))
    s = q @ k.mT / np.sqrt(D)
    b = jnp.tril(jnp.ones((S, S), s.dtype))
    return joined(jax.nn.softmax(s * b - 1e10 * (1 - b)) @ v) @ o


def bert(x: Array, w: Array, o: Array) -> Array:
    """The added mask of padded tokens is -10000."""
    is_there = (jnp.arange(S)[None] < jnp.array([S, S - 7])[:, None]).astype(x.dtype)
    q, k, v = (split(each) for each in jnp.split(x @ w, 3, axis=-1))
    s = jnp.matmul(q, k.mT) / np.sqrt(D) + (1.0 - is_there[:, None, None]) * -10000.0
    return joined(jnp.matmul(jax.nn.softmax(s, axis=-1), v)) @ o + x


def rotated(x: Array) -> Array:
    """Rotary positions: the halves turned by angles that grow with the place."""
    half = x.shape[-1] // 2
    turn = jnp.arange(S)[:, None] * 10000.0 ** (-jnp.arange(half) / half)
    sin, cos = jnp.sin(turn).astype(x.dtype), jnp.cos(turn).astype(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def llama(x: Array, w: Array, o: Array) -> Array:
    """Rotary positions; two heads of keys and values for four of queries."""
    q, k, v = jnp.split(x @ w[:, : 2 * E], [E, E + E // 2], axis=-1)
    q = rotated(split(q))
    k, v = (each.reshape(B, S, H // 2, D).swapaxes(1, 2) for each in (k, v))
    k, v = (jnp.repeat(each, 2, axis=1) for each in (rotated(k), v))
    s = jnp.einsum("bhid,bhjd->bhij", q, k) * D**-0.5
    s = s + jnp.triu(jnp.full((S, S), -jnp.inf, s.dtype), 1)
    return joined(jnp.einsum("bhij,bhjd->bhid", jax.nn.softmax(s, axis=-1), v)) @ o


def gemma2(x: Array, w: Array, o: Array) -> Array:
    """Capped scores in a sliding window."""
    q, k, v = (rotated(split(each)) for each in jnp.split(x @ w, 3, axis=-1))
    s = 50.0 * jnp.tanh(q * D**-0.5 @ k.mT / 50.0)
    apart = jnp.arange(S)[:, None] - jnp.arange(S)
    s = jnp.where((apart >= 0) & (apart < 24), s, -2.3819763e38)
    return joined(jax.nn.softmax(s) @ v) @ o


def bloom(x: Array, w: Array, o: Array) -> Array:
    """ALiBi as a bias of the keys alone."""
    q, k, v = (split(each) for each in jnp.split(x @ w, 3, axis=-1))
    slopes = 2.0 ** (-8.0 * jnp.arange(1, H + 1) / H)
    s = q @ k.mT * D**-0.5 + (slopes[:, None, None] * jnp.arange(S)).astype(x.dtype)
    return joined(jax.nn.softmax(causal(s, -1e30)) @ v) @ o


def palm(x: Array, w: Array, o: Array) -> Array:
    """One head of keys and values; beside a feed-forward half that is computed with it."""
    q, k, v, ff = jnp.split(x @ w, [E, E + D, E + 2 * D], axis=-1)
    s = jnp.einsum("bhid,bjd->bhij", split(q) * D**-0.5, k)
    out = jnp.einsum("bhij,bjd->bhid", jax.nn.softmax(causal(s, -1e10)), v)
    return joined(out) @ o + jax.nn.swish(ff)[..., :E]


def cosine(x: Array, w: Array, o: Array) -> Array:
    """Swin 2: the scores are cosines with a bounded temperature."""
    q, k, v = (split(each) for each in jnp.split(x @ w, 3, axis=-1))
    q, k = (each / jnp.linalg.norm(each, axis=-1, keepdims=True) for each in (q, k))
    return joined(jax.nn.softmax(q @ k.mT * jnp.exp(jnp.minimum(2.0, np.log(100.0)))) @ v) @ o


def normed(x: Array, w: Array, o: Array) -> Array:
    """Queries and keys are normalised over the features of each head."""

    def norm(y: Array) -> Array:
        y = y - y.mean(-1, keepdims=True)
        return y * lax.rsqrt((y * y).mean(-1, keepdims=True) + 1e-6)

    q, k, v = (split(each) for each in jnp.split(x @ w, 3, axis=-1))
    return joined(jax.nn.softmax(causal(norm(q) @ norm(k).mT * D**-0.5)) @ v) @ o


def gated(x: Array, w: Array, o: Array) -> Array:
    """AlphaFold: a gate after the mean."""
    q, k, v = (split(each) for each in jnp.split(x @ w, 3, axis=-1))
    mean = jax.nn.softmax(q @ k.mT * D**-0.5) @ v
    return (joined(mean) * jax.nn.sigmoid(x @ o)) @ o


def differential(x: Array, w: Array, o: Array) -> Array:
    """The difference of two attentions of the same values."""
    q, k, v = (split(each) for each in jnp.split(x @ w, 3, axis=-1))
    (q1, q2), (k1, k2) = jnp.split(q, 2, axis=-1), jnp.split(k, 2, axis=-1)
    p = jax.nn.softmax(causal(q1 @ k1.mT)) - 0.3 * jax.nn.softmax(causal(q2 @ k2.mT))
    return joined(p @ v) @ o


def with_zero_sink(x: Array, w: Array, o: Array) -> Array:
    """A further key of score 0 and value 0: softmax with one more in the denominator."""
    q, k, v = (split(each) for each in jnp.split(x @ w, 3, axis=-1))
    s = causal(q @ k.mT * D**-0.5)
    m = jnp.maximum(s.max(-1, keepdims=True), 0)
    e = jnp.exp(s - m)
    return joined((e / (e.sum(-1, keepdims=True) + jnp.exp(-m))) @ v) @ o


def haiku_style(x: Array, w: Array, o: Array) -> Array:
    """Heads are neither split off before nor merged before the last product."""
    q, k, v = (each.reshape(B, S, H, D) for each in jnp.split(x @ w, 3, axis=-1))
    s = jnp.einsum("...thd,...Thd->...htT", q, k) / np.sqrt(D).astype(np.float32)
    p = jax.nn.softmax(causal(s, -1e30))
    out = jnp.einsum("...htT,...Thd->...thd", p, v)
    return jnp.reshape(out, (*out.shape[:-2], -1)) @ o


def head_by_head(x: Array, w: Array, o: Array) -> Array:
    """A Python loop over heads, each with weights of its own."""
    made = []
    for h in range(H):
        q, k, v = (x @ w[:, c + h * D : c + (h + 1) * D] for c in (0, E, 2 * E))
        made.append(jax.nn.softmax(causal(q @ k.mT * D**-0.5)) @ v)
    return jnp.concatenate(made, axis=-1) @ o


def heads_in_a_map(x: Array, w: Array, o: Array) -> Array:
    """Heads one after the other, in a loop of JAX."""

    def head(weights: Array) -> Array:
        q, k, v = jnp.split(x @ weights, 3, axis=-1)
        return jax.nn.softmax(causal(q @ k.mT * D**-0.5)) @ v

    each = jnp.moveaxis(w.reshape(E, 3, H, D), 2, 0).reshape(H, E, 3 * D)
    return jnp.moveaxis(lax.map(head, each), 0, 2).reshape(B, S, E) @ o


def under_a_condition(x: Array, w: Array, o: Array) -> Array:
    def attend(x: Array) -> Array:
        q, k, v = (split(each) for each in jnp.split(x @ w, 3, axis=-1))
        return joined(jax.nn.softmax(causal(q @ k.mT * D**-0.5)) @ v)

    return lax.cond(x.sum() < 1e6, attend, lambda x: x, x) @ o


def _case(function: Callable[..., Array]) -> Case:
    def arguments() -> tuple[Any, ...]:
        return normal(B, S, E), normal(E, 3 * E, seed=1, scale=0.3), normal(E, E, seed=2, scale=0.3)

    name = function.__name__.replace("_", " ")
    return Case(name, function, arguments, large=S, is_tiled=True)


WRITTEN = [
    _case(each)
    for each in (
        *(gpt2, bert, llama, gemma2, bloom, palm, cosine, normed, gated, differential),
        *(with_zero_sink, haiku_style, head_by_head, heads_in_a_map, under_a_condition),
    )
]
