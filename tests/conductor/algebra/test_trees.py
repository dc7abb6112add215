"""Running operations become trees of slices where XLA's windows take several times as long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from orchestrator_core.conductor.algebra.trees import as_trees
from orchestrator_core.conductor.cost import Device, on_device
from orchestrator_core.conductor.cost.known_devices import known_device
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.rewriting import rewritten

CPU, GPU = known_device("a test's", "cpu"), known_device("NVIDIA H200", "gpu")
NAMES = ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")


def array(*shape: int, dtype: str = "float32") -> Any:
    return jnp.asarray(np.random.default_rng(5).normal(size=shape), dtype)


def is_tree(
    name: str,
    axis: int,
    is_reverse: bool,
    goal: Goal | None = None,
    device: Device = CPU,
    before: Callable[[Any], Any] = lambda x: x,
) -> bool:
    def function(x: Any) -> Any:
        return getattr(lax, name)(before(x), axis, reverse=is_reverse)

    x = jax.ShapeDtypeStruct((16, 512, 512), np.dtype("float32"))
    graph = read(jax.make_jaxpr(function)(x))
    with on_device(device):
        _, sites = as_trees(graph, goal or Goal())
    return any(site.is_changed for site in sites)


@pytest.mark.parametrize("name", NAMES)
def test_where_they_are_faster(name: str) -> None:
    """Measured: along other axes than the last always, and of `cumlogsumexp`."""
    assert is_tree(name, 1, False)
    assert is_tree(name, 1, True)
    assert is_tree(name, 2, True) == (name == "cumlogsumexp")


def test_where_they_are_not() -> None:
    assert not is_tree("cumsum", 2, True)
    assert not is_tree("cumlogsumexp", 1, False, device=GPU)
    assert not is_tree("cumsum", 1, False, Goal(objective="memory"))


@pytest.mark.parametrize(
    ("before", "names"),
    [
        (lambda x: x @ x.mT, set(NAMES)),
        (lambda x: x * 2 + 1, set(NAMES)),
        (lambda x: jax.nn.softplus(x), {"cumlogsumexp"}),
        (jnp.sin, {"cumlogsumexp"}),
    ],
)
def test_what_loops_make_is_made_again_in_every_level(
    before: Callable[[Any], Any], names: set[str]
) -> None:
    """Measured: by a tree a running sum of 2 x + 1 took a third of the time, one of sines 2.6 times
    as long."""
    assert {name for name in NAMES if is_tree(name, 1, False, before=before)} == names


@pytest.mark.parametrize("is_reverse", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_the_numbers_are_the_same(name: str, is_reverse: bool) -> None:
    """Also where they are none, from there to the end."""

    def function(x: Any) -> Any:
        return getattr(lax, name)(x, 1, reverse=is_reverse)

    x = 1 + array(2, 83, 5) / 9
    x = x.at[0, 40, 0].set(np.nan).at[0, 41, 1].set(np.inf).at[1, 7, 2].set(-np.inf)
    x = x.at[1, :, 3].set(-np.inf)
    with on_device(CPU):
        graph, sites = as_trees(read(jax.make_jaxpr(function)(x)), Goal(always=True))
    assert sites[0].is_changed
    (made,) = jax.jit(lambda x: evaluate(graph, [x]))(x)
    np.testing.assert_allclose(made, jax.jit(function)(x), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("scale", [1, 8])
def test_tiles_are_judged_beside_trees(scale: int) -> None:
    """What trees alone make fast is not done in tiles, in which they take as long or longer."""

    def function(q: Any, k: Any, v: Any) -> Any:
        return jax.nn.softmax(lax.cumlogsumexp(q @ k.mT / scale, axis=2)) @ v

    given = [jax.ShapeDtypeStruct((4, 1024, 64), np.dtype("float32"))] * 3
    graph = read(jax.make_jaxpr(function)(*given))
    with on_device(CPU):
        _, sites = rewritten(graph, Goal(budget_s=60))
        changed = {site.rewrite: site.chosen for site in sites if site.is_changed}
        assert "tiling" not in changed
        assert changed["algebra"] == "a tree of slices"
        _, alone = rewritten(graph, Goal(budget_s=60, allow=frozenset({"tiling"})))
        assert any(site.is_changed for site in alone)
