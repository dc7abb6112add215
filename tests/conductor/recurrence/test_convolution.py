"""Time-invariant recurrences as convolutions, and where the loop is left to do it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from orchestrator_core.conductor import Goal, _jax
from orchestrator_core.conductor.cost import on_device
from orchestrator_core.conductor.cost.known_devices import known_device
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.recurrence.convolution import in_frequencies
from orchestrator_core.conductor.recurrence.invariant import is_for_convolution
from orchestrator_core.conductor.recurrence.readings import readings
from tests.conductor.corpus.recurrences import AFFINE
from tests.conductor.recurrence.judged import errors, normal, rewritten, run, with_gradients


def convolved(function: Any, arrays: list[Any], *, is_guarded: bool = False) -> Any:
    """The function with its first loop as convolutions."""
    graph = read(_jax.trace(lambda *a: jax.tree.leaves(function(*a)), arrays))
    node = next(node for node in graph.nodes if node.name == "scan")
    found = readings(Scan.of(node))
    assert found is not None
    assert is_for_convolution(found)
    graph = in_frequencies(graph, node, found, is_guarded=is_guarded)
    return lambda *a: evaluate(graph, a)


def dense(u: Any, a: Any, b: Any, c: Any, start: Any) -> Any:
    """A matrix moves the state, which is read before each step; from the last to the first."""

    def step(s: Any, u: Any) -> Any:
        return 0.2 * a @ s + b * u, c @ s + u

    return lax.scan(step, start, u, reverse=True)


def turning(u: Any, nu: Any, b: Any, c: Any) -> Any:
    """A. Gu et al., "S4D", 2022: complex diagonals, several channels; decays of 0, 1 and -1."""
    lam = jnp.exp(-jnp.exp(nu) + 1j * nu).at[0, :3].set(jnp.asarray([0, 1, -1]))

    def step(h: Any, u: Any) -> Any:
        h = lam * h + b * u[:, None]
        return h, (h * c).sum(-1).real

    return lax.scan(step, jnp.zeros(b.shape, lam.dtype), u)


def batch(u: Any, a: Any, b: Any, c: Any) -> Any:
    one = lambda u: dense(u, a, b, c, jnp.ones(len(b)))  # noqa: E731
    return jax.vmap(one)(u)


CASES: dict[str, tuple[Any, tuple[tuple[int, ...], ...]]] = {
    "a matrix": (dense, ((77,), (6, 6), (6,), (6,), (6,))),
    "complex diagonals": (turning, ((77, 3), (3, 8), (3, 8), (3, 8))),
    "a batch": (batch, ((4, 77), (6, 6), (6,), (6,))),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    function, shapes = CASES[name]
    given = normal(*shapes)
    assert max(errors(function, run(convolved(function, given), given), given)) < 3e-6


def test_gradients() -> None:
    """Of what goes in: those of the matrix need all states."""
    function, shapes = CASES["a matrix"]
    u, a, b, c, start = normal(*shapes)
    train = with_gradients(lambda u, start: function(u, a, b, c, start), 2)
    made, sites, _ = rewritten(train, [u, start])
    assert [site.settings.get("form") for site in sites] == ["convolution"] * 2
    assert max(errors(train, run(made, [u, start]), [u, start])) < 1e-5


def s4(u: Any, a: Any, b: Any, c: Any) -> Any:
    def step(h: Any, u: Any) -> Any:
        h = a @ h + b * u
        return h, c @ h

    return lax.scan(step, jnp.zeros(len(b)), u)[1]


def test_where_the_transforms_would_not_be_exact_the_loop_runs() -> None:
    """What is small beside something large far away, growth, infinity, NaN: bit by bit the loop."""
    u, b, c = normal((256,), (8,), (8,))
    given = [u, jnp.eye(8) * 0.5, b, c]
    plain, done = jax.jit(s4), jax.jit(convolved(s4, given, is_guarded=True))
    for worse in (1e9, jnp.inf, jnp.nan):
        each = [u.at[200].set(worse), *given[1:]]
        np.testing.assert_allclose(done(*each)[0], plain(*each), rtol=1e-5, atol=1e-6)
    grown = [u, jnp.eye(8) * 1.2, b, c]
    np.testing.assert_allclose(done(*grown)[0], plain(*grown), rtol=1e-4, atol=1e-5)


def fading(u: Any, rate: Any) -> Any:
    """What smooths, read at each step."""

    def step(h: Any, u: Any) -> Any:
        h = rate * h + u * jnp.asarray([1.0, 0.5])
        return h, h.sum()

    return lax.scan(step, jnp.zeros(2), u)[1]


STEPS = np.arange(4096)
(NOISE,) = normal((4096, 1))
INPUTS: dict[str, tuple[Any, bool]] = {
    "noise": (NOISE, True),
    "a wave that stays": (np.sin(STEPS * 0.01)[:, None], True),
    "a wave that is smoothed away": ((-1.0) ** STEPS[:, None], False),
    "and a little that is not": ((-1.0) ** STEPS[:, None] + 5.6e-3, False),
}


@pytest.mark.parametrize("name", INPUTS)
def test_beside_what_is_smoothed_away_the_loop_runs(name: str) -> None:
    """Transforms were off by 1.7e-5 of the largest result there."""
    u, is_convolved = INPUTS[name]
    given = [jnp.asarray(u, "float32"), jnp.float32(0.995)]
    found = jax.jit(convolved(fading, given, is_guarded=True))(*given)[0]
    by_transforms = jax.jit(convolved(fading, given))(*given)[0]
    by_loop = jax.jit(fading)(*given)
    np.testing.assert_array_equal(found, by_transforms if is_convolved else by_loop)
    h = 0.0
    exact = [1.5 * (h := float(given[1]) * h + float(each)) for each in given[0][:, 0]]
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-5 * np.abs(exact).max())


@pytest.mark.parametrize("name", ["mamba", "dense_rows", "ema", "delta_net", "linear_attention"])
def test_what_differs_by_step_or_is_read_whole_is_left_alone(name: str) -> None:
    case = next(each for each in AFFINE if each.name == name)
    graph = read(_jax.trace(lambda *a: jax.tree.leaves(case.function(*a)), normal(*case.shapes)))
    node = next(node for node in graph.nodes if node.name == "scan")
    found = readings(Scan.of(node))
    assert found is None or not is_for_convolution(found)


def test_the_device_chooses_and_a_plan_pins_it() -> None:
    arrays = normal((4096,), (64, 64), (64,), (64,))
    alone = frozenset({"recurrence"})
    with on_device(known_device("NVIDIA H200", "gpu")):
        _, sites, _ = rewritten(s4, arrays, Goal(allow=alone))
        _, strict, _ = rewritten(s4, arrays, Goal(allow=alone, precision="strict"))
    assert [site.settings.get("form") for site in sites] == ["convolution"]
    assert not any(site.settings.get("form") == "convolution" for site in strict)
    _, again, _ = rewritten(s4, arrays, Goal(allow=alone, pinned=tuple(sites)))
    assert [site.settings.get("form") for site in again] == ["convolution"]
