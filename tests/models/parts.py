"""What the models share."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array


class Weights:
    """Small random float32 weights, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def __call__(self, *shape: int) -> np.ndarray:
        """Normal, of the variance that keeps the size of what is multiplied."""
        fan_in = shape[-2] if len(shape) > 1 else 1
        return (self._random.normal(size=shape) / np.sqrt(fan_in)).astype(np.float32)


def layer_norm(x: Array, scale: Array, shift: Array) -> Array:
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale + shift


def rms_norm(x: Array, scale: Array) -> Array:
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale


def cross_entropy(logits: Array, labels: Array) -> Array:
    """Of logits [..., V] and labels [...]."""
    picked = jnp.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]
    return (jax.nn.logsumexp(logits, axis=-1) - picked).mean()
