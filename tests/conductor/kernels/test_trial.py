"""What kernels gain is timed where there is a GPU, and nothing that is slower is taken."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.kernels import trial as trials
from orchestrator_core.conductor.kernels.trial import difference, trial
from orchestrator_core.conductor.site import AS_IT_IS
from orchestrator_core.conductor.tile.emission import LOOPS
from orchestrator_core.conductor.tile.rewrite import tiled
from orchestrator_core.conductor.tile.settings import TileSettings
from tests.conductor.kernels.interpreting import graph_of

SETTINGS = TileSettings(min_elements=2**10, min_axis=40)


def attention(x: Any) -> Any:
    """With something before it and after it that stays as it is."""
    y, i = jnp.sin(x), jnp.arange(len(x))
    return jnp.cos(weights(y, i) @ y)


def weights(y: Any, i: Any) -> Any:
    return jax.nn.softmax(jnp.where(i[:, None] >= i, y @ y.T, -jnp.inf))


X = jnp.asarray(np.random.default_rng(0).normal(size=(256, 16)), "float32")

LONG: Any = jax.ShapeDtypeStruct((8192, 64), "float32")  # type: ignore[no-untyped-call]


def tiled_with(seconds: tuple[float, float] | None, goal: Goal | None = None) -> list[Any]:
    """The sites, where a trial takes so long."""
    emission = dataclasses.replace(LOOPS, trial=lambda before, after: seconds)
    return tiled(graph_of(attention, [LONG]), goal or Goal(), SETTINGS, emission)[1]


def test_what_takes_longer_when_it_is_timed_stays_as_it_is() -> None:
    site, *others = tiled_with((1.0, 1.1))
    assert {each.chosen for each in (site, *others)} == {AS_IT_IS}
    assert site.reason == "measured: it would take 1.1 s, as it is 1 s"
    assert site.measured == (1.0, 1.1)


@pytest.mark.parametrize("seconds", [(1.0, 0.5), None])
def test_what_is_faster_or_cannot_be_timed_is_taken(seconds: Any) -> None:
    (site,) = tiled_with(seconds)
    assert site.is_changed
    assert site.measured == seconds


def test_for_memory_time_does_not_matter() -> None:
    (site,) = tiled_with((1.0, 9.0), Goal(objective="memory"))
    assert site.is_changed


def test_of_two_graphs_only_what_differs_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    before = graph_of(attention, [X])
    after, _ = tiled(before, Goal(always=True), dataclasses.replace(SETTINGS, always=True))
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
