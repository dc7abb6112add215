"""minGRU (Feng and others, arXiv 2410.01201) and LRU (Orvieto and others, arXiv 2303.06349).

x [L, E] to [L, E]; the carry-free products stand inside the loops, as one writes them first.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from tests.models.parts import Weights

L, E = 48, 8


def mingru_parameters(seed: int = 0) -> dict[str, Any]:
    w = Weights(seed)
    return {"gate": w(E, E), "new": w(E, E)}


def mingru(p: dict[str, Any], x: Array) -> Array:
    def step(h: Array, x: Array) -> tuple[Array, Array]:
        z = jax.nn.sigmoid(x @ p["gate"])
        h = (1 - z) * h + z * (x @ p["new"])
        return h, h

    return jax.lax.scan(step, jnp.zeros(E, x.dtype), x)[1]


def lru_parameters(seed: int = 0) -> dict[str, Any]:
    w = Weights(seed)
    return {"nu": 0.3 * w(E) - 1, "theta": w(E), "b": w(2, E, E), "c": w(2, E, E), "d": w(E)}


def lru(p: dict[str, Any], x: Array) -> Array:
    a = jnp.exp(-jnp.exp(p["nu"]) + 1j * p["theta"])
    b, c = p["b"][0] + 1j * p["b"][1], p["c"][0] + 1j * p["c"][1]
    scale = jnp.sqrt(1 - jnp.abs(a) ** 2)

    def step(h: Array, x: Array) -> tuple[Array, Array]:
        h = a * h + scale * (x @ b)
        return h, (h @ c).real + p["d"] * x

    return jax.lax.scan(step, jnp.zeros(E, a.dtype), x)[1]
