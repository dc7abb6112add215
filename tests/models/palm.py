"""PaLM (Chowdhery and others, arXiv 2204.02311) with ALiBi (Press and others, arXiv 2108.12409).

One head of keys and values for all heads of queries; attention and SwiGLU side by side. x [S, E].
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tests.models.parts import Weights, rms_norm

S, E, H, D, F, LAYERS = 72, 16, 4, 4, 24, 2


def parameters(seed: int = 0) -> list[dict[str, Any]]:
    w = Weights(seed)
    return [
        {
            "norm": 1 + 0.1 * w(E),
            "in": w(E, H * D + 2 * D + 2 * F),
            "out": w(H * D, E),
            "down": w(F, E),
        }
        for _ in range(LAYERS)
    ]


def block(p: dict[str, Any], x: Array, bias: Array) -> Array:
    cuts = np.cumsum([H * D, D, D, F])
    q, k, v, up, gate = jnp.split(rms_norm(x, p["norm"]) @ p["in"], cuts, axis=-1)
    q = q.reshape(S, H, D).swapaxes(0, 1) * D**-0.5
    scores = jnp.einsum("hid,jd->hij", q, k) + bias
    mean = jnp.einsum("hij,jd->hid", jax.nn.softmax(scores, axis=-1), v)
    mean = mean.swapaxes(0, 1).reshape(S, H * D)
    return x + mean @ p["out"] + (up * jax.nn.swish(gate)) @ p["down"]


def forward(p: list[dict[str, Any]], x: Array) -> Array:
    slopes = 2.0 ** -(8 / H * jnp.arange(1, H + 1, dtype=x.dtype))
    causal = jnp.tril(jnp.ones((S, S), bool))
    bias = jnp.where(causal, slopes[:, None, None] * jnp.arange(S), -1e10).astype(x.dtype)
    for layer in p:
        x = block(layer, x, bias)
    return x
