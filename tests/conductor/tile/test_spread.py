"""Weights of pairs are spread over coordinates by loops where a library would store rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.cost import on_device, price
from orchestrator_core.conductor.cost.known_devices import known_device
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.tile.spread import spread_by_loops

CPU, GPU = known_device("a test's", "cpu"), known_device("NVIDIA H200", "gpu")


def weighted_signs(x: Any, y: Any) -> Any:
    moved = x[:, None] - y
    weights = jnp.exp(-jnp.abs(moved).sum(-1))[..., None]
    return jnp.where(moved > 0, weights, -1).sum(0)


def centred(x: Any, y: Any) -> Any:
    moved = jnp.abs(x[:, None] - y)
    return (moved - moved.mean(-1, keepdims=True)).sum(0)


def points() -> list[Any]:
    rng = np.random.default_rng(3)
    x, y = (jnp.asarray(rng.normal(size=(n, 3)), "float32") for n in (40, 50))
    return [x.at[7, 1].set(np.nan).at[9, 0].set(np.inf), y]


@pytest.mark.parametrize(
    ("function", "device", "is_spread"),
    [(weighted_signs, CPU, True), (weighted_signs, GPU, False), (centred, CPU, False)],
)
def test_only_where_a_library_would_do_it_for_a_loop(
    function: Callable[..., Any], device: Any, is_spread: bool
) -> None:
    graph = read(jax.make_jaxpr(function)(*points()))
    with on_device(device):
        made = spread_by_loops(graph, lambda each: each.size >= 2000)
        small = spread_by_loops(graph, lambda each: each.size >= 2001)
    assert (made is not graph) is is_spread
    assert small is graph
    np.testing.assert_array_equal(evaluate(made, points()), evaluate(graph, points()))


def test_a_library_stores_row_by_row() -> None:
    graph = read(jax.make_jaxpr(weighted_signs)(*(jax.ShapeDtypeStruct((512, 3), "float32"),) * 2))
    with on_device(CPU):
        before = price(graph)
        after = price(spread_by_loops(graph, lambda each: each.size >= 2000))
    assert after.seconds < 0.6 * before.seconds
    assert after.temp_bytes < before.temp_bytes
