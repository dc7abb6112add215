"""Rows in which nothing, one, or everything is allowed, and fills that are no small numbers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tests.conductor.corpus.case import family
from tests.conductor.corpus.near_misses.given import N, causal, lower, scores, three


def allowed(kind: str) -> Array:
    i, j = np.arange(N)[:, None], np.arange(N)
    return jnp.asarray(
        {
            "none for some rows": (i >= j) & (i % 7 != 3),
            "none for the first rows": j < i - 20,
            "none for the last rows": (i < 30) & (j <= i),
            "none at all": np.zeros((N, N), bool),
            "one for each row": i == j,
            "the last key only": np.broadcast_to(j == N - 1, (N, N)),
            "all": np.ones((N, N), bool),
        }[kind]
    )


KINDS = (
    *("none for some rows", "none for the first rows", "none for the last rows", "none at all"),
    *("one for each row", "the last key only", "all"),
)


def _filled(kind: str, fill: float):
    def function(q: Array, k: Array, v: Array) -> Array:
        s = scores(q, k)
        return jax.nn.softmax(jnp.where(allowed(kind), s, fill)) @ v

    return function


def _where(kind: str):
    def function(q: Array, k: Array, v: Array) -> Array:
        s = scores(q, k)
        return jax.nn.softmax(s, where=allowed(kind)) @ v

    return function


def _added(kind: str, fill: float):
    def function(q: Array, k: Array, v: Array) -> Array:
        s = scores(q, k)
        return jax.nn.softmax(s + jnp.where(allowed(kind), 0.0, fill)) @ v

    return function


def _guarded(kind: str):
    """Rows without a key give zero, as JAX's own attention does it."""

    def function(q: Array, k: Array, v: Array) -> Array:
        s = scores(q, k)
        m = allowed(kind)
        p = jax.nn.softmax(jnp.where(m, s, -1e30))
        return jnp.where(m.any(-1, keepdims=True), p, 0) @ v

    return function


def _lowered(fill: float):
    return lambda q, k, v: jax.nn.softmax(causal(scores(q, k), fill)) @ v


def _times(q: Array, k: Array, v: Array) -> Array:
    """A mask that multiplies the scores allows everything."""
    s = scores(q, k)
    return jax.nn.softmax(s * lower(s)) @ v


def _after_without_sum(q: Array, k: Array, v: Array) -> Array:
    s = scores(q, k)
    return (jax.nn.softmax(s) * lower(s)) @ v


def _different_masks(q: Array, k: Array, v: Array) -> Array:
    """One mask for the sum, another for the product."""
    e = jnp.exp(scores(q, k))
    window = lower(e) & (jnp.arange(N)[:, None] - jnp.arange(N) < 9)
    return jnp.where(window, e, 0) @ v / jnp.where(lower(e), e, 0).sum(-1, keepdims=True)


def _not_quite_causal(q: Array, k: Array, v: Array) -> Array:
    """One pair above the diagonal is allowed, far away from it."""
    s = scores(q, k)
    return jax.nn.softmax(jnp.where(lower(s).at[2, N - 1].set(True), s, -jnp.inf)) @ v


ROWS = family(
    "rows",
    {
        **{f"{kind}, -inf": _filled(kind, -np.inf) for kind in KINDS},
        **{f"{kind}, -1e9": _filled(kind, -1e9) for kind in KINDS},
        **{f"{kind}, where=": _where(kind) for kind in KINDS},
        **{f"{kind}, added -1e9": _added(kind, -1e9) for kind in KINDS[:4]},
        **{f"{kind}, added -inf": _added(kind, -np.inf) for kind in KINDS[:4]},
        **{f"{kind}, guarded": _guarded(kind) for kind in KINDS[:4]},
        **{f"filled with {fill:g}": _lowered(fill) for fill in (0.0, -2.0, -50.0, 3.0, np.inf)},
        "filled with nan": _lowered(np.nan),
        "filled with the lowest": _lowered(float(np.finfo(np.float32).min)),
        "multiplied": _times,
        "after, without its sum": _after_without_sum,
        "two masks": _different_masks,
        "one pair more": _not_quite_causal,
    },
    three,
)
