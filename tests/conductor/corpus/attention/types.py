"""Attention in other types of numbers, and with parts of it in wider ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tests.conductor.corpus.attention.layouts import FULL, D, S
from tests.conductor.corpus.case import Case, normal


def wider(x: Array) -> Array:
    """At least float32."""
    return x.astype(jnp.promote_types(x.dtype, jnp.float32))


def _masked(s: Array) -> Array:
    return jnp.where(jnp.tril(jnp.ones(s.shape[-2:], bool)), s, jnp.finfo(s.dtype).min)


def _plain(q: Array, k: Array, v: Array) -> Array:
    return jax.nn.softmax(_masked(q @ k.mT * D**-0.5)) @ v


def _softmax_in_float32(q: Array, k: Array, v: Array) -> Array:
    return jax.nn.softmax(wider(_masked(q @ k.mT * D**-0.5))).astype(q.dtype) @ v


def _scores_in_float32(q: Array, k: Array, v: Array) -> Array:
    wide = jnp.promote_types(q.dtype, jnp.float32)
    s = jnp.einsum("bhqd,bhkd->bhqk", q, k, preferred_element_type=wide) * D**-0.5
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(_masked(s)).astype(v.dtype), v)


def _all_in_float32(q: Array, k: Array, v: Array) -> Array:
    return _plain(wider(q), wider(k), wider(v)).astype(q.dtype)


def _scaled_by_float(q: Array, k: Array, v: Array) -> Array:
    s = (q / jnp.sqrt(jnp.asarray(D, q.dtype))) @ k.mT
    p = jax.nn.softmax(_masked(s).astype(jnp.promote_types(s.dtype, jnp.float32)), axis=-1)
    return (p @ wider(v)).astype(q.dtype)


def _case(name: str, function: Callable[..., Array], dtype: Any) -> Case:
    def arguments() -> tuple[Any, ...]:
        return tuple(normal(*FULL, seed=n).astype(dtype) for n in range(3))

    is_x64 = dtype == np.float64
    return Case(name, function, arguments, large=S, is_tiled=True, is_x64=is_x64)


TYPES = [
    _case("bfloat16", _plain, jnp.bfloat16),
    _case("bfloat16, softmax in float32", _softmax_in_float32, jnp.bfloat16),
    _case("bfloat16, scores in float32", _scores_in_float32, jnp.bfloat16),
    _case("bfloat16, all in float32", _all_in_float32, jnp.bfloat16),
    _case("bfloat16, weights in float32", _scaled_by_float, jnp.bfloat16),
    _case("float16, scores in float32", _scores_in_float32, np.float16),
    _case("float32, written for lower ones", _scores_in_float32, np.float32),
    _case("float64", _plain, np.float64),
    _case("float64, softmax in at least float32", _softmax_in_float32, np.float64),
]
