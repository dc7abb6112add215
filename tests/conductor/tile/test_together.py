"""Regions that lower the peak of memory only together are tiled together."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.rewriting import rewritten
from orchestrator_core.conductor.tile.together import Kind, Waiting, lower_together

from .tiling import assert_same, compiled, flat

Array = jax.Array
POINTS, CENTRES = 8192, 1024


def step(x: Array, centres: Array) -> Array:
    """Of Lloyd's k-means: all distances, and then who belongs to whom."""
    apart = (x**2).sum(1)[:, None] - 2 * x @ centres.T + (centres**2).sum(1)
    one = jax.nn.one_hot(apart.argmin(1), CENTRES)
    return one.T @ x / jnp.maximum(one.sum(0), 1)[:, None]


@pytest.mark.parametrize("goal", [{"objective": "memory"}, {"memory": 2**20}])
def test_neither_alone_but_both(goal: dict[str, object]) -> None:
    random = np.random.default_rng(2)
    x = jnp.asarray(random.normal(size=(POINTS, 16)), "float32")
    given = [x, x[:CENTRES] + 0.1]
    plain = jax.jit(flat(step)).lower(*given).compile()
    graph, sites = rewritten(
        read(jax.make_jaxpr(flat(step))(*given)),
        Goal(allow=frozenset({"tiling"}), **goal),  # type: ignore[arg-type]
    )
    assert [site.is_changed for site in sites] == [True, True]
    made = compiled(graph, given)
    used, before = (each.memory_analysis().temp_size_in_bytes for each in (made, plain))
    assert used * 20 < before
    assert_same(plain(*given), made(*given), 1e-6)


def test_none_in_vain() -> None:
    """Of three peaks alike two can go, and something lower as well."""
    kinds: list[Kind] = [[Waiting(None, at, at)] for at in range(3)]  # type: ignore[arg-type]
    peaks = {0: 9, 1: 9, 2: 5}

    def temp_bytes(chosen: Sequence[Kind]) -> int:
        left = peaks.keys() - {kind[0].at for kind in chosen}
        return max((peaks[at] for at in left), default=3)

    assert lower_together(kinds, temp_bytes, 9) == kinds
    assert lower_together(kinds, lambda chosen: max(temp_bytes(chosen), 5), 9) == kinds[:2]
    assert lower_together(kinds, lambda chosen: 9, 9) == []
    assert lower_together(kinds, lambda chosen: 8 + len(chosen), 9) == []
