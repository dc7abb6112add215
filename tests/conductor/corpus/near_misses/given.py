"""What the near-misses share: one head, more queries than a tile, and no multiple of one."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array

from tests.conductor.corpus.case import normal

N, D = 70, 4


def three() -> tuple[Any, ...]:
    """q, k and v."""
    return normal(N, D), normal(N, D, seed=1), normal(N, D, seed=2)


def scores(q: Array, k: Array) -> Array:
    return q @ k.T * 0.5


def lower(s: Array) -> Array:
    i = jnp.arange(s.shape[-2])[:, None]
    return i >= jnp.arange(s.shape[-1])


def causal(s: Array, fill: float = -1e9) -> Array:
    return jnp.where(lower(s), s, fill)
