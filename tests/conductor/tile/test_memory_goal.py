"""A limit of memory caps the tiles."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor import conduct
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.rewriting import rewritten

from .tiling import compiled, flat

Array = jax.Array


def loss(x: Array, y: Array) -> Array:
    """Of all pairs of rows, in one direction and the other."""
    scores = x @ y.T
    both = jax.nn.logsumexp(scores, 0).mean() + jax.nn.logsumexp(scores, 1).mean()
    return both - 2 * jnp.sum(x * y) / x.shape[0]


GIVEN = [jax.ShapeDtypeStruct((2048, 16), "float32")] * 2


def conducted(memory: int | None) -> tuple[Any, dict[str, int]]:
    goal = Goal(memory=memory, allow=frozenset({"tiling"}))
    graph, sites = rewritten(read(jax.make_jaxpr(flat(jax.value_and_grad(loss)))(*GIVEN)), goal)
    (site,) = sites
    return graph, dict(site.settings)


@pytest.mark.parametrize("limit", [pytest.param(2**20, marks=pytest.mark.slow), 2**21])
def test_tiles_are_as_large_as_fits(limit: int) -> None:
    free, capped = conducted(None), conducted(limit)
    assert capped[1]["i"] < free[1]["i"]
    used = compiled(capped[0], GIVEN).memory_analysis().temp_size_in_bytes
    assert used <= limit < compiled(free[0], GIVEN).memory_analysis().temp_size_in_bytes
    arrays = [jnp.asarray(np.random.default_rng(k).normal(size=(2048, 16)), "f4") for k in (0, 1)]
    made = jax.jit(lambda *a: evaluate(capped[0], a))(*arrays)
    for a, b in zip(made, jax.tree.leaves(jax.value_and_grad(loss)(*arrays)), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


def lifted(x: Array, y: Array, given: Array) -> Array:
    """Rows of `y`, weighted by closeness and what is given for pairs."""
    away = jnp.sum((x[:, None] - y[None]) ** 2, -1)
    away = jnp.where(given, away, jnp.inf) if given.dtype == bool else away + given
    return jax.nn.softmax(-away, axis=1) @ y


@pytest.mark.parametrize("dtype", ["float32", "bool"])
@pytest.mark.parametrize("shape", [(1024, 1024), (1100, 1091)])
def test_what_is_given_for_pairs_is_not_kept_in_another_form(
    shape: tuple[int, int], dtype: str
) -> None:
    """Proofs that tiles change nothing kept which elements are NaN, and of sizes that tiles do not
    divide a copy: 6.3 MB, of which nothing was foretold."""
    n, m = shape
    shapes = [((n, 8), "float32"), ((m, 8), "float32"), (shape, dtype)]
    given = [jax.ShapeDtypeStruct(*each) for each in shapes]
    ours = conduct(lifted, objective="memory")
    used = jax.jit(ours).lower(*given).compile().memory_analysis().temp_size_in_bytes
    assert used < n * m * 4 / 8
    foretold = ours.explain(*given).sections[0].after
    assert foretold is not None
    assert used < 1.3 * foretold.temp_bytes


def causal(q: Array, k: Array, v: Array) -> Array:
    seen = jnp.tril(jnp.ones((len(q), len(k)), bool))
    return jax.nn.softmax(jnp.where(seen, q @ k.T / 4, -1e9)) @ v


def test_a_limit_is_met_where_the_smallest_tiles_meet_it_and_else_that_is_said() -> None:
    """What is held beside the passes counts, too: they alone would take less than 100 kB."""
    given = [jax.ShapeDtypeStruct((1024, 16), "float32")] * 3
    foretold = {}
    for limit in (1, 100_000, 1_000_000):
        made = conduct(causal, memory=limit)
        used = made.lower(*given).compile().memory_analysis().temp_size_in_bytes
        said = made.explain(*given)
        (section,) = said.sections
        assert section.after is not None
        foretold[limit] = section.after.temp_bytes
        assert ("the limit is not met" in str(said)) == (foretold[limit] > limit)
        assert used <= 1.3 * foretold[limit]
    least = foretold[1]
    assert 1 < least <= foretold[100_000] <= 100_000 < foretold[1_000_000]
    said = str(conduct(causal, memory=1).explain(*given))
    assert f"should take {least:,} bytes, and may take 1" in said.replace("\n  ", " ")
