"""What kernels gain is timed where there is a GPU, and nothing that is slower is taken."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.goal import Goal
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
