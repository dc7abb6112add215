"""A linear state space layer in its two views (Gu and others, arXiv 2111.00396). u [L].

As a recurrence with a dense matrix, and as a convolution by FFT with the kernel C A^l B.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from tests.models.parts import Weights

L, N = 40, 4


def parameters(seed: int = 0) -> dict[str, Any]:
    w = Weights(seed)
    return {"a": w(N, N), "b": w(N, 1), "c": w(1, N), "log_step": 0.1 * w(1) - 2}


def discrete(p: dict[str, Any]) -> tuple[Array, Array]:
    """The bilinear rule."""
    step, eye = jnp.exp(p["log_step"]), jnp.eye(N, dtype=p["a"].dtype)
    inverse = jnp.linalg.inv(eye - step / 2 * p["a"])
    return inverse @ (eye + step / 2 * p["a"]), (inverse * step) @ p["b"]


def recurrent(p: dict[str, Any], u: Array) -> Array:
    a, b = discrete(p)

    def step(x: Array, u: Array) -> tuple[Array, Array]:
        x = a @ x + b[:, 0] * u
        return x, (p["c"] @ x)[0]

    return jax.lax.scan(step, jnp.zeros(N, u.dtype), u)[1]


def convolved(p: dict[str, Any], u: Array) -> Array:
    a, b = discrete(p)
    power, kernel = b, []
    for _ in range(L):
        kernel.append((p["c"] @ power)[0, 0])
        power = a @ power
    wide = jnp.fft.rfft(jnp.stack(kernel), 2 * L) * jnp.fft.rfft(u, 2 * L)
    return jnp.fft.irfft(wide, 2 * L)[:L]
