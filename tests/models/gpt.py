"""GPT-2 (Radford and others, 2019): causal attention and a feed-forward half, both pre-normed.

Tokens [B, S] to logits [B, S, V]; the layers one after the other, or in a scan.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from tests.models.parts import Weights, cross_entropy, layer_norm

S, E, H, V, LAYERS = 72, 16, 2, 40, 2


def parameters(seed: int = 0) -> dict[str, Any]:
    w = Weights(seed)
    layers = {
        "norms": 1 + 0.1 * w(LAYERS, 4, E),
        "qkv": w(LAYERS, E, 3 * E),
        "out": w(LAYERS, E, E),
        "up": w(LAYERS, E, 4 * E),
        "down": w(LAYERS, 4 * E, E),
    }
    return {"words": w(V, E), "places": w(S, E), "layers": layers, "norm": 1 + 0.1 * w(2, E)}


def block(x: Array, layer: dict[str, Array]) -> Array:
    n = layer["norms"]
    x = x + attention(layer_norm(x, n[0], n[1]), layer)
    return x + jax.nn.gelu(layer_norm(x, n[2], n[3]) @ layer["up"]) @ layer["down"]


def attention(x: Array, layer: dict[str, Array]) -> Array:
    b, s, _ = x.shape
    q, k, v = (each.reshape(b, s, H, -1) for each in jnp.split(x @ layer["qkv"], 3, axis=-1))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(jnp.asarray(E // H, x.dtype))
    scores = jnp.where(jnp.tril(jnp.ones((s, s), bool)), scores, jnp.finfo(x.dtype).min)
    mean = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)
    return mean.reshape(b, s, E) @ layer["out"]


def unrolled(p: dict[str, Any], tokens: Array) -> Array:
    x = p["words"][tokens] + p["places"]
    for n in range(LAYERS):
        x = block(x, jax.tree.map(lambda each, n=n: each[n], p["layers"]))
    return layer_norm(x, *p["norm"]) @ p["words"].T


def scanned(p: dict[str, Any], tokens: Array) -> Array:
    x = p["words"][tokens] + p["places"]
    x, _ = jax.lax.scan(lambda x, layer: (block(x, layer), None), x, p["layers"])
    return layer_norm(x, *p["norm"]) @ p["words"].T


def train_step(p: dict[str, Any], tokens: Array, labels: Array) -> tuple[Array, Any]:
    """Of stochastic gradient descent: the loss, and better parameters."""
    value, grads = jax.value_and_grad(lambda p: cross_entropy(unrolled(p, tokens), labels))(p)
    return value, jax.tree.map(lambda each, grad: each - 0.1 * grad, p, grads)


def scanned_train_step(p: dict[str, Any], tokens: Array, labels: Array) -> tuple[Array, Any]:
    value, grads = jax.value_and_grad(lambda p: cross_entropy(scanned(p, tokens), labels))(p)
    return value, jax.tree.map(lambda each, grad: each - 0.1 * grad, p, grads)
