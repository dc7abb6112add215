"""Attention as anybody would write it, and as cuDNN does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

HEADS, LENGTH, D = 16, 8192, 128

Function = Callable[..., Array]


def drawn(*shape: int, seed: int = 0, dtype: str = "bfloat16") -> Array:
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), dtype)


def queries_keys_values() -> list[Array]:
    return [drawn(1, HEADS, LENGTH, D, seed=k) for k in range(3)]


def naive(scores: Callable[[Array, Array, Array], Array], q: Array, k: Array, v: Array) -> Array:
    """(b, h, s, d) attention, everything written out."""
    s = jnp.einsum("bhid,bhjd->bhij", q, k) / jnp.sqrt(jnp.asarray(q.shape[-1], q.dtype))
    i, j = jnp.arange(q.shape[2])[:, None], jnp.arange(k.shape[2])[None, :]
    s = scores(s.astype(jnp.float32), i, j)
    return jnp.einsum("bhij,bhjd->bhid", jax.nn.softmax(s, axis=-1).astype(v.dtype), v)


def causal(s: Array, i: Array, j: Array) -> Array:
    return jnp.where(i >= j, s, -jnp.inf)


def soft_capped(s: Array, i: Array, j: Array) -> Array:
    return jnp.where(i >= j, 30 * jnp.tanh(s / 30), -jnp.inf)


def with_distances(s: Array, i: Array, j: Array) -> Array:
    """ALiBi: Press and others, 2022."""
    slopes = 2.0 ** (-8.0 * (jnp.arange(s.shape[1], dtype=jnp.float32) + 1) / HEADS)
    return jnp.where(i >= j, s - slopes[None, :, None, None] * (i - j), -jnp.inf)


WINDOW = 1024


def in_window(s: Array, i: Array, j: Array) -> Array:
    return jnp.where((i >= j) & (i - j < WINDOW), s, -jnp.inf)


def cudnn(q: Array, k: Array, v: Array) -> Array:
    """Causal, (b, s, h, d)."""
    return jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="cudnn")


def heads_last(scores: Any, q: Array, k: Array, v: Array) -> Array:
    """(b, s, h, d) attention, everything written out."""
    s = jnp.einsum("bihd,bjhd->bhij", q, k) / jnp.sqrt(jnp.asarray(q.shape[-1], q.dtype))
    i, j = jnp.arange(q.shape[1])[:, None], jnp.arange(k.shape[1])[None, :]
    weights = jax.nn.softmax(scores(s.astype(jnp.float32), i, j), axis=-1).astype(v.dtype)
    return jnp.einsum("bhij,bjhd->bihd", weights, v)


def of_jax(q: Array, k: Array, v: Array) -> Array:
    """(b, s, h, d), causal, as JAX's users write it; what is masked is set to a finite number."""
    return jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="xla")


def in_groups(q: Array, k: Array, v: Array) -> Array:
    """Four heads of queries share each head of keys."""
    return of_jax(q, k[:, :, ::4], v[:, :, ::4])
