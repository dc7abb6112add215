"""Cross-entropy over a large vocabulary."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from tests.benchmarks.conductor.case import Case, Made
from tests.benchmarks.conductor.cases.arrays import integers, normal


def cross_entropy(tokens: int, vocabulary: int, d: int) -> Made:
    def loss(x: Array, w: Array, labels: Array) -> Array:
        logits = jax.nn.log_softmax(x @ w)
        return -jnp.mean(jnp.take_along_axis(logits, labels[:, None], 1))

    function = jax.value_and_grad(loss, argnums=(0, 1))
    weights = normal(d, vocabulary, scale=0.05, seed=1)
    return function, [normal(tokens, d), weights, integers(vocabulary, tokens)]


def large() -> Made:
    return cross_entropy(2048, 50_257, 256)


LOSSES = (
    Case("cross-entropy, V = 50257, for memory", large, None, 20.0, "memory"),
    Case("cross-entropy, V = 50257, for time", large, 0.97),
)
