"""Sums over first axes with many results are made by products on a CPU with several cores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from orchestrator_core.conductor import conduct
from orchestrator_core.conductor.algebra.first_axes import summed_by_products
from orchestrator_core.conductor.cost import Device, on_device
from orchestrator_core.conductor.cost.known_devices import known_device
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read

CORES = replace(known_device("a test's", "cpu"), spread_s=5e-6)
MANY = 40_000


def array(*shape: int, dtype: str = "float32") -> Any:
    return jnp.asarray(np.random.default_rng(7).normal(size=shape), dtype)


def made(
    function: Callable[..., Any], *args: Any, goal: Goal | None = None, device: Device = CORES
) -> tuple[Graph, list[bool]]:
    """The graph as it is rewritten, and which sites are changed."""
    graph = read(jax.make_jaxpr(lambda *a: jax.tree.leaves(function(*a)))(*args))
    with on_device(device):
        graph, sites = summed_by_products(graph, goal or Goal())
    return graph, [site.is_changed for site in sites]


def names(graph: Graph) -> list[str]:
    return [node.name for node in graph.nodes]


CASES: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "a batch": (lambda x: x.sum(0), (3, MANY)),
    "several axes": (lambda x: x.sum((0, 1)), (2, 3, 200, 201)),
    "an axis of one in front": (lambda x: x.sum(1), (1, 3, MANY)),
    "a mean, kept": (lambda x: x.mean(0, keepdims=True), (3, 200, 201)),
    "computed before": (lambda x: jnp.exp(x).sum(0), (3, MANY)),
    "a variance": (lambda x: x.var(0), (3, MANY)),
    "a sum of sums": (lambda x: x.sum(0).sum(0), (2, 3, MANY)),
    "one that others read, too": (lambda x: jnp.exp(x.sum(0)).sum(0) + x.sum((0, 1)), (2, 3, MANY)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_sums_are_the_same(name: str) -> None:
    function, shape = CASES[name]
    x = array(*shape)
    graph, changed = made(function, x)
    assert any(changed)
    assert "dot_general" in names(graph)
    np.testing.assert_allclose(evaluate(graph, [x])[0], function(x), rtol=1e-5, atol=1e-6)


def test_doubles_stay_doubles() -> None:
    with jax.enable_x64(True):
        x = array(5, MANY, dtype="float64")
        graph, changed = made(lambda x: x.sum(0), x)
        assert changed == [True]
        np.testing.assert_allclose(evaluate(graph, [x])[0], np.asarray(x).sum(0), rtol=1e-13)


def test_what_is_no_number_or_infinite_stays_where_it_is() -> None:
    x = array(4, MANY).at[1, 3].set(jnp.nan).at[2, 5].set(jnp.inf).at[3, 5].set(-jnp.inf)
    x = x.at[0, 7].set(jnp.inf)
    graph, _ = made(lambda x: x.sum(0), x)
    found = np.asarray(evaluate(graph, [x])[0])
    assert np.isnan(found[[3, 5]]).all()
    assert np.isposinf(found[7])
    assert np.isfinite(np.delete(found, [3, 5, 7])).all()


LEFT = {
    "few results": (lambda x: x.sum(0), (64, 100)),
    "a last axis": (lambda x: x.sum(1), (MANY, 3)),
    "a middle axis": (lambda x: x.sum(1), (2, 3, MANY)),
    "a maximum": (lambda x: x.max(0), (3, MANY)),
    "whole numbers": (lambda x: x.astype(int).sum(0), (3, MANY)),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left_as_it_is(name: str) -> None:
    function, shape = LEFT[name]
    graph, changed = made(function, array(*shape))
    assert not changed
    assert "dot_general" not in names(graph)


@pytest.mark.parametrize(
    "device", [replace(CORES, spread_s=0.0), known_device("H200", "gpu")], ids=["one core", "gpu"]
)
def test_other_devices_have_no_such_trouble(device: Device) -> None:
    assert made(lambda x: x.sum(0), array(3, MANY), device=device)[1] == []


def test_it_takes_no_memory_where_that_is_what_counts() -> None:
    goal = Goal(objective="memory")
    assert made(lambda x: jnp.exp(x).sum(0), array(3, MANY), goal=goal)[1] == []


def test_sums_in_bodies_of_loops_and_derivatives() -> None:
    def step(c: Any, x: Any) -> Any:
        return c, (c * x).sum(0)

    def loss(c: Any, x: Any) -> Any:
        return (lax.scan(step, c, x)[1] ** 2).sum()

    c, x = array(3, MANY), array(2, 3, MANY)
    with on_device(CORES):
        conducted = conduct(jax.grad(loss))
        found = conducted(c, x)
        explained = str(conducted.explain(c, x))
    np.testing.assert_allclose(found, jax.grad(loss)(c, x), rtol=2e-5, atol=1e-4)
    assert "a product with ones" in explained
