"""Affine recurrences run on all blocks of steps at once, with the values of the loop."""

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
from orchestrator_core.conductor.recurrence.blocks import in_blocks, is_for_blocks
from tests.conductor.corpus.recurrences import AFFINE
from tests.conductor.recurrence.judged import errors, normal, rewritten, run

H200 = known_device("NVIDIA H200", "gpu")
ALONE = Goal(allow=frozenset({"recurrence"}))
"""Without kernels, which would take such loops for themselves."""

NAMES = [
    *("mamba", "rotation_as_two_real_carries", "normalised_linear_attention", "lru"),
    *("generalised_advantages", "dense_state_space", "dense_rows", "window_as_a_delay_line"),
    *("differences", "damped_oscillator", "delta_net"),
]


def loop_of(function: Any, arrays: list[Any]) -> tuple[Any, Any, Any]:
    graph = read(_jax.trace(lambda *a: jax.tree.leaves(function(*a)), arrays))
    node = next(node for node in graph.nodes if node.name == "scan")
    return graph, node, systems_of(Scan.of(node))


def blocked(function: Any, arrays: list[Any]) -> Any:
    """The function with its first loop in blocks."""
    graph, node, systems = loop_of(function, arrays)
    assert is_for_blocks(Scan.of(node), systems)
    graph = in_blocks(graph, node, systems)
    return lambda *a: evaluate(graph, a)


@pytest.mark.parametrize("name", NAMES)
def test_values(name: str) -> None:
    case = next(each for each in AFFINE if each.name == name)
    arrays = normal(*case.shapes)
    made = run(blocked(case.function, arrays), arrays)
    assert max(errors(case.function, made, arrays)) < 1e-6


def step(h: Any, now: Any) -> Any:
    h = now[0] * h + now[1]
    return h, h**2


@pytest.mark.parametrize(("length", "reverse"), [(64, False), (67, False), (67, True)])
def test_blocks_and_what_is_left_over(length: int, reverse: bool) -> None:
    def function(a: Any, b: Any, c: Any) -> Any:
        return lax.scan(step, c, (jnp.tanh(a), b), reverse=reverse)

    arrays = normal((length, 3), (length, 3), (3,))
    assert max(errors(function, run(blocked(function, arrays), arrays), arrays)) < 1e-6


def test_what_moves_a_carry_may_be_carried_too() -> None:
    """As the running mean and variance of B. P. Welford, which are moved by a count."""

    def moments(x: Any) -> Any:
        def step(carry: Any, now: Any) -> Any:
            count, mean, squares = carry
            count, off = count + 1, now - mean
            mean = mean + off / count
            return (count, mean, squares + off * (now - mean)), (mean, squares)

        return lax.scan(step, (jnp.zeros((), x.dtype), 0 * x[0], 0 * x[0]), x)[1]

    arrays = normal((67, 3))
    assert max(errors(moments, run(blocked(moments, arrays), arrays), arrays)) < 1e-6


def test_a_product_that_overflows_leaves_the_loop_as_it_was() -> None:
    def function(a: Any, b: Any) -> Any:
        return lax.scan(step, jnp.zeros(2), (a, b))

    arrays = [jnp.full((64, 2), 1e20), jnp.zeros((64, 2))]
    assert max(errors(function, run(blocked(function, arrays), arrays), arrays)) == 0


@pytest.mark.parametrize("name", ["hmm_forward", "viterbi"])
def test_what_is_not_moved_by_a_matrix_is_left_alone(name: str) -> None:
    case = next(each for each in AFFINE if each.name == name)
    _, node, systems = loop_of(case.function, normal(*case.shapes))
    assert not is_for_blocks(Scan.of(node), systems)


def dense(x: Any, a: Any) -> Any:
    return lax.scan(lambda h, x: (0.05 * a @ h + x,) * 2, jnp.zeros(a.shape[0]), x)[1]


def test_a_loop_that_only_hands_on_what_it_is_given() -> None:
    """It has not one operation."""

    def swapped(a: Any, b: Any) -> Any:
        return lax.scan(lambda c, _: (c[::-1], c[0]), (a, b), length=97)

    arrays = normal((5,), (5,))
    _, (site,), _ = rewritten(swapped, arrays, Goal())
    assert site.reason == "a plain loop is the form of choice"
    function, (site,), _ = rewritten(swapped, arrays)
    assert site.settings == {"form": "blocks"}
    assert max(errors(swapped, run(function, arrays), arrays)) == 0


def test_a_device_that_a_step_leaves_idle_takes_them_and_a_plan_pins_them() -> None:
    arrays = normal((600, 70), (70, 70))
    with on_device(H200):
        function, (site,), _ = rewritten(dense, arrays, ALONE)
        assert site.settings == {"form": "blocks"}
        assert site.before is not None
        assert site.after is not None
        assert site.before.seconds > 2 * site.after.seconds
    assert max(errors(dense, run(function, arrays), arrays)) < 1e-6
    _, (alone,), _ = rewritten(dense, arrays, ALONE)
    assert alone.settings.get("form") != "blocks"
