"""What is pairwise is computed with its axes apart, though they are merged on the way."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.tile.apart import kept_apart, merged
from tests.conductor.corpus.case import normal
from tests.conductor.tile.tiling import SMALL, check, flat, passes

T, K, G, H = 48, 2, 3, 4


def grouped(q: Any, k: Any, v: Any, mask: Any) -> Any:
    """Gemma's: K kinds of keys for K x G heads, masked and softened as K G heads."""
    scores = jnp.einsum("tkgh,skh->tkgs", q.reshape(T, K, G, H), k).reshape(T, K * G, T)
    weights = jax.nn.softmax(jnp.where(mask[:, None], scores, -2.4e38))
    return jnp.einsum("tkgs,skh->tkgh", weights.reshape(T, K, G, T), v).reshape(T, K * G, H)


def in_one_batch(q: Any, k: Any, v: Any, mask: Any) -> Any:
    """As of BERT's descendants: batches and heads are one axis but for the mask."""
    q, k, v = (jnp.resize(each, (G, K, T, H)).reshape(G * K, T, H) for each in (q, k, v))
    scores = jnp.einsum("bth,bsh->bts", q * 0.5, k)
    scores = jnp.where(mask, scores.reshape(-1, K, T, T), -1e9).reshape(-1, T, T)
    return jnp.einsum("bts,bsh->bth", jax.nn.softmax(scores), v).reshape(-1, K, T, H)


def with_bias_for_each_head(q: Any, k: Any, v: Any, mask: Any) -> Any:
    """Biases of the merged axis, one number for each, are parted too; so is what is added up."""
    scores = jnp.einsum("tkgh,skh->tkgs", q.reshape(T, K, G, H), k).reshape(T, K * G, T)
    slopes = 2.0 ** -jnp.arange(1.0, K * G + 1)
    weights = jnp.exp(jnp.clip(scores + slopes[:, None] * mask[:, None], -5, 5))
    return weights.sum((1, 2)), jnp.einsum("tns,snh->tnh", weights, jnp.repeat(v, G, 1))


ARRAYS = (
    normal(T, K * G, H, seed=1),
    normal(T, K, H, seed=2),
    normal(T, K, H, seed=3),
    np.tri(T, dtype=bool),
)


def gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    def loss(*arrays: Any) -> Any:
        return sum(jnp.sin(each).sum() for each in jax.tree.leaves(function(*arrays)))

    return jax.grad(loss, argnums=(0, 1, 2))


def is_large(atom: Any) -> bool:
    return atom.shape.count(T) == 2


def apart(function: Callable[..., Any]) -> tuple[Graph, Graph]:
    """A graph before and after."""
    graph = read(jax.make_jaxpr(flat(function))(*ARRAYS))
    return graph, kept_apart(graph, is_large, min_axis=40)


@pytest.mark.parametrize(
    ("given", "made", "groups"),
    [
        ((4, 2, 3, 5), (4, 6, 5), ((4,), (2, 3), (5,))),
        ((4, 1, 2, 3), (1, 4, 6), ((1,), (4,), (2, 3))),
        ((2, 1, 3), (6, 1), ((2, 3), (1,))),
        ((6, 4), (2, 3, 4), None),
        ((4, 6), (6, 4), None),
        ((0, 3), (0,), None),
        ((), (1,), None),
        ((4, 1, 5), (1, 4, 5), None),
    ],
)
def test_which_axes_a_reshape_merges(given: Any, made: Any, groups: Any) -> None:
    assert merged(given, made) == groups


FUNCTIONS = [grouped, in_one_batch, with_bias_for_each_head]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("with_gradient", [False, True], ids=["forward", "gradient"])
def test_the_same_numbers_and_nothing_merged(
    function: Callable[..., Any], with_gradient: bool
) -> None:
    graph, new = apart(gradient(function) if with_gradient else function)
    for one, other in zip(evaluate(graph, ARRAYS), evaluate(new, ARRAYS), strict=True):
        np.testing.assert_allclose(other, one, rtol=2e-5, atol=1e-6)
    made = [node for node in new.nodes if node.name != "reshape" and is_large(node.outputs[0])]
    assert made
    late = made[[node.name == "exp" for node in made].index(True) :]
    assert {len(node.output.shape) for node in late} == {4}
    assert len([n for n in new.nodes if n.name == "dot_general"]) == len(
        [n for n in graph.nodes if n.name == "dot_general"]
    )


@pytest.mark.parametrize("function", [grouped, in_one_batch])
def test_the_row_sums_of_a_backward_pass_are_read_off(function: Callable[..., Any]) -> None:
    """Forward one pass, backward one pass, as of heads that are never merged; three before."""
    settings = dataclasses.replace(SMALL, skips=False)
    assert len(passes(check(gradient(function), ARRAYS, settings))) == 2


def test_a_product_that_sums_over_them_takes_them_merged() -> None:
    """XLA has products of one summed axis."""

    def mixed(q: Any, k: Any, v: Any, mask: Any) -> Any:
        scores = jnp.einsum("tkgh,skh->tkgs", q.reshape(T, K, G, H), k).reshape(T, K * G, T)
        return jnp.einsum("tns,n->ts", jnp.tanh(scores), jnp.arange(1.0, K * G + 1))

    graph, new = apart(mixed)
    np.testing.assert_allclose(evaluate(new, ARRAYS)[0], evaluate(graph, ARRAYS)[0], rtol=1e-5)
    last = [node for node in new.nodes if node.name == "dot_general"][-1]
    assert [len(axes) for axes in last.params["dimension_numbers"][0]] == [1, 1]


def test_axes_that_may_be_tiled_stay_merged() -> None:
    """Blocks of rows make the rows of a table of pairs: none of them alone is worth tiles."""

    def blocks(x: Any, y: Any) -> Any:
        pairs = jnp.einsum("bth,sh->bts", x.reshape(4, 12, H), y)
        return jax.nn.softmax(pairs.reshape(T, T)) @ y

    arrays = (normal(T, H), normal(T, H, seed=1))
    graph = read(jax.make_jaxpr(flat(blocks))(*arrays))
    assert kept_apart(graph, lambda atom: atom.size >= T * T, min_axis=40) is graph
