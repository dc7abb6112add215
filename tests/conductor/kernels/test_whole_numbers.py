"""Whole numbers wrap around inside kernels where they do outside, and only there."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.conductor.kernels.interpreting import (
    TRITON,
    for_gpu,
    graph_of,
    in_interpreted_kernels,
    kernels_of,
    lowered_for_gpu,
    run,
)

T = 11


def drawn(*shape: int, seed: int = 0, dtype: str = "int8") -> Any:
    return jnp.asarray(np.random.default_rng(seed).integers(-100, 100, shape), dtype)


def assert_same_in_a_kernel(function: Any, arrays: list[Any]) -> None:
    made, sites = in_interpreted_kernels(graph_of(function, arrays))
    assert kernels_of(made), sites
    for a, b in zip(run(made, arrays), jax.tree.leaves(function(*arrays)), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def product(a: Any, b: Any, dtype: Any = None) -> Any:
    """Along the last axes, with a result of a type."""
    last = ((a.ndim - 1,), (b.ndim - 1,))
    return jax.lax.dot_general(a, b, (last, ((), ())), preferred_element_type=dtype)


LOOPS: dict[str, tuple[int, Any]] = {
    "a sum": (16, lambda c, x: jnp.sum(c, dtype="int8")),
    "a sum over parts": (300, lambda c, x: jnp.sum(c, dtype="int8")),
    "a sum, widened": (16, lambda c, x: jnp.sum(c, dtype="int8").astype("int32")),
    "a narrow product": (16, jnp.dot),
    "a narrow product over parts": (300, jnp.dot),
    "a wide product": (16, lambda c, x: product(c, x, jnp.int32)),
    "a wide product over parts": (300, lambda c, x: product(c, x, jnp.int32)),
    "a product of real numbers": (16, lambda c, x: product(c, x, jnp.float32)),
}


@pytest.mark.parametrize("name", LOOPS)
def test_in_a_loop(name: str) -> None:
    """Of 300 elements each program has a part, whose sums are added afterwards."""
    size, made_of = LOOPS[name]

    def function(xs: Any) -> Any:
        def step(c: Any, x: Any) -> Any:
            return (c ^ x) + c, made_of(c, x)

        return jax.lax.scan(step, jnp.ones(size, "int8"), xs)[1]

    assert_same_in_a_kernel(function, [drawn(T, size)])


def test_products_of_matrices_that_no_float32_holds() -> None:
    def function(w: Any, xs: Any) -> Any:
        def step(c: Any, x: Any) -> Any:
            return c + 1, (product(w, x) + c) & 255

        return jax.lax.scan(step, jnp.zeros(16, "int32"), xs)[1]

    large = [drawn(*shape, dtype="int32") * 1000 + 1 for shape in ((16, 16), (T, 16, 16))]
    assert_same_in_a_kernel(function, large)


PASSES: dict[str, Any] = {
    "sums within a tile": lambda a, b: (
        jnp.sum(jnp.abs(a[:, None] - b[None]), -1, dtype="int8").astype("int32").min(1)
    ),
    "sums along a row": lambda a, b: jnp.sum(jnp.abs(product(a, b)), 1, dtype="int8"),
    "sums along rows and columns": lambda a, b: [
        jnp.sum(jnp.abs(product(a, b)), axis, dtype="int8") for axis in (0, 1)
    ],
    "narrow products": lambda a, b: product(a, b).astype("int32").max(1),
    "wide products": lambda a, b: product(a, b, jnp.int32).max(1),
}


@pytest.mark.parametrize("name", PASSES)
def test_in_a_pass(name: str) -> None:
    arrays = [drawn(128, 16), drawn(96, 16, seed=1)]
    assert_same_in_a_kernel(PASSES[name], arrays)


def test_wide_products_for_a_gpu() -> None:
    arrays = [drawn(128, 16), drawn(96, 16, seed=1)]
    planned, _ = for_gpu(graph_of(PASSES["wide products"], arrays))
    assert lowered_for_gpu(planned, arrays).count(TRITON) == 1
