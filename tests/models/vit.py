"""A block of the vision transformer (Dosovitskiy and others, arXiv 2010.11929). x [B, S, E]."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from tests.models.parts import Weights, layer_norm

S, E, H = 72, 16, 2


def parameters(seed: int = 0) -> dict[str, Any]:
    w = Weights(seed)
    d = E // H
    return {
        "norms": 1 + 0.1 * w(4, E),
        "q": w(E, E).reshape(E, H, d),
        "k": w(E, E).reshape(E, H, d),
        "v": w(E, E).reshape(E, H, d),
        "out": w(E, E).reshape(H, d, E),
        "up": w(E, 2 * E),
        "down": w(2 * E, E),
        "biases": 0.1 * w(2, 2 * E),
    }


def forward(p: dict[str, Any], x: Array) -> Array:
    n = p["norms"]
    y = layer_norm(x, n[0], n[1])
    q, k, v = (jnp.einsum("bse,ehd->bshd", y, p[name]) for name in "qkv")
    weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q / (E // H) ** 0.5, k))
    x = x + jnp.einsum("bhqk,bkhd,hde->bqe", weights, v, p["out"])
    y = jax.nn.gelu(layer_norm(x, n[2], n[3]) @ p["up"] + p["biases"][0])
    return x + y @ p["down"] + p["biases"][1, :E]
