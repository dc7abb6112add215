"""Attention with embeddings of distances, as Transformer-XL has it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from tests.benchmarks.conductor.case import Case, Made
from tests.benchmarks.conductor.cases.arrays import normal


def shifted(x: Array) -> Array:
    """From scores of distances to those of positions, by padding and reshaping."""
    h, n, m = x.shape
    padded = jnp.pad(x, ((0, 0), (0, 0), (1, 0))).reshape(h, m + 1, n)
    return padded[:, 1:].reshape(h, n, m)


def attend(q: Array, k: Array, v: Array, r: Array, u: Array, w: Array) -> Array:
    """(h, s, d) queries, keys, values and embeddings of distances; (h, d) biases of both."""
    content = jnp.einsum("hid,hjd->hij", q + u[:, None], k)
    distance = shifted(jnp.einsum("hid,hjd->hij", q + w[:, None], r))
    scores = (content + distance) / jnp.sqrt(q.shape[-1])
    seen = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    return jax.nn.softmax(jnp.where(seen, scores, -1e30)) @ v


def forward(heads: int, length: int) -> Made:
    large = [normal(heads, length, 64, seed=k) for k in range(4)]
    return attend, [*large, *(normal(heads, 64, seed=k) for k in (4, 5))]


def trained(heads: int, length: int) -> Made:
    function, arrays = forward(heads, length)
    target = normal(heads, length, 64, seed=9)

    def loss(*given: Array) -> Array:
        return jnp.sum((function(*given) - target) ** 2)

    return jax.value_and_grad(loss, argnums=tuple(range(len(arrays)))), arrays


RELATIVE = (
    Case("Transformer-XL attention, S = 2048", lambda: forward(4, 2048)),
    Case("Transformer-XL attention, S = 2048, with gradients", lambda: trained(4, 2048)),
    Case("Transformer-XL attention, S = 4096", lambda: forward(4, 4096)),
    Case("Transformer-XL attention, S = 4096, with gradients", lambda: trained(4, 4096)),
)
