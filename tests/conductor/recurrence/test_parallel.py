"""Affine recurrences as parallel scans, as accelerators want them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from orchestrator_core.conductor import Goal, _jax
from orchestrator_core.conductor.cost import on_device
from orchestrator_core.conductor.cost.known_devices import known_device
from orchestrator_core.conductor.facts.recurrent import systems_of
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.recurrence.parallel import in_parallel, is_parallel
from tests.conductor.corpus.recurrences import AFFINE
from tests.conductor.recurrence.judged import errors, normal, rewritten, run

NAMES = [
    *("mamba", "lru", "rotation_as_two_real_carries", "damped_oscillator", "adam_moments"),
    *("normalised_linear_attention", "generalised_advantages", "held_samples", "differences"),
]


def parallel(function: Any, arrays: list[Any]) -> Any:
    """The function with its first loop as parallel scans."""
    graph = read(_jax.trace(lambda *a: jax.tree.leaves(function(*a)), arrays))
    node = next(node for node in graph.nodes if node.name == "scan")
    systems = systems_of(Scan.of(node))
    assert is_parallel(Scan.of(node), systems)
    graph = in_parallel(graph, node, systems)
    return lambda *a: evaluate(graph, a)


@pytest.mark.parametrize("name", NAMES)
def test_values(name: str) -> None:
    case = next(each for each in AFFINE if each.name == name)
    arrays = normal(*case.shapes)
    assert max(errors(case.function, run(parallel(case.function, arrays), arrays), arrays)) < 2e-5


def decays(a: Any, b: Any) -> Any:
    return lax.scan(lambda h, now: (now[0] * h + now[1],) * 2, jnp.zeros(2), (a, b))[1]


def test_products_that_the_loop_never_makes_may_overflow() -> None:
    a, b = jnp.full((16, 2), 1e20), jnp.zeros((16, 2))
    assert max(errors(decays, run(parallel(decays, [a, b]), [a, b]), [a, b])) == 0


def test_nan_spoils_only_what_comes_after() -> None:
    a, b = normal((16, 2), (16, 2))
    b = b.at[7, 1].set(jnp.nan)
    made = run(parallel(decays, [a, b]), [a, b])[0]
    assert jnp.array_equal(jnp.isnan(made), jnp.isnan(decays(a, b)))


H200 = known_device("NVIDIA H200", "gpu")
ALONE = Goal(allow=frozenset({"recurrence"}))
"""Without kernels, which would take such loops for themselves."""


def test_the_device_chooses() -> None:
    arrays = [x / 2 for x in normal((400, 2), (400, 2))]
    with on_device(H200):
        function, (site,), _ = rewritten(decays, arrays, ALONE)
        _, (strict,), _ = rewritten(decays, arrays, Goal(precision="strict"))
    assert site.chosen == "parallel scans"
    assert max(errors(decays, run(function, arrays), arrays)) < 1e-6
    assert not strict.is_changed
