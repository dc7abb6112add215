"""Types of numbers: indices that overflow, narrow floats, integers as scores, and weak types."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from tests.conductor.corpus.case import Case, family, normal
from tests.conductor.corpus.near_misses.given import D, N, causal, scores, three

LONG = 300
"""More than an 8-bit index can count."""


def long() -> tuple[Any, ...]:
    return normal(LONG, D), normal(LONG, D, seed=1), normal(LONG, D, seed=2)


def _indexed(dtype: Any, where):
    """A mask of indices that wrap around."""

    def function(q: Array, k: Array, v: Array) -> Array:
        i, j = lax.iota(dtype, LONG)[:, None], lax.iota(dtype, LONG)[None]
        return jax.nn.softmax(jnp.where(where(i, j), scores(q, k), -1e9)) @ v

    return function


def _window(i: Array, j: Array) -> Array:
    return i - j < 16


def _causal(i: Array, j: Array) -> Array:
    return i >= j


def _scaled_index(q: Array, k: Array, v: Array) -> Array:
    """i * 2^25 overflows 32 bits."""
    i = jnp.arange(N, dtype=jnp.int32) * 2**27
    return jax.nn.softmax(jnp.where(i[:, None] >= i, scores(q, k), -1e9)) @ v


def _hashed(q: Array, k: Array, v: Array) -> Array:
    """A pseudorandom mask from a product that overflows."""
    i = jnp.arange(N, dtype=jnp.uint32)
    h = (i[:, None] * np.uint32(2654435761)) ^ (i * np.uint32(40503) + np.uint32(7))
    return jax.nn.softmax(jnp.where(h >> 16 & 1, scores(q, k), -1e9)) @ v


def _float_index(q: Array, k: Array, v: Array) -> Array:
    """16-bit places: neighbours are the same number from 256 on."""
    i = jnp.arange(N).astype(jnp.bfloat16) * 3 + 300
    return jax.nn.softmax(jnp.where(i[:, None] > i, scores(q, k), -1e9)) @ v


def _integer_scores(q: Array, k: Array, v: Array) -> Array:
    s = jnp.round(4 * q).astype(jnp.int32) @ jnp.round(4 * k).astype(jnp.int32).T
    return jax.nn.softmax(s.astype(q.dtype) / 16) @ v


def _integer_weights(q: Array, k: Array, v: Array) -> Array:
    w = (scores(q, k) > 0).astype(jnp.int8)
    return (w @ jnp.ones((N, 2), jnp.int8)).astype(q.dtype) @ v[:2]


def _truth_values(q: Array, k: Array, v: Array) -> Array:
    near = scores(q, k) > 0.5
    return v * jnp.any(near, 1)[:, None] + v[::-1] * jnp.all(near | (q[:, :1] > 0), 1)[:, None]


def _counted(q: Array, k: Array, v: Array) -> Array:
    return v * (scores(q, k) > 0).sum(1)[:, None]


def _complex(q: Array, k: Array, v: Array) -> Array:
    s = (q[:, :2] + 1j * q[:, 2:]) @ jnp.conj(k[:, :2] + 1j * k[:, 2:]).T
    return jax.nn.softmax(jnp.abs(s)) @ v + ((s @ (v + 0j)).real) / N


def _cast_down(dtype: Any):
    """Scores that went through a narrow type."""

    def function(q: Array, k: Array, v: Array) -> Array:
        return jax.nn.softmax(scores(q, k).astype(dtype).astype(q.dtype)) @ v

    return function


def _reduced_precision(q: Array, k: Array, v: Array) -> Array:
    return jax.nn.softmax(lax.reduce_precision(scores(q, k), 8, 7)) @ v


def _quantised(q: Array, k: Array, v: Array) -> Array:
    s = scores(q, k)
    return jax.nn.softmax(s + lax.stop_gradient(jnp.round(s) - s)) @ v


def _same_bits(q: Array, k: Array, v: Array) -> Array:
    """The sign taken off by its bit."""
    s = scores(q, k).astype(jnp.float32)
    bits = lax.bitcast_convert_type(s, jnp.uint32) & np.uint32(0x7FFFFFFF)
    return jax.nn.softmax(lax.bitcast_convert_type(bits, jnp.float32)).astype(q.dtype) @ v


def _empty(q: Array, k: Array, v: Array) -> Array:
    return jax.nn.softmax(scores(q, k[:0]), axis=0) @ v[:0]


def _one_key(q: Array, k: Array, v: Array) -> Array:
    return jax.nn.softmax(scores(q, k[:1])) @ v[:1]


TYPES: list[Case] = [
    *family(
        "index",
        {
            "8 bits, causal": _indexed(np.int8, _causal),
            "8 bits, window": _indexed(np.int8, _window),
            "8 bits without sign, causal": _indexed(np.uint8, _causal),
            "8 bits without sign, window": _indexed(np.uint8, _window),
            "16 bits without sign, window": _indexed(np.uint16, _window),
            "32 bits without sign, window": _indexed(np.uint32, _window),
            "8 bits, shifted": _indexed(np.int8, lambda i, j: i + np.int8(100) >= j),
            "8 bits, negated": _indexed(np.int8, lambda i, j: -i <= -j),
            "8 bits, absolute": _indexed(np.int8, lambda i, j: jnp.abs(i - j) < 9),
            "8 bits, multiplied": _indexed(np.int8, lambda i, j: i * j < np.int8(50)),
            "remainder of negatives": _indexed(np.int32, lambda i, j: (i - j) % 5 == 2),
            "truncated remainder": _indexed(np.int32, lambda i, j: lax.rem(i - j, 5) == 2),
            "floor division": _indexed(np.int32, lambda i, j: (i - j) // 7 >= 0),
            "truncated division": _indexed(np.int32, lambda i, j: lax.div(i - j, 7) >= 0),
            "exclusive or": _indexed(np.int32, lambda i, j: (i ^ j) < 32),
            "shifted bits": _indexed(np.int32, lambda i, j: (i >> 3) >= (j >> 3)),
        },
        long,
    ),
    *family(
        "type",
        {
            "scaled index": _scaled_index,
            "hashed index": _hashed,
            "16-bit index": _float_index,
            "integer scores": _integer_scores,
            "8-bit sums": _integer_weights,
            "any and all": _truth_values,
            "counted": _counted,
            "complex": _complex,
            "through bfloat16": _cast_down(jnp.bfloat16),
            "through float16": _cast_down(jnp.float16),
            "reduced precision": _reduced_precision,
            "rounded, straight through": _quantised,
            "bits": _same_bits,
            "no keys": _empty,
            "one key": _one_key,
            "weak numbers": lambda q, k, v: jax.nn.softmax(causal(2 * scores(q, k) + 1, -7)) @ v,
        },
        three,
    ),
]
