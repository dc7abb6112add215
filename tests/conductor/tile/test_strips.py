"""What follows passes row by row keeps no arrays of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.cost import on_device
from orchestrator_core.conductor.cost.known_devices import known_device
from orchestrator_core.conductor.facts.axes import ROLES
from orchestrator_core.conductor.facts.dataflow import Dataflow
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.rewriting import rewritten
from orchestrator_core.conductor.tile.rows import rows_after
from orchestrator_core.conductor.tile.sinking import sunk

from .tiling import check, compiled, flat

Array = jax.Array


def normal(*shape: int, seed: int = 0) -> Array:
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), "float32")


def unit(x: Array) -> Array:
    return x / jnp.linalg.norm(x, axis=-1, keepdims=True)


def contrastive(a: Array, b: Array, scale: Array) -> Array:
    """Of rows divided by their lengths, both ways."""
    a, b = unit(a), unit(b)
    logits = jnp.exp(scale) * a @ b.T
    own = jnp.exp(scale) * jnp.sum(a * b, 1)
    lost = [jax.nn.logsumexp(logits, axis) - own for axis in (0, 1)]
    return (lost[0] + lost[1]).mean() / 2


def with_itself(z: Array) -> Array:
    z = unit(z)
    return jax.nn.logsumexp(z @ z.T * 3, 1).mean() - jnp.mean(z * jnp.roll(z, 1, 0)) * 3


def attention(q: Array, k: Array, v: Array) -> Array:
    """Of normalised queries and keys."""
    q, k = (x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) for x in (q, k))
    return jnp.sum((jax.nn.softmax(q @ k.T) @ v) ** 2)


CASES = {
    "contrastive": (contrastive, [normal(100, 8), normal(100, 8, seed=1), jnp.float32(0.5)]),
    "with itself": (with_itself, [normal(130, 8)]),
    "attention": (attention, [normal(90, 8, seed=s) for s in range(3)]),
}


def names(graph: Any) -> list[str]:
    return [node.name for node in graph.nodes]


@pytest.mark.parametrize(
    "name", ["contrastive", "with itself", pytest.param("attention", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("precision", ["real", pytest.param("strict", marks=pytest.mark.slow)])
def test_values_are_those_of_whole_arrays(name: str, precision: str) -> None:
    """Also of a strip that is smaller, since no length here is a multiple of it."""
    function, arrays = CASES[name]
    grad = jax.value_and_grad(function, tuple(range(len(arrays))))
    graph = check(grad, arrays, precision=precision, tolerance=2e-5)
    assert "tiled_rows" in names(graph)


@pytest.mark.parametrize(
    "bad", [np.nan, *(pytest.param(bad, marks=pytest.mark.slow) for bad in (np.inf, 3e38))]
)
def test_what_is_not_finite_spreads_as_it_did(bad: float) -> None:
    a, b, scale = CASES["contrastive"][1]
    check(jax.value_and_grad(contrastive, (0, 1, 2)), [a.at[7, 2].set(bad), b, scale])


def conducted(function: Callable[..., Any], given: Any) -> Any:
    goal = Goal(objective="memory", allow=frozenset({"tiling"}))
    graph, sites = rewritten(read(jax.make_jaxpr(flat(function))(*given)), goal)
    assert any(site.is_changed for site in sites), sites
    return graph


def temporary(program: Any) -> int:
    used: int = program.memory_analysis().temp_size_in_bytes
    return used


def test_a_contrastive_loss_keeps_a_sixtieth() -> None:
    """XLA keeps two arrays of all pairs, 540 MB; gradients by rows are 1 MB each."""
    rows = jax.ShapeDtypeStruct((8192, 32), "float32")
    given = [rows, rows, jax.ShapeDtypeStruct((), "float32")]
    function = flat(jax.value_and_grad(contrastive, (0, 1, 2)))
    graph = conducted(function, given)
    assert "tiled_rows" in names(graph)
    plain = temporary(jax.jit(function).lower(*given).compile())
    assert temporary(compiled(graph, given)) * 60 < plain


def test_rows_that_never_meet_are_not_done_together() -> None:
    """Those of queries and keys, one array after the other: strips would keep both."""
    given = [jax.ShapeDtypeStruct((4096, 64), "float32")] * 3
    assert "tiled_rows" not in names(conducted(jax.grad(attention, (0, 1, 2)), given))


def test_what_needs_a_sum_of_all_rows_is_not_a_row() -> None:
    def function(x: Array, y: Array) -> Array:
        z = jnp.sin(x) * 2 + y
        return z / jnp.sum(z)

    graph = read(jax.make_jaxpr(function)(normal(64, 8), normal(64, 8)))
    spec = (((64, "j"),), ((8, None),))
    (rows,) = rows_after(Dataflow(graph), [(graph.nodes[0].output, spec)])
    assert [node.name for node in rows.specs] == ["mul", "add"]
    assert [node.name for node in rows.sums] == ["reduce_sum"]
    assert [node.name for node in rows.stored] == ["add"]
    assert all(role in (None, ROLES[0]) for s in rows.specs.values() for a in s for _, role in a)


def test_only_what_is_made_of_arguments_is_made_again_for_each_tile() -> None:
    """Arguments are there anyway; a product would be kept instead of what is made of it."""

    def function(x: Array, w: Array) -> tuple[Array, Array]:
        norm = jnp.sqrt(jnp.sum(x * x, 1, keepdims=True))
        h = x @ w
        return x / norm + 1, h * 2

    graph = read(jax.make_jaxpr(function)(normal(512, 256), normal(256, 256)))
    made = {node.output: node.name for node in graph.nodes}
    found = sorted(made[value] for value in sunk(Dataflow(graph)))
    assert found == ["add", "div", "mul"]
    with on_device(known_device("H100", "gpu")):
        assert not sunk(Dataflow(graph))


def test_what_is_made_of_arguments_may_be_seen_through_many_views() -> None:
    """More than Python's stack is deep."""

    def function(x: Array) -> Array:
        norm = jnp.sum(x * x, 1, keepdims=True)
        for _ in range(2000):
            norm = norm.T
        return x / norm

    graph = read(jax.make_jaxpr(function)(normal(512, 256)))
    (value,) = graph.outputs
    assert value in sunk(Dataflow(graph))
