"""Attention whose weights depend on what stands between query and key."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

from tests.benchmarks.conductor.case import Case, Made
from tests.benchmarks.conductor.cases.arrays import normal

PLACES = 64
"""Positions that contextual position encoding tells apart."""


def stick_breaking(q: Array, k: Array, v: Array) -> Array:
    """(h, s, d), as Tan and others, "Stick-breaking attention" (2024)."""
    scores = jnp.einsum("hid,hjd->hij", q, k) / jnp.sqrt(q.shape[-1])
    at = jnp.arange(q.shape[1])
    seen = at[:, None] > at
    left = jnp.where(seen, jax.nn.log_sigmoid(-scores), 0)
    between = lax.cumsum(left, 2, reverse=True) - left
    return jnp.where(seen, jnp.exp(jax.nn.log_sigmoid(scores) + between), 0) @ v


def contextual(q: Array, k: Array, v: Array, table: Array) -> Array:
    """Positions counted by gates, as Golovneva and others (2024) have it."""
    scores = jnp.einsum("hid,hjd->hij", q, k) / jnp.sqrt(q.shape[-1])
    at = jnp.arange(q.shape[1])
    seen = at[:, None] >= at
    gates = jnp.where(seen, jax.nn.sigmoid(scores), 0)
    place = jnp.minimum(lax.cumsum(gates, 2, reverse=True), PLACES - 1)
    low = jnp.floor(place).astype(int)
    of_places = q @ table
    below = jnp.take_along_axis(of_places, low, 2)
    above = jnp.take_along_axis(of_places, jnp.minimum(low + 1, PLACES - 1), 2)
    scores = scores + below + (place - low) * (above - below)
    return jax.nn.softmax(jnp.where(seen, scores, -1e30)) @ v


def softened(q: Array, k: Array, v: Array) -> Array:
    """Attention by the soft maximum of all scores so far."""
    scores = jnp.einsum("hid,hjd->hij", q, k) / jnp.sqrt(q.shape[-1])
    return jax.nn.softmax(lax.cumlogsumexp(scores, 2)) @ v


def of_heads(heads: int, length: int) -> list[Array]:
    return [normal(heads, length, 64, seed=k) for k in range(3)]


def forward(heads: int, length: int) -> Made:
    return stick_breaking, of_heads(heads, length)


def trained(heads: int, length: int) -> Made:
    def loss(q: Array, k: Array, v: Array) -> Array:
        return jnp.sum(stick_breaking(q, k, v) ** 2)

    return jax.value_and_grad(loss, argnums=(0, 1, 2)), of_heads(heads, length)


def by_context(heads: int, length: int) -> Made:
    return contextual, [*of_heads(heads, length), normal(64, PLACES, seed=4)]


RUNNING = (
    Case("stick-breaking attention, S = 2048", lambda: forward(4, 2048)),
    Case(
        "stick-breaking attention, S = 2048, with gradients, for memory",
        lambda: trained(4, 2048),
        objective="memory",
    ),
    Case("contextual positions, S = 2048", lambda: by_context(4, 2048)),
    Case("softmax(cumlogsumexp), 4 heads, S = 1024", lambda: (softened, of_heads(4, 1024))),
)
