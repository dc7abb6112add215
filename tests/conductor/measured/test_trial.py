"""Of two graphs of the same function what differs is timed, as it is in both."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.measured import trial as trials
from orchestrator_core.conductor.measured.difference import difference
from orchestrator_core.conductor.measured.trial import trial
from orchestrator_core.conductor.tile.rewrite import tiled
from orchestrator_core.conductor.tile.settings import TileSettings
from tests.conductor.kernels.interpreting import graph_of

SETTINGS = TileSettings(min_elements=2**10, min_axis=40, always=True)

X = jnp.asarray(np.random.default_rng(0).normal(size=(256, 16)), "float32")


def attention(x: Any) -> Any:
    """With something before it and after it that stays as it is."""
    y, i = jnp.sin(x), jnp.arange(len(x))
    weights = jax.nn.softmax(jnp.where(i[:, None] >= i, y @ y.T, -jnp.inf))
    return jnp.cos(weights @ y)


def test_of_two_graphs_only_what_differs_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    before = graph_of(attention, [X])
    after, _ = tiled(before, Goal(always=True), SETTINGS)
    was, now = difference(before, after)
    assert "sin" not in {node.name for part in (was, now) for node in part.nodes}
    assert was.outputs == now.outputs
    for part in (was, now):
        given = evaluate(dataclasses.replace(before, outputs=part.inputs), [X])
        wanted = evaluate(dataclasses.replace(before, outputs=part.outputs), [X])
        for found, exact in zip(evaluate(part, given), wanted, strict=True):
            np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-5)
    assert trial(before, after) is None
    monkeypatch.setattr(trials, "has_gpu", lambda: True)
    found = trial(before, after)
    assert found is not None
    assert min(found) > 0
