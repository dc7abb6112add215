"""What a tile has of points is an array of its own, not a slice within each kernel."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from orchestrator_core.conductor import conduct

DRAWN = np.random.default_rng(0)


def overlap(a: Array, b: Array) -> Array:
    """Areas of what boxes at these places share: a product of two coordinates."""
    sides = jnp.clip(1.0 - jnp.abs(a[:, None] - b[None]), 0.0)
    shared = sides[..., 0] * sides[..., 1]
    return (shared / (2.0 - shared)).sum()


def points(count: int, coordinates: int) -> Array:
    return jnp.asarray(DRAWN.random((count, coordinates)) * 3.0, jnp.float32)


def cut_within_kernels(text: str) -> list[str]:
    """Kernels of compiled code that cut vectors of two numbers, and make more than these."""
    kernels = re.findall(r"^%fused\S* \(.*?^\}", text, re.MULTILINE | re.DOTALL)
    return [
        kernel
        for kernel in kernels
        if re.search(r"f32\[\d+,2\]\S* dynamic-slice\(", kernel)
        and re.search(r"f32\[\d+,\d+(,2)?\]\S* (multiply|subtract)\(", kernel)
    ]


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="what XLA makes of it on a CPU")
def test_no_kernel_of_a_tile_cuts_points() -> None:
    conducted = conduct(jax.grad(overlap, argnums=(0, 1)), objective="memory")
    given = points(1100, 2), points(1300, 2)
    compiled = jax.jit(conducted).lower(*given).compile()
    text = compiled.as_text() or ""
    assert "while(" in text, "it is in tiles"
    assert "dynamic-slice(" in text
    assert cut_within_kernels(text) == []
    for ours, plain in zip(compiled(*given), jax.grad(overlap, (0, 1))(*given), strict=True):
        np.testing.assert_allclose(ours, plain, rtol=2e-4, atol=1e-4)


@pytest.mark.parametrize("sizes", [(300, 1300), (1100, 128)])
@pytest.mark.parametrize("coordinates", [1, 3, 8])
def test_the_numbers_are_the_same(sizes: tuple[int, int], coordinates: int) -> None:
    """Also where a loop has one step, or a rest, and where points have one coordinate or many."""

    def near(a: Array, b: Array) -> Array:
        apart = a[:, None] - b[None]
        return jnp.exp(-(jnp.prod(apart, -1) ** 2) - (apart**2).sum(-1)).sum()

    given = points(sizes[0], coordinates), points(sizes[1], coordinates)
    conducted = conduct(jax.grad(near, argnums=(0, 1)), objective="memory")
    pairs = zip(conducted(*given), jax.grad(near, (0, 1))(*given), strict=True)
    for ours, plain in pairs:
        np.testing.assert_allclose(ours, plain, rtol=2e-4, atol=2e-5)
