"""Loops of single numbers, without steps, or that return what they are given."""

from __future__ import annotations

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
    lowered_for_gpu,
    run,
)

T = 11


def drawn(*shape: int, seed: int = 0) -> Any:
    return jnp.asarray(np.random.default_rng(seed).uniform(-1, 1, shape), "float32")


def assert_same_in_a_kernel(function: Any, arrays: list[Any]) -> None:
    graph = graph_of(function, arrays)
    made, sites = in_interpreted_kernels(graph)
    assert kernels_of(made), sites
    exact = jax.tree.leaves(function(*arrays))
    found = run(made, arrays)
    assert [each.dtype for each in found] == [each.dtype for each in exact]
    assert_near(found, exact, 1e-6)
    assert lowered_for_gpu(for_gpu(graph)[0], arrays).count(TRITON) == 1


def assert_left_alone(function: Any, arrays: list[Any], reason: str) -> None:
    graph = graph_of(function, arrays)
    made, (site,) = in_interpreted_kernels(graph)
    assert made is graph
    assert site.reason == reason


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_number_is_carried(shape: tuple[int, ...]) -> None:
    def function(x: Any) -> Any:
        return jax.lax.scan(lambda c, e: (c * 0.9 + e, c), jnp.zeros(shape), x)

    assert_same_in_a_kernel(function, [drawn(T)])


def test_a_number_is_carried_past_slices() -> None:
    def function(x: Any) -> Any:
        return jax.lax.scan(lambda c, e: (c * 0.9 + e.sum(), c * e), jnp.zeros(()), x)

    assert_same_in_a_kernel(function, [drawn(T, 16)])


def test_what_is_rounded_to_8_bits_is_rounded_in_each_step() -> None:
    """Some percent of the numbers, which are no noise: the program asks for them."""

    def function(x: Any) -> Any:
        def step(c: Any, e: Any) -> Any:
            few = (c * 0.9 + e).astype("float8_e4m3fn")
            return few.astype("float32"), (few * few).astype("float32")

        return jax.lax.scan(step, jnp.zeros(16), x)

    arrays = [drawn(T, 16)]
    made, sites = in_interpreted_kernels(graph_of(function, arrays))
    assert kernels_of(made), sites
    assert_near(run(made, arrays), jax.tree.leaves(function(*arrays)), 1e-6)


def test_arrays_without_elements() -> None:
    reason = "it has an array without elements"

    def carried(x: Any) -> Any:
        return jax.lax.scan(lambda c, e: (c * 0.9 + e, c), jnp.zeros(0), x)

    def read(x: Any, nothing: Any) -> Any:
        return jax.lax.scan(lambda c, e: (c + e[0], 2 * e[1]), jnp.zeros(16), (x, nothing))

    assert_left_alone(carried, [drawn(T)], reason)
    assert_left_alone(read, [drawn(T), drawn(T, 0)], reason)


def test_what_is_only_returned() -> None:
    def constant(x: Any, k: Any) -> Any:
        return jax.lax.scan(lambda c, e: (c + e, (c, k)), jnp.zeros(16), x)

    def slices(x: Any, y: Any) -> Any:
        return jax.lax.scan(lambda c, e: (e[1], c + e[0]), jnp.zeros(16), (x, y))

    assert_same_in_a_kernel(constant, [drawn(T, 16), drawn(16, seed=1)])
    assert_same_in_a_kernel(slices, [drawn(T, 16), drawn(T, 16, seed=1)])


def test_no_steps() -> None:
    def sliced(x: Any) -> Any:
        return jax.lax.scan(lambda c, e: (c * 2 + e, c), jnp.ones(16), x[:0])

    def without_slices(x: Any) -> Any:
        return jax.lax.scan(lambda c, _: (c * 2, None), x, None, length=0)

    for each in (sliced, without_slices):
        assert_left_alone(each, [drawn(16, 16)], "it has no steps")


def test_truth_values_along_an_axis_whose_size_is_no_power_of_two() -> None:
    def selecting(x: Any) -> Any:
        return jax.lax.scan(lambda c, e: (jnp.where(e, 1.0, c / 2), c), jnp.ones(13), x)

    def carried(x: Any) -> Any:
        return jax.lax.scan(lambda c, e: (c ^ e, c), jnp.ones(13, bool), x)

    for each in (selecting, carried):
        assert_same_in_a_kernel(each, [drawn(T, 13) > 0])
