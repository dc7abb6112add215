"""Attention as kernels: by the interpreter equal to NumPy in float64, and lowered for a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.conductor.kernels.interpreting import (
    TRITON,
    assert_near,
    for_gpu,
    graph_of,
    in_interpreted_kernels,
    kernels_of,
    launched,
    lowered_for_gpu,
    run,
)

S, T, D = 72, 88, 24
"""Neither are multiples of a tile, nor is the last a power of two."""

Scores = Callable[[Any, Any, Any, Any], Any]
"""Of scores, positions of queries and keys, and the space (NumPy or JAX): what is exponentiated."""


def _slopes(heads: int) -> Any:
    return np.asarray([2.0 ** -(k + 1) for k in range(heads)], "float32")[:, None, None]


DOCUMENTS = np.repeat(np.arange(4, dtype="int32"), T // 4)

VARIANTS: dict[str, Scores] = {
    "plain": lambda s, i, j, x: s,
    "causal": lambda s, i, j, x: x.where(i >= j, s, -x.inf),
    "window": lambda s, i, j, x: x.where((i >= j) & (i - j < 20), s, -1e30),
    "soft-capped": lambda s, i, j, x: x.where(i >= j, 5 * x.tanh(s / 5), -1e9),
    "with distances": lambda s, i, j, x: x.where(i >= j, s - _slopes(2) * (i - j)[None], -x.inf),
    "of documents": lambda s, i, j, x: x.where(
        x.asarray(DOCUMENTS)[:S, None] == x.asarray(DOCUMENTS)[None], s, -x.inf
    ),
}


def attention(scores: Scores, q: Any, k: Any, v: Any, x: Any) -> Any:
    """(h, s, d) queries and (h, t, d) keys and values."""
    i, j = np.arange(q.shape[1])[:, None], np.arange(k.shape[1])[None, :]
    i, j = (i, j) if x is np else (jnp.asarray(i), jnp.asarray(j))
    s = scores(x.einsum("hid,hjd->hij", q, k) / np.sqrt(np.float32(D)), i, j, x)
    p = x.exp(s - s.max(-1, keepdims=True))
    return x.einsum("hij,hjd->hid", p / p.sum(-1, keepdims=True), v)


def arguments(dtype: str = "float32") -> list[Any]:
    r = np.random.default_rng(0)
    shapes = [(2, S, D), (2, T, D), (2, T, D)]
    return [jnp.asarray(r.normal(size=shape), dtype) for shape in shapes]


def exactly(scores: Scores, arrays: list[Any]) -> Any:
    return attention(scores, *(np.asarray(a, "float64") for a in arrays), np)


@pytest.mark.parametrize("name", VARIANTS)
def test_forward(name: str) -> None:
    def function(q: Any, k: Any, v: Any) -> Any:
        return attention(VARIANTS[name], q, k, v, jnp)

    arrays = arguments()
    graph = graph_of(function, arrays)
    made, _ = in_interpreted_kernels(graph)
    assert len(kernels_of(made)) == 1
    assert_near(run(made, arrays), [exactly(VARIANTS[name], arrays)], 2e-6)
    planned, _ = for_gpu(graph)
    text = lowered_for_gpu(planned, arrays)
    assert text.count(TRITON) == launched(planned)
    assert f"{S}x{T}xf32" not in text


def test_numbers_of_16_bits_are_summed_in_32() -> None:
    def function(q: Any, k: Any, v: Any) -> Any:
        return attention(VARIANTS["causal"], q, k, v, jnp)

    arrays = arguments("bfloat16")
    graph = graph_of(function, arrays)
    made, _ = in_interpreted_kernels(graph)
    assert_near(run(made, arrays), [exactly(VARIANTS["causal"], arrays)], 1.2e-2)
    assert TRITON in lowered_for_gpu(for_gpu(graph)[0], arrays)


def test_positions_of_a_type_that_cannot_count_so_far_are_rounded() -> None:
    def function(q: Any, k: Any, v: Any) -> Any:
        i = jnp.arange(n, dtype=jnp.bfloat16)
        s = jnp.where(i[:, None] >= i, jnp.einsum("hid,hjd->hij", q, k), -jnp.inf)
        return jnp.einsum("hij,hjd->hid", jax.nn.softmax(s), v)

    r, n = np.random.default_rng(2), 300
    arrays = [jnp.asarray(r.normal(size=(1, n, D)), "float32") for _ in range(3)]
    made, _ = in_interpreted_kernels(graph_of(function, arrays))
    assert len(kernels_of(made)) == 1
    assert_near(run(made, arrays), [function(*arrays)], 5e-6)
    assert TRITON in lowered_for_gpu(for_gpu(graph_of(function, arrays))[0], arrays)


def _loss(scores: Scores) -> Callable[..., Any]:
    return lambda q, k, v: jnp.sum(jnp.sin(attention(scores, q, k, v, jnp)))


def gradients(scores: Scores, arrays: list[Any]) -> Any:
    with jax.enable_x64(True):
        wide = [jnp.asarray(np.asarray(a, "float64")) for a in arrays]
        return [np.asarray(g) for g in jax.jit(jax.grad(_loss(scores), (0, 1, 2)))(*wide)]


@pytest.mark.parametrize(
    "name", ["soft-capped", pytest.param("of documents", marks=pytest.mark.slow)]
)
def test_gradients(name: str) -> None:
    """Row sums and column sums are kernels of their own."""
    arrays = arguments()
    graph = graph_of(jax.grad(_loss(VARIANTS[name]), (0, 1, 2)), arrays)
    made, _ = in_interpreted_kernels(graph)
    assert_near(run(made, arrays), gradients(VARIANTS[name], arrays), 5e-6)
    planned, _ = for_gpu(graph)
    kernels = [each for node in kernels_of(planned) for each in node.params["program"].kernels]
    assert {kernel.side.outer for kernel in kernels} == {"i", "j"}
    text = lowered_for_gpu(planned, arrays)
    assert text.count(TRITON) == launched(planned)
    assert f"{S}x{T}xf32" not in text


def test_keys_shared_by_groups_of_heads() -> None:
    def function(q: Any, k: Any, v: Any) -> Any:
        shared = (jnp.repeat(each, 2, axis=0) for each in (k, v))
        return attention(VARIANTS["causal"], q, *shared, jnp)

    r = np.random.default_rng(1)
    arrays = [jnp.asarray(r.normal(size=(n, T, D)), "float32") for n in (4, 2, 2)]
    made, _ = in_interpreted_kernels(graph_of(function, arrays))
    q, k, v = arrays
    exact = exactly(VARIANTS["causal"], [q, jnp.repeat(k, 2, 0), jnp.repeat(v, 2, 0)])
    assert_near(run(made, arrays), [exact], 2e-6)


def test_nothing_is_left_out_that_is_not_a_number_or_not_masked() -> None:
    """A row without a key, and NaN behind the mask, as the original has them."""

    def function(q: Any, k: Any, v: Any) -> Any:
        return attention(lambda s, i, j, x: x.where(i > j, s, -1e30), q, k, v, jnp)

    q, k, v = arguments()
    v = v.at[0, T - 1, 3].set(jnp.nan)
    made, _ = in_interpreted_kernels(graph_of(function, [q, k, v]))
    (found,) = run(made, [q, k, v])
    expected = function(q, k, v)
    assert_near([found], [expected], 5e-6)
    assert np.isnan(np.asarray(expected)[0, :, 3]).all()
