"""Random arrays, the same on every run."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array


def normal(*shape: int, seed: int = 0, scale: float = 1.0) -> Array:
    drawn = np.random.default_rng(seed).normal(size=shape) * scale
    return jnp.asarray(drawn, "float32")


def uniform(low: float, high: float, *shape: int, seed: int = 0) -> Array:
    return jnp.asarray(np.random.default_rng(seed).uniform(low, high, shape), "float32")


def integers(high: int, *shape: int, seed: int = 0) -> Array:
    return jnp.asarray(np.random.default_rng(seed).integers(0, high, shape), "int32")
