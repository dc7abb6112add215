"""Products of one array are merged, and scales go into convolutions, where that gains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.algebra.rewrite import algebra
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.site import Site

RANDOM = np.random.default_rng(0)
ALWAYS = Goal(always=True)


def array(*shape: int) -> jax.Array:
    return jnp.asarray(RANDOM.normal(size=shape), "float32")


def rewritten(
    function: Callable[..., Any], args: Any, goal: Goal, rtol: float = 1e-6
) -> tuple[Graph, list[Site]]:
    """With values proven to be the same."""
    leaves, tree = jax.tree.flatten(args)

    def flat(*leaves: Any) -> list[Any]:
        return jax.tree.leaves(function(*jax.tree.unflatten(tree, leaves)))

    graph = read(jax.make_jaxpr(flat)(*leaves))
    new, sites = algebra(graph, goal)
    for one, other in zip(evaluate(graph, leaves), evaluate(new, leaves), strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol)
        assert one.dtype == other.dtype
    return new, sites


def count(graph: Graph, name: str) -> int:
    return sum(node.name == name for node in graph.nodes)


def attention(x: jax.Array, ws: list[jax.Array]) -> jax.Array:
    q, k, v = (jnp.einsum("btd,dhe->bhte", x, w) for w in ws)
    return jax.nn.softmax(q @ k.mT) @ v


def test_queries_keys_and_values_are_one_product() -> None:
    args = array(2, 5, 8), [array(8, 2, 4) for _ in range(3)]
    graph, _ = rewritten(attention, args, Goal(always=True, precision="strict"))
    assert count(graph, "dot_general") == 3  # of five
    gradients = jax.grad(lambda *args: attention(*args).sum(), argnums=(0, 1))
    rewritten(gradients, args, ALWAYS, rtol=1e-5)


def test_products_of_what_was_merged_before_are_merged() -> None:
    """The second two read what the first two made."""

    def function(x: jax.Array, a: jax.Array, b: jax.Array, z: jax.Array) -> Any:
        p, q = x @ a, x @ b
        return z @ p, z @ q

    graph, _ = rewritten(function, [array(8, 8) for _ in range(4)], ALWAYS)
    assert count(graph, "dot_general") == 2


def test_products_that_wait_for_each_other_are_not_merged_both() -> None:
    def function(x: jax.Array, y: jax.Array, a: jax.Array, b: jax.Array) -> Any:
        first, second = x @ a, y @ b
        return x @ second, y @ first

    graph, _ = rewritten(function, [array(8, 8) for _ in range(4)], ALWAYS)
    assert count(graph, "dot_general") == 3  # of four


def test_products_of_other_widths_and_layouts() -> None:
    def function(x: jax.Array, a: jax.Array, b: jax.Array, c: jax.Array) -> Any:
        turned = jax.lax.dot_general(x, b, (((1,), (1,)), ((), ())))
        return x @ a, turned, jnp.einsum("td,ndm->tnm", x, c)

    graph, _ = rewritten(function, (array(5, 8), array(8, 3), array(4, 8), array(2, 8, 3)), ALWAYS)
    assert count(graph, "dot_general") == 1


@pytest.mark.parametrize(
    "function",
    [
        lambda x, a, b: (x @ a) @ b,
        lambda x, a, b: x @ ((x @ a) @ b),
        lambda x, a, b: (x @ a, x.T @ b),
        lambda x, a, b: (x @ a, x @ b.astype(jnp.bfloat16)),
        lambda x, a, b: jnp.einsum("bi,bi->b", x, a) + jnp.einsum("bi,bi->b", x, b),
    ],
    ids=["chain", "needs-itself", "other-axis", "other-type", "batched"],
)
def test_what_cannot_be_merged(function: Callable[..., Any]) -> None:
    before = read(jax.make_jaxpr(function)(*[jnp.ones((6, 6))] * 3))
    graph, _ = rewritten(function, (array(6, 6), array(6, 6), array(6, 6)), ALWAYS, rtol=1e-5)
    assert count(graph, "dot_general") == count(before, "dot_general")


def test_what_would_not_be_faster_is_left_and_says_why() -> None:
    few = array(2, 256), array(256, 512), array(256, 512)  # weights of 1 MB for two rows
    graph, (site,) = rewritten(lambda x, a, b: (x @ a, x @ b), few, Goal())
    assert count(graph, "dot_general") == 2
    assert not site.is_changed
    assert site.after.seconds > 0.97 * site.before.seconds


def conv(x: jax.Array, w: jax.Array, layout: str = "NHWC") -> jax.Array:
    dims = (layout, "HWIO", layout)
    return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=dims)


def norm(y: jax.Array, p: jax.Array) -> jax.Array:
    mean, var, scale, shift = p
    return (y - mean) * (scale / jnp.sqrt(var**2 + 1e-5)) + shift


IMAGE, WEIGHTS = (2, 5, 5, 3), (3, 3, 3, 4)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w, p: norm(conv(x, w), p),
        lambda x, w, p: p[0] - conv(x, w) / (2 + p[1] ** 2),
        lambda x, w, p: 2.0 * conv(x, w),
        lambda x, w, p: norm(
            conv(x.transpose(0, 3, 1, 2), w, "NCHW"), p[:, None, :, None, None][:, 0]
        ),
        lambda x, w, p: jax.nn.relu(norm(norm(conv(x, w), p), p)),
    ],
    ids=["batch-norm", "turned", "number", "channels-first", "two"],
)
def test_scales_go_into_the_weights(function: Callable[..., Any]) -> None:
    args = array(*IMAGE), array(*WEIGHTS), array(4, 4)
    graph, sites = rewritten(function, args, ALWAYS, rtol=3e-5)
    assert any("convolution" in site.found for site in sites)
    (node,) = [node for node in graph.nodes if node.name == "conv_general_dilated"]
    after = [reader.name for reader in graph.consumers.get(node.output, ())]
    assert after in ([], ["add"])
    _, kept = algebra(graph, Goal(always=True, precision="strict"))
    assert not any("convolution" in site.found for site in kept)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w, p: conv(x, w) * jnp.arange(5.0)[:, None],
        lambda x, w, p: conv(x, w) - conv(x, w).mean((0, 1, 2)),
        lambda x, w, p: (conv(x, w) * p[0], conv(x, w)),
        lambda x, w, p: 1 / conv(x, w),
        lambda x, w, p: conv(x, w) + p[0],
    ],
    ids=["by-place", "trained", "needed-itself", "divided-by", "shift-alone"],
)
def test_what_is_no_scale_of_channels(function: Callable[..., Any]) -> None:
    args = array(*IMAGE), array(*WEIGHTS), array(4, 4)
    _, sites = rewritten(function, args, ALWAYS, rtol=1e-5)
    assert not any("convolution" in site.found for site in sites)


def test_a_convolution_right_after_one_that_was_folded() -> None:
    def twice(x: jax.Array, w: jax.Array, u: jax.Array, p: jax.Array) -> jax.Array:
        return norm(conv(norm(conv(x, w), p), u), p)

    args = array(*IMAGE), array(*WEIGHTS), array(3, 3, 4, 4), array(4, 4)
    _, sites = rewritten(twice, args, ALWAYS, rtol=2e-4)
    assert any(site.is_changed and "convolution" in site.found for site in sites)
