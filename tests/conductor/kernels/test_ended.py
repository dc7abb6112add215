"""Rows that a kernel finishes before it writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.kernels import pallas, program
from orchestrator_core.conductor.kernels.ended import EndedProgram
from orchestrator_core.conductor.kernels.lowering import on_abstract_gpu
from orchestrator_core.conductor.kernels.pallas import Launch
from orchestrator_core.conductor.tile.recipe import VIEWS
from tests.conductor.kernels.interpreting import (
    TRITON,
    assert_near,
    for_gpu,
    graph_of,
    in_interpreted_kernels,
    kernels_of,
    launched,
    lowered_for_gpu,
    run,
)
from tests.conductor.kernels.test_attention import VARIANTS, S, arguments, attention, exactly

SMALL = ((16, 16, Launch(4, 1)),)


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that there are many, and some may be left out."""
    monkeypatch.setattr(program, "SHAPES", SMALL)


def causal(q: Any, k: Any, v: Any) -> Any:
    """Its positions are not arrays."""
    i, j = jnp.arange(q.shape[1])[:, None], jnp.arange(k.shape[1])[None, :]
    s = jnp.where(i >= j, jnp.einsum("hid,hjd->hij", q, k) / 5, -jnp.inf)
    return jnp.einsum("hij,hjd->hid", jax.nn.softmax(s), v)


def ended_of(graph: Graph) -> EndedProgram:
    """Of the only kernel."""
    (node,) = kernels_of(graph)
    found = node.params["program"]
    assert isinstance(found, EndedProgram)
    return found


def flags_of(made: Graph, arrays: list[Any]) -> Any:
    """Of each head and row of tiles: is nothing in doubt?"""
    ended = ended_of(made)
    known = {**made.constants, **dict(zip(made.inputs, arrays, strict=True))}
    values = ended.before.inputs
    kernel = jax.jit(lambda *given: ended.kernel(dict(zip(values, given, strict=True))))
    *_, flags = kernel(*(known[value] for value in values))
    return np.asarray(flags) == 1


@pytest.mark.parametrize("name", VARIANTS)
def test_attention_is_one_node_that_writes_nothing_but_its_result(name: str) -> None:
    def function(q: Any, k: Any, v: Any) -> Any:
        return attention(VARIANTS[name], q, k, v, jnp)

    arrays = arguments()
    made, _ = in_interpreted_kernels(graph_of(function, arrays))
    assert all(node.name in ("kernel_pass", *VIEWS, "slice") for node in made.nodes)
    (written, _) = ended_of(made).kernel.outputs
    assert written.shape == made.outputs[0].shape
    assert_near(run(made, arrays), [exactly(VARIANTS[name], arrays)], 2e-6)


def test_it_is_written_in_its_own_type() -> None:
    arrays = arguments("bfloat16")
    made, _ = in_interpreted_kernels(graph_of(causal, arrays))
    (written, flags) = ended_of(made).kernel.outputs
    assert (written.dtype, flags.shape) == (jnp.bfloat16, (2, S))
    exact = causal(*(jnp.asarray(each, "float32") for each in arrays))
    assert_near(run(made, arrays), [exact], 1.2e-2)
    assert flags_of(made, arrays).all()


def test_on_a_gpu_there_is_one_kernel_and_one_conditional() -> None:
    """All else is within the branch that is taken where rows are in doubt."""
    arrays = arguments("bfloat16")
    planned, _ = for_gpu(graph_of(causal, arrays))
    assert [node.name for node in planned.nodes] == ["kernel_pass"]
    ended = ended_of(planned)
    shaped: Any = jax.ShapeDtypeStruct
    avals = [shaped(value.shape, value.dtype) for value in ended.before.inputs]
    with pallas.without_warnings(), on_abstract_gpu():
        traced = jax.make_jaxpr(ended.by_kernel)(*avals)
    done = [equation.primitive.name for equation in _opened(traced.jaxpr)]
    assert (done.count("pallas_call"), done.count("cond")) == (1, 1)
    assert "scan" not in done
    assert lowered_for_gpu(planned, arrays).count(TRITON) == launched(planned) == 2


def _opened(jaxpr: Any) -> Iterator[Any]:
    """All equations that are done in any case."""
    for equation in jaxpr.eqns:
        yield equation
        if equation.primitive.name in ("jit", "pjit"):
            yield from _opened(equation.params["jaxpr"].jaxpr)


@pytest.mark.parametrize("number", [np.nan, np.inf, 1e30])
@pytest.mark.parametrize("function", [causal, "constants"])
def test_what_is_no_usual_number_is_as_in_the_original(
    number: float, function: Callable[..., Any] | str
) -> None:
    """As it is written, 0 times NaN is NaN, behind a mask too."""
    as_written = _of_constants if function == "constants" else causal
    q, k, v = arguments()
    v = v.at[0, 40, 3].set(number)
    made, _ = in_interpreted_kernels(graph_of(as_written, [q, k, v]))
    flags = flags_of(made, [q, k, v])
    assert flags[1].all()
    assert not flags[0, 48:].all()
    assert np.isfinite(number) or not flags[0, 48:].any()
    (found,) = run(made, [q, k, v])
    np.testing.assert_allclose(found, as_written(q, k, v), rtol=1e-4, atol=1e-5)


def _of_constants(q: Any, k: Any, v: Any) -> Any:
    return attention(VARIANTS["causal"], q, k, v, jnp)


