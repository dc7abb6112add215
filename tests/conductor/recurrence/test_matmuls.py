"""Recurrences as matrix products in chunks: values and gradients of the loop at hard numbers."""

from __future__ import annotations

import re
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
from orchestrator_core.conductor.recurrence.matmuls import in_matmuls, is_for_matmuls
from orchestrator_core.conductor.recurrence.readings import Readings, readings
from tests.conductor.corpus.recurrences import AFFINE
from tests.conductor.recurrence.judged import errors, normal, rewritten, run, with_gradients

NAMES = [
    *("normalised_linear_attention", "gated_linear_attention_with_one_decay"),
    *("retention_of_heads", "state_space_duality"),
]
OTHERS = ["mamba", "lru", "min_gru", "delta_net", "rwkv4", "cumulative_sum", "s4d_real"]

LENGTH = 70
"""Four chunks, and six steps that are left over."""


def found_in(function: Any, arrays: list[Any]) -> tuple[Any, Any, Readings | None]:
    graph = read(_jax.trace(lambda *a: jax.tree.leaves(function(*a)), arrays))
    node = next(node for node in graph.nodes if node.name == "scan")
    return graph, node, readings(Scan.of(node))


def chunked(function: Any, arrays: list[Any]) -> Any:
    """The function with its first loop as matrix products."""
    graph, node, found = found_in(function, arrays)
    assert found is not None
    assert is_for_matmuls(found)
    graph = in_matmuls(graph, node, found)
    return lambda *a: evaluate(graph, a)


def gated(q: Any, k: Any, v: Any, g: Any, start: Any) -> Any:
    """A decay for each key's channel; read before and after each step."""

    def step(s: Any, now: Any) -> Any:
        q, k, v, g = now
        after = g[:, None] * s + jnp.outer(k, v)
        return after, (q @ after, jnp.tanh(q @ s) + v)

    return lax.scan(step, start, (q, k, v, g))


def gated_backwards(q: Any, k: Any, v: Any, g: Any, start: Any) -> Any:
    """One decay for all; from the last to the first."""

    def step(s: Any, now: Any) -> Any:
        q, k, v, g = now
        s = g[0] * s - k[:, None] * (2 * v[None, :]) / 3
        return s, jnp.einsum("nd,n->d", s, q)

    return lax.scan(step, start, (q, k, v, g), reverse=True)


def arguments(decays: Any) -> list[Any]:
    q, k, v, start = normal((LENGTH, 5), (LENGTH, 5), (LENGTH, 7), (5, 7))
    return [q, k, v, jnp.broadcast_to(jnp.asarray(decays, jnp.float32), (LENGTH, 5)), start]


def test_all_spellings() -> None:
    cases = [case for case in AFFINE if case.name in NAMES]
    given = [normal(*case.shapes) for case in cases]
    done = [chunked(case.function, arrays) for case, arrays in zip(cases, given, strict=True)]
    made = run(lambda given: [f(*a) for f, a in zip(done, given, strict=True)], [given])
    for case, arrays, each in zip(cases, given, made, strict=True):
        assert max(errors(case.function, each, arrays)) < 1e-6, case.name
    assert len(cases) == len(NAMES)


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_read_otherwise_is_left_alone(name: str) -> None:
    case = next(each for each in AFFINE if each.name == name)
    _, _, found = found_in(case.function, normal(*case.shapes))
    assert found is None or not is_for_matmuls(found)


HARD = np.where(np.arange(LENGTH) % 9 == 0, 0, np.where(np.arange(LENGTH) % 5 == 0, 1e-38, -0.9))
HARD = np.stack([HARD, np.abs(HARD), np.ones(LENGTH), np.roll(HARD, 3), np.zeros(LENGTH)], 1)


@pytest.mark.parametrize("function", [gated, pytest.param(gated_backwards, marks=pytest.mark.slow)])
def test_decays_of_nothing_one_tiny_and_negative_with_gradients(function: Any) -> None:
    given, train = arguments(HARD), with_gradients(function, 5)
    assert max(errors(function, run(chunked(function, given), given), given)) < 1e-6
    made, sites, _ = rewritten(train, given)
    assert "matmuls" in [site.settings.get("form") for site in sites]
    assert max(errors(train, run(made, given), given)) < 1e-5


