"""Loops over arrays of points with few coordinates take longer than their operations."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import pytest

from orchestrator_core.conductor.cost import seconds
from orchestrator_core.conductor.cost.known_devices import known_device
from orchestrator_core.conductor.cost.short_rows import EACH
from orchestrator_core.conductor.ir.read import read

CPU = replace(known_device("a test's", "cpu"), loop_rate=40e9)


def priced(device: object, features: int) -> float:
    points = jax.ShapeDtypeStruct((200, features), "float32")
    graph = read(jax.make_jaxpr(lambda x, y: [jnp.sin(x)[:, None] - y[None]])(points, points))
    return seconds(graph, device)  # type: ignore[arg-type]


@pytest.mark.parametrize(("features", "is_short"), [(1, False), (2, True), (7, True), (8, False)])
def test_elements_of_short_rows_are_dear(features: int, is_short: bool) -> None:
    """0.35 ns for each; the differences of 200 points cost nothing else that matters."""
    dear = EACH * 200 * 200 * features / CPU.loop_rate
    assert (priced(CPU, features) > dear) == is_short


def test_a_gpu_does_not_care() -> None:
    gpu = known_device("NVIDIA H200", "gpu")
    assert priced(gpu, 7) == pytest.approx(priced(gpu, 8), rel=0.2)
