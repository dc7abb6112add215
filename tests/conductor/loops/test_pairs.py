"""Products of all pairs that a scan reads in each step."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from orchestrator_core.conductor import Goal, conduct
from orchestrator_core.conductor.site import Site
from tests.conductor.corpus.case import Case, normal
from tests.conductor.corpus.examine import examined

Array = jax.Array
N, M = 72, 80
ALWAYS = Goal(always=True)


def transport(x: Array, y: Array) -> Array:
    """Sinkhorn's iterations in logarithms (M. Cuturi, 2013)."""
    cost = jnp.sum(x * x, -1)[:, None] + jnp.sum(y * y, -1) - 2 * x @ y.T

    def step(given: Any, _: None) -> tuple[Any, None]:
        _, g = given
        f = -0.5 * jax.nn.logsumexp((g - cost) / 0.5, 1)
        g = -0.5 * jax.nn.logsumexp((f[:, None] - cost) / 0.5, 0)
        return (f, g), None

    zeros = jnp.zeros(x.shape[0]), jnp.zeros(y.shape[0])
    f, g = jax.lax.scan(step, zeros, None, length=4)[0]
    return f.mean() + g.mean()


def sites_of(function: Any, objective: str) -> tuple[list[Site], int]:
    """What was done to loops, and the predicted peak."""
    given = [jax.ShapeDtypeStruct((n, 3), "float32") for n in (1024, 1032)]
    (section,) = conduct(function, objective=objective).explain(*given).sections
    assert section.after is not None
    return [site for site in section.sites if site.rewrite == "loops"], section.after.temp_bytes


def test_they_are_made_by_tiles_in_each_step() -> None:
    given = normal(N, 3), normal(M, 3, seed=1)
    outcome = examined(Case("transport", transport, lambda: given, large=N), "forward", ALWAYS)
    assert outcome.verdict.is_right, outcome.verdict.why
    assert outcome.is_recognised


def test_where_tiles_do_not_gain_they_are_read() -> None:
    (site,) = [each for each in sites_of(transport, "time")[0] if "products" in each.found]
    assert not site.is_changed
    assert "cheaper to read" in site.reason


@pytest.mark.parametrize("function", [transport, jax.value_and_grad(transport)])
def test_less_memory_takes_less_memory(function: Any) -> None:
    """A derivative keeps the states alone, if chunks of all that steps make would be more."""
    assert sites_of(function, "memory")[1] < 0.8 * sites_of(function, "time")[1]
