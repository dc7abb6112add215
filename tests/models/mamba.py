"""Mamba's selective state space (Gu and Dao, arXiv 2312.00752, algorithm 2). x [L, E].

The recurrence h = exp(delta A) h + delta B x as a scan, as a loop of Python, or associatively.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from tests.models.parts import Weights, rms_norm

L, E, N, RANK, WIDTH = 48, 8, 4, 2, 3

Recurrence = Callable[[Array, Array], Array]


def parameters(seed: int = 0) -> dict[str, Any]:
    w = Weights(seed)
    return {
        "norm": 1 + 0.1 * w(E),
        "in": w(E, 2 * E),
        "conv": w(WIDTH, E),
        "select": w(E, RANK + 2 * N),
        "delta": w(RANK, E),
        "log_a": 0.1 * w(E, N),
        "d": w(E),
        "out": w(E, E),
    }


def scanned(a: Array, b: Array) -> Array:
    """All h [L, E, N] of a and b [L, E, N]."""

    def step(h: Array, each: tuple[Array, Array]) -> tuple[Array, Array]:
        h = each[0] * h + each[1]
        return h, h

    return jax.lax.scan(step, jnp.zeros_like(a[0]), (a, b))[1]


def unrolled(a: Array, b: Array) -> Array:
    h, all_ = jnp.zeros_like(a[0]), []
    for t in range(len(a)):
        h = a[t] * h + b[t]
        all_.append(h)
    return jnp.stack(all_)


def associative(a: Array, b: Array) -> Array:
    def joined(first: Any, then: Any) -> Any:
        return then[0] * first[0], then[0] * first[1] + then[1]

    return jax.lax.associative_scan(joined, (a, b))[1]


def block(p: dict[str, Any], x: Array, recurrence: Recurrence) -> Array:
    y, gate = jnp.split(rms_norm(x, p["norm"]) @ p["in"], 2, axis=-1)
    padded = jnp.pad(y, ((WIDTH - 1, 0), (0, 0)))
    y = jax.nn.silu(sum(padded[n : n + len(x)] * p["conv"][n] for n in range(WIDTH)))
    delta, b, c = jnp.split(y @ p["select"], [RANK, RANK + N], axis=-1)
    delta = jax.nn.softplus(delta @ p["delta"])
    a = jnp.exp(delta[..., None] * -jnp.exp(p["log_a"]))
    h = recurrence(a, delta[..., None] * b[:, None] * y[..., None])
    y = jnp.einsum("len,ln->le", h, c) + p["d"] * y
    return x + (y * jax.nn.silu(gate)) @ p["out"]
