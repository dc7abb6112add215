"""Kernels for Hopper: what becomes one, what is done with its tiles, and that JAX can lower it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.kernels import program, squeezed
from orchestrator_core.conductor.kernels.cut import Place
from orchestrator_core.conductor.kernels.hopper.kernel import HopperKernel
from orchestrator_core.conductor.kernels.hopper.sizes import COLUMNS, ROWS
from orchestrator_core.conductor.kernels.hopper.visit import column_of
from orchestrator_core.conductor.kernels.lowering import refusal
from orchestrator_core.conductor.kernels.pallas import Launch
from orchestrator_core.conductor.kernels.pass_kernel import PassKernel
from orchestrator_core.conductor.refused import Refused
from tests.conductor.kernels.interpreting import for_gpu, graph_of
from tests.conductor.kernels.test_attention import assert_near

S, D = 512, 64

Scores = Callable[[Any, Any, Any], Any]

MASKS: dict[str, Scores] = {
    "plain": lambda s, i, j: s,
    "causal": lambda s, i, j: jnp.where(i >= j, s, -jnp.inf),
    "window": lambda s, i, j: jnp.where((i >= j) & (i - j < 200), s, -jnp.inf),
    "soft-capped": lambda s, i, j: jnp.where(i >= j, 5 * jnp.tanh(s / 5), -jnp.inf),
    "with distances": lambda s, i, j: jnp.where(i >= j, s - 0.1 * (i - j), -jnp.inf),
    "anti-causal": lambda s, i, j: jnp.where(i <= j, s, -jnp.inf),
}


def attention(scores: Scores, q: Any, k: Any, v: Any) -> Any:
    """(b, h, s, d)"""
    i, j = jnp.arange(q.shape[2])[:, None], jnp.arange(k.shape[2])
    s = scores(jnp.einsum("bhid,bhjd->bhij", q, k).astype(jnp.float32) / jnp.sqrt(D), i, j)
    return jnp.einsum("bhij,bhjd->bhid", jax.nn.softmax(s).astype(v.dtype), v)


def heads_last(q: Any, k: Any, v: Any) -> Any:
    """(b, s, h, d)"""
    s = jnp.einsum("bihd,bjhd->bhij", q, k).astype(jnp.float32)
    return jnp.einsum("bhij,bjhd->bihd", jax.nn.softmax(s).astype(v.dtype), v)


def keys_turned(q: Any, k: Any, v: Any) -> Any:
    """Keys as (b, h, d, s)"""
    s = jnp.einsum("bhid,bhdj->bhij", q, k).astype(jnp.float32)
    return jnp.einsum("bhij,bhjd->bhid", jax.nn.softmax(s).astype(v.dtype), v)


def kernel_summing(scores: Scores) -> Callable[[Any, Any, Any], Any]:
    """No softmax: weights as they are."""
    return lambda q, k, v: jnp.einsum(
        "bhij,bhjd->bhid", jnp.exp(-jnp.abs(scores(q @ k.mT, 0, 0))).astype(v.dtype), v
    )


def arrays(dtype: str = "bfloat16", length: int = S, d: int = D) -> list[Any]:
    r = np.random.default_rng(0)
    return [jnp.asarray(r.normal(size=(1, 2, length, d)), dtype) for _ in range(3)]


def usual_of(graph: Graph) -> PassKernel:
    """The kernel for any GPU."""
    planned, _ = for_gpu(graph)
    (kernel, *_) = [
        each
        for node in planned.nodes
        if node.name == "kernel_pass"
        for each in node.params["program"].kernels
    ]
    side = kernel.side
    return PassKernel.of(side, {"i": 2 * ROWS, "j": COLUMNS}, Launch())


def masked(name: str) -> Callable[..., Any]:
    return lambda q, k, v: attention(MASKS[name], q, k, v)


@pytest.mark.parametrize("name", MASKS)
def test_tile_by_tile_it_is_what_is_written(name: str) -> None:
    """All that a program does, one step after another, without the GPU's own operations."""
    given = arrays()
    graph = graph_of(masked(name), given)
    kernel = HopperKernel.of(usual_of(graph))
    known = dict(zip(graph.inputs, given, strict=True))
    sums = [[_row(kernel, known, head, row) for row in range(S // ROWS)] for head in range(2)]
    made = [[total / weight[:, None] for _, weight, total in rows] for rows in sums]
    found = np.stack([np.concatenate(rows) for rows in made])[None]
    exact = attention(MASKS[name], *(jnp.asarray(each, "float32") for each in given))
    assert_near([found], [exact], 1.5e-2)


def _row(kernel: HopperKernel, known: Any, head: int, row: int) -> list[Any]:
    """What one group accumulates: the maximum, the sum of exponentials, and that with values."""
    (watch, plain), wide = (kernel.usual.watch, kernel.usual.plain), row // 2
    first, last = (0, S // COLUMNS) if watch is None else watch.known.bounds[:, wide]
    begin, end = (first, first) if plain is None else np.clip(plain.bounds[:, wide], first, last)
    state = [
        jnp.full(cut.piece(Place({}, kernel.one.size)), each.start, each.dtype)
        for each, cut in zip(kernel.side.accumulators, kernel.state, strict=True)
    ]
    for step in range(last - first):
        column = int(column_of(step, first, begin, end))
        parts = kernel.plain if step < end - begin and kernel.plain else kernel.masked
        state = _tile(kernel, parts, known, state, head, row, column)
    return state


def _tile(
    kernel: HopperKernel, parts: Any, known: Any, state: list[Any], head: int, row: int, column: int
) -> list[Any]:
    leaves = [known.get(key[0]) for key in kernel.side.recipe.leaves]
    rows, columns = slice(row * ROWS, (row + 1) * ROWS), slice(column * COLUMNS, None)
    q = leaves[parts.query][0, head, rows].astype(jnp.float32)
    k, v = (leaves[n][0, head, columns][:COLUMNS] for n in (parts.key, parts.value))
    at = [row * ROWS, column * COLUMNS, head]
    scores = q @ k.astype(jnp.float32).T
    *others, weights, base = squeezed.run(
        parts.body, [*leaves, *state, *map(jnp.int32, at), scores], squeezed.INTERPRETED
    )
    total = base + weights.astype(v.dtype).astype(jnp.float32) @ v.astype(jnp.float32)
    others.insert(parts.place, total)
    return [jnp.reshape(x, y.shape) for x, y in zip(others, state, strict=True)]


@given(ends=st.tuples(*[st.integers(0, 9)] * 4))
def test_each_tile_is_visited_once_and_those_without_a_mask_first(ends: Sequence[int]) -> None:
    first, begin, end, last = sorted(ends)
    visited = [int(column_of(step, first, begin, end)) for step in range(last - first)]
    assert sorted(visited) == list(range(first, last))
    assert visited[: end - begin] == list(range(begin, end))


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (masked("plain"), arrays(d=128)),
        (masked("causal"), arrays("float16")),
        (masked("soft-capped"), arrays(d=128)),
        (masked("with distances"), arrays()),
        (heads_last, [x.swapaxes(1, 2) for x in arrays()]),
        (keys_turned, [x.mT if k == 1 else x for k, x in enumerate(arrays())]),
        (kernel_summing(lambda s, i, j: s), arrays()),
    ],
)
def test_jax_lowers_it_for_a_gpu_that_is_not_there(
    function: Callable[..., Any], given: list[Any]
) -> None:
    kernel = HopperKernel.of(usual_of(graph_of(function, given)))
    values = kernel.side.recipe.values

    def run(*arrays: Any) -> list[Any]:
        return kernel(dict(zip(values, arrays, strict=True)))

    assert refusal(run, [value.aval for value in values], is_interpreted=False) == ""


@pytest.mark.parametrize(
    ("function", "given", "why"),
    [
        (masked("causal"), arrays("float32"), "a product of something else than arrays of 16 bits"),
        (masked("causal"), arrays(length=320), "lengths that are no multiples of a tile"),
        (masked("causal"), arrays(d=96), "rows of 96 elements"),
        (
            lambda q, k, v, b: attention(lambda s, i, j: s + b, q, k, v),
            [*arrays(), jnp.zeros((S, S))],
            "something pairwise is read from memory",
        ),
    ],
)
def test_what_is_no_kernel_for_hopper(
    function: Callable[..., Any], given: list[Any], why: str
) -> None:
    usual = usual_of(graph_of(function, given))
    with pytest.raises(Refused, match=why):
        HopperKernel.of(usual)


def test_it_is_chosen_on_hopper_and_writes_nothing_but_the_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(program, "is_hopper", lambda: True)
    planned, _ = for_gpu(graph_of(masked("causal"), arrays()))
    (kernel,) = _only(planned).params["program"].kernels
    assert isinstance(kernel, HopperKernel)
    assert [dtype for _, dtype in kernel.results] == [jnp.bfloat16]
    assert kernel.results[0][0].shape == planned.outputs[0].shape[1:]


def _only(planned: Graph) -> Any:
    (node,) = [node for node in planned.nodes if node.name == "kernel_pass"]
    return node
