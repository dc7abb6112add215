"""The nearest of many points, and where they are."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

from tests.benchmarks.conductor.case import Case, Made
from tests.benchmarks.conductor.cases.arrays import normal


def apart(x: Array, y: Array) -> Array:
    """Squared distances (n, m)."""
    return (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T


def codes(x: Array, book: Array) -> Array:
    return book[jnp.argmin(apart(x, book), 1)]


def means(x: Array, centres: Array) -> Array:
    """A step of k-means."""
    one = jax.nn.one_hot(jnp.argmin(apart(x, centres), 1), len(centres))
    return one.T @ x / jnp.maximum(one.sum(0), 1)[:, None]


def neighbours(x: Array, y: Array) -> tuple[Array, Array]:
    return lax.top_k(-apart(x, y), 8)


def best_keys(q: Array, k: Array, v: Array) -> Array:
    """(s, d): attention of each query to its 32 best keys."""
    scores = q @ k.T / jnp.sqrt(q.shape[-1])
    least = lax.top_k(scores, 32)[0][:, -1:]
    return jax.nn.softmax(jnp.where(scores >= least, scores, -1e30)) @ v


def two(n: int, m: int, d: int) -> list[Array]:
    return [normal(n, d, seed=1), normal(m, d, seed=2)]


def attention(length: int) -> Made:
    return best_keys, [normal(length, 64, seed=k) for k in range(3)]


NEAREST = (
    Case("codes of a book of 4096, 8192 vectors of 64", lambda: (codes, two(8192, 4096, 64))),
    Case("a step of k-means, 8192 points of 16, k = 1024", lambda: (means, two(8192, 1024, 16))),
    Case(
        "a step of k-means, 8192 points of 16, k = 1024, for memory",
        lambda: (means, two(8192, 1024, 16)),
        objective="memory",
    ),
    Case("8 nearest neighbours, n = 4096, 16 features", lambda: (neighbours, two(4096, 4096, 16))),
    Case("attention to the 32 best keys, S = 4096, one head", lambda: attention(4096)),
)