@pytest.mark.parametrize("hidden", [-np.inf, -1e30])
def test_rows_in_which_all_is_masked(hidden: float) -> None:
    """NaN, or the mean of all values."""

    def function(q: Any, k: Any, v: Any) -> Any:
        i, j = jnp.arange(q.shape[1])[:, None], jnp.arange(k.shape[1])[None, :]
        s = jnp.where(i >= j + 20, jnp.einsum("hid,hjd->hij", q, k), hidden)
        return jnp.einsum("hij,hjd->hid", jax.nn.softmax(s), v)

    arrays = arguments()
    made, _ = in_interpreted_kernels(graph_of(function, arrays))
    expected = function(*arrays)
    assert np.isnan(np.asarray(expected)[:, 0]).all() == (hidden == -np.inf)
    assert flags_of(made, arrays)[:, 0].all() == (hidden != -np.inf)
    assert_near(run(made, arrays), [expected], 5e-6)


def test_what_no_row_visits_is_asked_before() -> None:
    """Keys that are masked in all rows, in tiles that are left out by positions alone."""

    def function(q: Any, k: Any, v: Any) -> Any:
        i, j = jnp.arange(q.shape[1])[:, None], jnp.arange(k.shape[1])[None, :]
        s = jnp.where((i >= j) & (j < 40), jnp.einsum("hid,hjd->hij", q, k), -jnp.inf)
        return jnp.einsum("hij,hjd->hid", jax.nn.softmax(s), v)

    q, k, v = (each[:, :64] for each in arguments())
    v = v.at[0, 60, 3].set(jnp.nan)
    made, _ = in_interpreted_kernels(graph_of(function, [q, k, v]))
    watch = ended_of(made).kernel.watch
    assert watch is not None
    assert len(watch.leaves) == 1
    assert not watch.visits_all
    expected = function(q, k, v)
    assert np.isnan(np.asarray(expected)[0, :, 3]).all()
    assert_near(run(made, [q, k, v]), [expected], 5e-6)


def test_what_some_row_visits_is_not_asked_before() -> None:
    arrays = arguments("bfloat16")
    planned, _ = for_gpu(graph_of(causal, arrays))
    watch = ended_of(planned).kernel.watch
    assert watch is not None
    assert watch.known is not None
    assert watch.visits_all
    assert watch.arrays({}) == [watch.known.bounds]


def test_very_large_scores() -> None:
    """Of one row they are infinite, of the next one all of the same size."""
    q, k, v = arguments()
    q = q.at[0, 50].set(3e38).at[0, 51].set(1e30)
    made, _ = in_interpreted_kernels(graph_of(causal, [q, k, v]))
    expected = causal(q, k, v)
    assert np.isnan(np.asarray(expected)[0, 50]).all()
    assert_near(run(made, [q, k, v]), [expected], 5e-6)


@pytest.mark.parametrize("name", ["causal", "soft-capped"])
def test_what_a_gradient_needs_is_written_too(name: str) -> None:
    """The result, its largest exponents and its sums."""

    def function(q: Any, k: Any, v: Any, g: Any) -> Any:
        made, back = jax.vjp(lambda *x: attention(VARIANTS[name], *x, jnp), q, k, v)
        return made, *back(jnp.sin(g @ v[:, :1]))

    arrays = [*arguments(), jnp.ones((2, 72, 1))]
    graph = graph_of(function, arrays)
    made, _ = in_interpreted_kernels(graph)
    programs = [node.params["program"] for node in kernels_of(made)]
    ended = [each for each in programs if isinstance(each, EndedProgram)]
    assert any(len(each.before.outputs) > 1 for each in ended)
    with jax.enable_x64(True):
        wide = [jnp.asarray(np.asarray(a, "float64")) for a in arrays]
        exact = [np.asarray(each) for each in jax.jit(function)(*wide)]
    assert_near(run(made, arrays), exact, 1e-5)
    assert TRITON in lowered_for_gpu(for_gpu(graph)[0], arrays)


def test_what_needs_all_rows_is_not_done_in_a_kernel() -> None:
    def function(q: Any, k: Any) -> Any:
        sums = jnp.sum(jnp.exp(jnp.tanh(jnp.einsum("hid,hjd->hij", q, k))), -1)
        return sums / jnp.sum(sums)

    q, k, _ = arguments()
    made, _ = in_interpreted_kernels(graph_of(function, [q, k]))
    (node,) = kernels_of(made)
    assert not isinstance(node.params["program"], EndedProgram)
    wide = (np.asarray(each, "float64") for each in (q, k))
    sums = np.exp(np.tanh(np.einsum("hid,hjd->hij", *wide))).sum(-1)
    assert_near(run(made, [q, k]), [sums / sums.sum()], 2e-6)


def test_what_a_row_is_divided_by_and_rounded_to_is_done_in_a_kernel() -> None:
    def function(q: Any, k: Any) -> Any:
        sums = jnp.sum(jnp.square(jnp.einsum("hid,hjd->hij", q, k)), -1)
        return (jnp.sqrt(sums) / 7).astype("bfloat16")

    q, k, _ = arguments()
    made, _ = in_interpreted_kernels(graph_of(function, [q, k]))
    assert ended_of(made).kernel.outputs[0].dtype == jnp.bfloat16
    wide = (np.asarray(each, "float64") for each in (q, k))
    exact = np.sqrt(np.square(np.einsum("hid,hjd->hij", *wide)).sum(-1)) / 7
    assert_near(run(made, [q, k]), [exact], 4e-3)
