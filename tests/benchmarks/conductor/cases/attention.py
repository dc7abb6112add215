"""Attention with masks, forward and with gradients."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array

from tests.benchmarks.conductor.case import Case, Made
from tests.benchmarks.conductor.cases.arrays import normal

Mask = Callable[[Array, Array], Array]


def causal(i: Array, j: Array) -> Array:
    return i >= j


def window(width: int, i: Array, j: Array) -> Array:
    return (i >= j) & (i - j < width)


def everything(i: Array, j: Array) -> Array:
    return jnp.broadcast_to(True, jnp.broadcast_shapes(i.shape, j.shape))


def attend(mask: Mask, q: Array, k: Array, v: Array) -> Array:
    """(b, h, s, d) queries, keys and values."""
    scores = jnp.einsum("bhid,bhjd->bhij", q, k) / jnp.sqrt(q.shape[-1])
    i, j = jnp.arange(q.shape[2])[:, None], jnp.arange(k.shape[2])[None, :]
    scores = jnp.where(mask(i, j), scores, -jnp.inf)
    return jnp.einsum("bhij,bhjd->bhid", jax.nn.softmax(scores, axis=-1), v)


def soft_capped(mask: Mask, q: Array, k: Array, v: Array) -> Array:
    """As Gemma 2 has it."""
    scores = jnp.einsum("bhid,bhjd->bhij", q, k) / jnp.sqrt(q.shape[-1])
    scores = 30.0 * jnp.tanh(scores / 30.0)
    i, j = jnp.arange(q.shape[2])[:, None], jnp.arange(k.shape[2])[None, :]
    scores = jnp.where(mask(i, j), scores, -1e30)
    return jnp.einsum("bhij,bhjd->bhid", jax.nn.softmax(scores, axis=-1), v)


def forward(attention: Callable[..., Array], heads: int, length: int) -> Made:
    return attention, [normal(1, heads, length, 64, seed=k) for k in range(3)]


def trained(attention: Callable[..., Array], heads: int, length: int) -> Made:
    function, (q, k, v) = forward(attention, heads, length)
    target = normal(1, heads, length, 64, seed=9)

    def loss(q: Array, k: Array, v: Array) -> Array:
        return jnp.sum((function(q, k, v) - target) ** 2)

    return jax.value_and_grad(loss, argnums=(0, 1, 2)), [q, k, v]


def attention(mask: Mask) -> Callable[..., Array]:
    return partial(attend, mask)


ATTENTION = (
    Case("causal attention, S = 4096", lambda: forward(attention(causal), 4, 4096), 8.0, 60.0),
    Case(
        "causal attention, S = 4096, with gradients",
        lambda: trained(attention(causal), 4, 4096),
        4.0,
        40.0,
    ),
    Case(
        "window of 256, S = 16384, one head",
        lambda: forward(attention(partial(window, 256)), 1, 16384),
        25.0,
    ),
    Case(
        "soft-capped causal attention, S = 4096",
        lambda: forward(partial(soft_capped, causal), 4, 4096),
    ),
    Case(
        "attention without a mask, S = 2048", lambda: forward(attention(everything), 4, 2048), 0.97
    ),
    Case("causal attention, S = 256", lambda: forward(attention(causal), 4, 256), 0.97),
)
