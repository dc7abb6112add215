"""A pinned plan brings the sizes of tiles back, and what it leaves alone stays as it was."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor import Goal, conduct
from orchestrator_core.conductor.site import AS_IT_IS

Q, K, V = jnp.asarray(np.random.default_rng(0).normal(size=(3, 128, 8)), "float32")
GOAL = Goal(always=True, allow=frozenset({"tiling"}))


def attention(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    return jax.nn.softmax(q @ k.T, -1) @ v


@pytest.fixture(scope="module")
def plan() -> dict[str, Any]:
    made = conduct(attention, GOAL)
    made.explain(Q, K, V)
    return made.plan


def sites(plan: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = plan["programs"][0]["sites"]
    return found


def pinned(plan: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The plan with another decision at its only site."""
    (site,) = sites(plan)
    return {**plan, "programs": [{**plan["programs"][0], "sites": [{**site, **changes}]}]}


def test_the_sizes_of_the_plan_are_taken(plan: dict[str, Any]) -> None:
    again = conduct(attention, GOAL, plan=pinned(plan, settings={"i": 64, "j": 64}))
    np.testing.assert_allclose(again(Q, K, V), attention(Q, K, V), rtol=1e-5, atol=1e-6)
    (site,) = sites(again.plan)
    assert "64 x 64 tiles" in site["chosen"]
    assert "64 x 64 tiles" not in sites(plan)[0]["chosen"]


def test_a_region_that_was_left_is_left(plan: dict[str, Any]) -> None:
    again = conduct(attention, GOAL, plan=pinned(plan, chosen=AS_IT_IS, reason="nobody wants it"))
    np.testing.assert_array_equal(again(Q, K, V), jax.jit(attention)(Q, K, V))
    (site,) = sites(again.plan)
    assert (site["chosen"], site["reason"]) == (AS_IT_IS, "nobody wants it")