def test_what_is_not_finite_is_left_to_the_loop() -> None:
    given = arguments(0.5)
    plain, done = jax.jit(gated), jax.jit(chunked(gated, given))
    q, k, v, _, start = given
    for what, decay in ((jnp.inf, 0.5), (jnp.nan, 0.5), (1.0, 1e20)):
        g = jnp.full((LENGTH, 5), 0.5).at[30:33].set(decay)
        each = [q, k.at[20, 2].set(what), v, g, start]
        made, exact = done(*each), jax.tree.leaves(plain(*each))
        assert not all(np.isfinite(each).all() for each in exact)
        for one, other in zip(made, exact, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def test_complex_states() -> None:
    def function(q: Any, k: Any, v: Any, angle: Any) -> Any:
        turn = 0.95 * jnp.exp(1j * angle)

        def step(s: Any, now: Any) -> Any:
            q, k, v = now
            s = turn[:, None] * s + jnp.outer(k, v)
            return s, (q @ s).real

        return lax.scan(step, jnp.zeros((5, 7), turn.dtype), (q, k, v))[1]

    given = normal((LENGTH, 5), (LENGTH, 5), (LENGTH, 7), (5,))
    assert max(errors(function, run(chunked(function, given), given), given)) < 1e-6


def attention(q: Any, k: Any, v: Any, g: Any) -> Any:
    def step(s: Any, now: Any) -> Any:
        q, k, v, g = now
        s = jax.nn.sigmoid(g) * s + jnp.outer(k, v)
        return s, q @ s

    return lax.scan(step, jnp.zeros((q.shape[1], v.shape[1])), (q, k, v, g))[1]


SHAPES = ((512, 64), (512, 64), (512, 64), (512,))
FEWER = ((64, 16), (64, 16), (64, 16), (64,))


@pytest.mark.slow
def test_no_array_of_all_states_is_made() -> None:
    given = normal(*SHAPES)
    function, sites, graph = rewritten(attention, given)
    assert [site.settings.get("form") for site in sites] == ["matmuls"]
    assert max(x.size for node in graph.nodes for x in node.outputs) < 512 * 64 * 64 / 50
    assert max(errors(attention, run(function, given), given)) < 1e-6


def test_a_device_that_loops_leave_idle_takes_them_where_memory_is_short() -> None:
    alone = frozenset({"recurrence"})
    given = normal(*SHAPES)
    with on_device(known_device("NVIDIA H200", "gpu")):
        _, (site,), _ = rewritten(attention, given, Goal(allow=alone, memory=4_000_000))
        _, (strict,), _ = rewritten(attention, given, Goal(precision="strict", allow=alone))
    assert site.settings == {"form": "matmuls"}
    assert strict.settings.get("form") != "matmuls"


def without_decay(q: Any, k: Any, v: Any) -> Any:
    def step(state: Any, qkv: Any) -> Any:
        q, k, v = qkv
        state = state + jnp.outer(k, v)
        return state, q @ state

    return lax.scan(step, jnp.zeros((q.shape[1], v.shape[1])), (q, k, v))[1]


@pytest.mark.parametrize(
    ("function", "shapes", "is_less"),
    [
        pytest.param(attention, FEWER, False, id="with decay, where they take longer"),
        pytest.param(without_decay, SHAPES[:3], True, id="without, where they take less"),
    ],
)
def test_a_cpu_keeps_the_loop_and_says_what_else_there_was(
    function: Any, shapes: Any, is_less: bool
) -> None:
    """And what is asked of chunks that take less by prediction, but not less than a fifth."""
    with on_device(known_device("cpu", "cpu")):
        _, sites, _ = rewritten(function, normal(*shapes), Goal())
    assert not any(site.settings.get("form") == "matmuls" for site in sites)
    says = r"others would take: matrix products in chunks ([\d.]+) ms, where it takes ([\d.]+) ms"
    told, reason = next(
        (re.search(says, s.reason), s.reason) for s in sites if "chunks" in s.reason
    )
    assert told is not None
    assert float(told[1]) >= 0.2 * float(told[2])
    assert (float(told[1]) < float(told[2])) is is_less
    assert reason.endswith("; less than 0.2 of that is asked, as forecasts may be off") is is_less


WEIGHTS = np.asarray([0.3, -1.2, 0.7], "float32")
READS: dict[str, Any] = {
    "their sum": lambda h: h.sum(),
    "each": lambda h: h,
    "their sum with weights": lambda h: h @ WEIGHTS,
    "the sum of a part": lambda h: h[:2].sum(),
}


@pytest.mark.parametrize("read_as", READS)
@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_states_that_are_all_the_same_are_counted(read_as: str, kind: str) -> None:
    """No factor has their axis: an einsum sums over it as if it had one element."""

    def function(u: Any, rate: Any) -> Any:
        def step(h: Any, u: Any) -> Any:
            h = rate * h + u
            return h, READS[read_as](h)

        return lax.scan(step, jnp.zeros(3), u)

    given = [*normal((LENGTH,)), jnp.float32(0.9)]
    with on_device(known_device("NVIDIA H200" if kind == "gpu" else "", kind)):
        made, _, _ = rewritten(function, given)
    assert max(errors(function, run(made, given), given)) < 3e-6
