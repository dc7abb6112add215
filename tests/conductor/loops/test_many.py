"""Choosing takes no longer than there is to choose from."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from orchestrator_core.conductor.cost import fusion
from orchestrator_core.conductor.cost.flow import Flow
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.loops.rewrite import loops

LAYERS = 17
"""Each of them is two scans under a gradient."""


def net(weights: jax.Array, given: jax.Array, carry: jax.Array) -> jax.Array:
    for each in weights:

        def step(c: jax.Array, e: jax.Array, each: jax.Array = each) -> tuple[jax.Array, None]:
            return 2 * (jnp.tanh(c @ each) + e), None

        carry, _ = jax.lax.scan(step, carry, given)
    return carry.sum()


def test_no_graph_is_looked_at_twice_however_many_scans_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Graph] = []

    class Watched(Flow):
        def __init__(self, graph: Graph, platform: str) -> None:
            seen.append(graph)
            super().__init__(graph, platform)

    monkeypatch.setattr(fusion, "Flow", Watched)
    step: Any = jax.value_and_grad(net)
    shapes = (LAYERS, 4, 4), (3, 2, 4), (2, 4)
    loops(read(jax.make_jaxpr(step)(*map(jnp.ones, shapes))), Goal())
    assert len(seen) >= 2 * LAYERS, "the bodies"
    assert len(seen) == len(set(map(id, seen)))
