"""Attention of stock modules: JAX's own, and those of flax and equinox where they are installed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tests.conductor.corpus.case import Case, normal

B, S, E, H = 2, 72, 16, 4
D = E // H

NUMPY_KEY = np.array([0, 7], np.uint32)
"""A random key of JAX's default kind."""


def _jax_case(name: str, few: int = H, arrays: Callable[[], tuple[Any, ...]] = tuple, **how: Any):
    """``jax.nn.dot_product_attention`` of [B, S, H, D], with `few` heads of keys."""

    def function(q: Array, k: Array, v: Array, *given: Array) -> Array:
        named = dict(zip(("bias",), given, strict=False))
        return jax.nn.dot_product_attention(q, k, v, **named, **how)

    def arguments() -> tuple[Any, ...]:
        heads = (H, few, few)
        made = (normal(B, S, heads[n], D, seed=n) for n in range(3))
        return *made, *arrays()

    return Case(f"jax.nn: {name}", function, arguments, large=S, is_tiled=True)


JAX = [
    _jax_case("plain"),
    _jax_case("causal", is_causal=True),
    _jax_case("mask", mask=np.tri(S, dtype=bool)[None, None]),
    _jax_case("bias", arrays=lambda: (normal(1, H, S, S, seed=3),)),
    _jax_case("window", is_causal=True, local_window_size=(12, 0)),
    _jax_case("lengths", key_value_seq_lengths=np.array([S, S - 9], np.int32)),
    _jax_case("fewer heads of keys", few=2, is_causal=True),
]


def _module(
    name: str,
    make: Callable[[], tuple[Callable[..., Any], Any]],
    *needs: str,
    key: bool = False,
    x64: bool = False,
) -> Case:
    """A module that is made when it is first used: its function of parameters and x [B, S, E]."""
    made = functools.cache(make)

    def function(parameters: Any, x: Array, *rest: Array) -> Array:
        return made()[0](parameters, x, *rest)

    def arguments() -> tuple[Any, ...]:
        parameters = jax.tree.map(np.asarray, made()[1])
        return parameters, normal(B, S, E, seed=5), *([NUMPY_KEY] if key else [])

    return Case(
        name, function, arguments, large=S, is_tiled=True, moving=(0, 1), carried=1, needs=needs
    )


def _linen(mask: bool = False, **how: Any) -> tuple[Callable[..., Any], Any]:
    import flax.linen as nn

    module = nn.MultiHeadDotProductAttention(num_heads=H, **how)
    parameters = module.init(jax.random.key(1), jnp.zeros((B, S, E)), deterministic=True)
    causal = nn.make_causal_mask(jnp.ones((B, S))) if mask else None

    def function(parameters: Any, x: Array, *key: Array) -> Any:
        keys = {"dropout": key[0]} if key else None
        return module.apply(parameters, x, mask=causal, rngs=keys, deterministic=not key)

    return function, parameters


def _linen_function() -> tuple[Callable[..., Any], Any]:
    import flax.linen as nn

    def function(w: Any, x: Array) -> Array:
        q, k, v = (each.reshape(B, S, H, D) for each in jnp.split(x @ w, 3, axis=-1))
        mask = nn.make_attention_mask(jnp.arange(S)[None] < S - 5, jnp.arange(S)[None] < S - 5)
        bias = jnp.where(mask, 0.0, -1e10).astype(x.dtype)
        return nn.dot_product_attention(q, k, v, bias=bias).reshape(B, S, E)

    return function, normal(E, 3 * E, seed=6, scale=0.4)


def _nnx(mask: bool = False, **how: Any) -> tuple[Callable[..., Any], Any]:
    from flax import nnx

    module = nnx.MultiHeadAttention(H, E, decode=False, rngs=nnx.Rngs(0), **how)
    graph, state = nnx.split(module)
    causal = nnx.make_causal_mask(jnp.ones((B, S))) if mask else None
    return lambda state, x: nnx.merge(graph, state)(x, mask=causal), state


def _equinox(mask: bool = False) -> tuple[Callable[..., Any], Any]:
    import equinox

    module = equinox.nn.MultiheadAttention(H, E, key=jax.random.key(2))
    arrays, rest = equinox.partition(module, equinox.is_array)
    causal = jnp.tril(jnp.ones((S, S), bool)) if mask else None

    def function(arrays: Any, x: Array) -> Any:
        module = equinox.combine(arrays, rest)
        return jax.vmap(lambda each: module(each, each, each, mask=causal))(x)

    return function, arrays


MODULES = [
    *JAX,
    _module("linen", _linen, "flax"),
    _module("linen, causal", lambda: _linen(mask=True), "flax"),
    _module("linen, normed", lambda: _linen(normalize_qk=True), "flax"),
    _module("linen, dropout", lambda: _linen(dropout_rate=0.25), "flax", key=True),
    _module(
        "linen, dropout of each pair",
        lambda: _linen(mask=True, dropout_rate=0.25, broadcast_dropout=False),
        "flax",
        key=True,
    ),
    _module("linen function", _linen_function, "flax"),
    _module("nnx", _nnx, "flax"),
    _module("nnx, causal", lambda: _nnx(mask=True), "flax"),
    _module("equinox", _equinox, "equinox"),
    _module("equinox, causal", lambda: _equinox(mask=True), "equinox"),
]
