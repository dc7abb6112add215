"""A bottleneck unit with group norm and standardised convolutions (Kolesnikov and others,
arXiv 1912.11370). Images [B, Y, X, C]."""

from __future__ import annotations

from typing import Any

import jax
from jax import Array

from tests.models.parts import Weights

C, GROUPS = 16, 4


def parameters(seed: int = 0) -> dict[str, Any]:
    w = Weights(seed)
    kernels = [w(1, 1, C, C // 4), w(3, 3, C // 4, C // 4), w(1, 1, C // 4, C)]
    return {"kernels": kernels, "scales": 1 + 0.1 * w(2, C)}


def convolved(x: Array, kernel: Array) -> Array:
    kernel = kernel - kernel.mean((0, 1, 2))
    kernel = kernel / (kernel.std((0, 1, 2)) + 1e-5)
    return jax.lax.conv_general_dilated(
        x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def group_norm(x: Array) -> Array:
    y = x.reshape(*x.shape[:3], GROUPS, -1)
    y = (y - y.mean((1, 2, 4), keepdims=True)) / (y.var((1, 2, 4), keepdims=True) + 1e-6) ** 0.5
    return y.reshape(x.shape)


def forward(p: dict[str, Any], x: Array) -> Array:
    y = x
    for kernel in p["kernels"]:
        y = jax.nn.relu(group_norm(convolved(y, kernel)))
    return jax.nn.relu(x * p["scales"][0] + y * p["scales"][1])
