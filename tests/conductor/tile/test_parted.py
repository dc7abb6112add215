"""Concatenations within pairwise computations are taken apart where nobody needs them whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor import Goal
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.tile.parted import parted
from tests.conductor.corpus.case import Case, normal
from tests.conductor.corpus.examine import examined

N, D = 6, 4


def with_a_sink(q: Any, k: Any, v: Any) -> Any:
    """As in arXiv 2309.17453 and the models after it: a score that belongs to no key."""
    scores = jnp.where(jnp.tri(len(q), dtype=bool), q @ k.T, -jnp.inf)
    sink = jnp.broadcast_to(v[:1, :1], (len(q), 1))
    p = jax.nn.softmax(jnp.concatenate([scores, sink], -1), -1)
    return p[:, :-1] @ v


def two_sets_of_keys(q: Any, k: Any, v: Any) -> Any:
    place = jnp.arange(2 * len(k))
    scores = jnp.concatenate([q @ k.T, q @ v.T], 1)
    scores = jnp.where((place[None] % 3 > 0) & (place < 9), scores, -1e9) + place * 0.1
    p = jnp.exp(scores - scores.max(1, keepdims=True))
    first, second = jnp.split(p / p.sum(1, keepdims=True), 2, 1)
    return first @ k + second @ v


def along_the_other_axis(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.concatenate([q @ k.T, v @ k.T], 0)
    return jnp.tanh(scores).sum(1), (scores**2).min(0), (scores > 0).all((0, 1))


PLACES = np.array([0, 5, 6, 11, 12, -1])
"""Of both parts, at their ends, beyond both, and counted from the end."""


def with_a_queue(q: Any, k: Any, v: Any) -> Any:
    """He and others, arXiv 1911.05722, with the positives beside the negatives."""
    scores = jnp.concatenate([q @ k.T, q @ v.T], 1)
    return jnp.take_along_axis(jax.nn.log_softmax(scores), PLACES[:, None], 1)


def picked_by_two_places(q: Any, k: Any, v: Any) -> Any:
    """Moved to the bound if they are beyond it; of a type in which the whole has no place."""
    scores = jnp.exp(jnp.concatenate([q @ k.T, q @ v.T], 1))
    return scores.at[jnp.arange(N), PLACES.astype(np.int8)].get(mode="clip") / scores.sum(1)


def cut_elsewhere(q: Any, k: Any, v: Any) -> Any:
    return jnp.concatenate([q @ k.T, q @ v.T], 1)[:, 1:] @ jnp.concatenate([k, v])[1:]


def large(atom: Any) -> bool:
    return len(atom.shape) == 2 and min(atom.shape) >= N


def taken_apart(function: Callable[..., Any]) -> Graph:
    """With values proven to be the same."""
    arrays = [normal(N, D, seed=k) for k in range(3)]
    graph = read(jax.make_jaxpr(lambda *a: jax.tree.leaves(function(*a)))(*arrays))
    new = parted(graph, large)
    for one, other in zip(evaluate(graph, arrays), evaluate(new, arrays), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-6)
        assert one.dtype == other.dtype
    return new


def joined(graph: Graph) -> int:
    """Large concatenations."""
    names = [node.name for node in graph.nodes if any(map(large, node.outputs))]
    return names.count("concatenate") + names.count("pad")


def gradients(function: Callable[..., Any]) -> Callable[..., Any]:
    def loss(*arrays: Any) -> Any:
        return sum(jnp.sin(each).sum() for each in jax.tree.leaves(function(*arrays)))

    return jax.value_and_grad(loss, (0, 1, 2))


@pytest.mark.parametrize(
    "function",
    [
        with_a_sink,
        pytest.param(two_sets_of_keys, marks=pytest.mark.slow),
        along_the_other_axis,
        with_a_queue,
        picked_by_two_places,
    ],
)
def test_parts_are_not_put_together(function: Callable[..., Any]) -> None:
    assert joined(taken_apart(function)) == 0
    assert joined(taken_apart(gradients(function))) == 0


@pytest.mark.parametrize("dtype", ["bfloat16", "uint8"])
def test_positions_in_a_part_are_those_of_the_whole(dtype: str) -> None:
    """Also of types that cannot count so far."""
    size = 300

    def function(q: Any, k: Any, v: Any) -> Any:
        place = jnp.arange(2 * size, dtype=dtype)
        scores = jnp.concatenate([q @ k[:1].T @ v[:1, :1] + jnp.zeros(size)] * 2, 1)
        return (jnp.where(place % 2 == 0, scores, -1e9) + place.astype("float32")).max(1)

    assert joined(taken_apart(function)) == 0


def test_what_is_needed_whole_stays() -> None:
    assert joined(taken_apart(cut_elsewhere)) == 1


@pytest.mark.parametrize(
    "transform", ["forward", pytest.param("gradient_inside", marks=pytest.mark.slow)]
)
def test_attention_with_a_sink_is_tiled(transform: str) -> None:
    def arguments() -> tuple[Any, ...]:
        return tuple(normal(112, 8, seed=k) for k in range(3))

    outcome = examined(Case("sink", with_a_sink, arguments, large=90), transform, Goal(always=True))
    assert outcome.verdict.is_right, outcome.verdict.why
    assert outcome.is_recognised
