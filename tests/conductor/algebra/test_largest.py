"""A slice of the largest elements does not make a sort of what finds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from orchestrator_core.conductor import conduct
from orchestrator_core.conductor.algebra.largest import largest_first
from orchestrator_core.conductor.cost import on_device, price
from orchestrator_core.conductor.cost.known_devices import known_device
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read

K = 8


def array(dtype: str = "float32") -> Any:
    return jnp.asarray(np.random.default_rng(3).normal(size=(64, 2048)) * 9, dtype)


def last(x: Any) -> Any:
    return lax.top_k(x, K)[0][:, -1:]


def halves(x: Any) -> Any:
    return jnp.split(lax.top_k(x, K)[0], 2, axis=1)


def last_and_all_places(x: Any) -> Any:
    numbers, places = lax.top_k(x, K)
    return numbers[:, -1], places


def some_and_all(x: Any) -> Any:
    numbers, places = lax.top_k(x, K)
    return numbers[:, : K // 2], places


def first_rows(x: Any) -> Any:
    numbers, places = lax.top_k(x, K)
    return numbers[:2], places[:3]


def first_few(x: Any) -> Any:
    numbers, places = lax.top_k(x, K)
    return numbers[:, :3], places[:, :3]


def all_of_them(x: Any) -> Any:
    return lax.top_k(x, K)


def graph_of(function: Callable[..., Any], x: Any) -> Graph:
    return read(jax.make_jaxpr(lambda x: jax.tree.leaves(function(x)))(x))


def has_sort(function: Callable[..., Any], x: Any) -> bool:
    return " sort(" in jax.jit(function).lower(x).compile().as_text()


SLICED = [last, halves, last_and_all_places, some_and_all, first_rows]
NOT = [first_few, all_of_them]


@pytest.mark.parametrize("function", SLICED + NOT)
def test_nothing_is_sorted_and_all_bits_are_the_same(function: Callable[..., Any]) -> None:
    x = array()
    graph, sites = largest_first(graph_of(function, x), Goal())
    assert [site.is_changed for site in sites] == ([True] if function in SLICED else [])
    assert not has_sort(lambda x: evaluate(graph, [x]), x)
    expected = jax.tree.leaves(jax.jit(function)(x))
    for a, b in zip(expected, jax.jit(lambda x: evaluate(graph, [x]))(x), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("function", SLICED)
def test_what_the_compiler_makes_of_a_slice_is_known(function: Callable[..., Any]) -> None:
    """This test fails when XLA has learned it; then the rewrite can go. JAX 0.11 has, of the last
    element, and sorts for the others."""
    x = array()
    assert has_sort(function, x) or jax.__version_info__ >= (0, 11)
    graph = graph_of(function, x)
    better, _ = largest_first(graph, Goal())
    assert price(graph).seconds > 10 * price(better).seconds


@pytest.mark.parametrize("function", NOT)
def test_what_is_no_sort_is_left(function: Callable[..., Any]) -> None:
    x = array()
    assert not has_sort(function, x)
    assert not largest_first(graph_of(function, x), Goal())[1]


@pytest.mark.parametrize("dtype", ["bfloat16", "int32"])
def test_other_types_are_sorted_anyway(dtype: str) -> None:
    x = array(dtype)
    assert has_sort(all_of_them, x)
    assert not largest_first(graph_of(last, x), Goal())[1]


def test_other_devices_are_left_alone() -> None:
    with on_device(known_device("NVIDIA H100 80GB HBM3", "gpu")):
        assert not largest_first(graph_of(last, array()), Goal())[1]


def test_in_a_loop_and_told() -> None:
    x = array()

    def function(x: Any) -> Any:
        def step(x: Any, _: None) -> tuple[Any, None]:
            return jnp.where(x >= last(x), x * 0.5, x), None

        return lax.scan(step, x, None, length=3)[0]

    made = conduct(function)
    np.testing.assert_array_equal(jax.jit(function)(x), made(x))
    assert "for which XLA sorts all" in str(made.explain(x))
