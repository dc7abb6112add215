"""Plain attention is recognised however it is laid out, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.kernels.attention import Attention, attention_of
from orchestrator_core.conductor.kernels.dispatch import Dispatched, unsuited
from tests.conductor.kernels.interpreting import assert_near, graph_of

S, D = 24, 8

Function = Callable[[Any, Any, Any], Any]


def positions() -> tuple[Any, Any]:
    return jnp.arange(S)[:, None], jnp.arange(S)[None, :]


def causal(s: Any) -> Any:
    i, j = positions()
    return jnp.where(i >= j, s, -jnp.inf)


def of(scores: Callable[[Any], Any], axis: int = -1) -> Function:
    """(b, h, s, d) attention with these scores."""
    return lambda q, k, v: jax.nn.softmax(scores(q @ k.mT), axis) @ v


def by_hand(divided: Callable[[Any], Any]) -> Function:
    return lambda q, k, v: divided(jnp.exp(q @ k.mT)) @ v


def arrays(*shape: int, dtype: str = "float32") -> list[Any]:
    r = np.random.default_rng(0)
    return [jnp.asarray(r.normal(size=shape), dtype) for _ in range(3)]


def found(function: Function, given: list[Any]) -> list[tuple[Attention, list[Any]]]:
    """What is recognised, and the arrays that it takes."""
    graph = graph_of(function, given)
    known = dict(zip(graph.inputs, given, strict=True))
    made = [attention_of(graph, node) for node in graph.nodes]
    return [(a, [known[key[0]] for key in (a.q, a.k, a.v)]) for a in made if a is not None]


@pytest.mark.parametrize(
    ("function", "shape", "is_causal"),
    [
        (of(lambda s: s / jnp.sqrt(D)), (3, 3, S, D), False),
        (of(lambda s: causal(s * 0.3)), (2, 3, S, D), True),
        (of(lambda s: causal(s)), (S, D), True),
        (by_hand(lambda e: e / e.sum(-1, keepdims=True)), (3, 3, S, D), False),
    ],
)
def test_plain_attention(function: Function, shape: tuple[int, ...], is_causal: bool) -> None:
    given = arrays(*shape)
    ((attention, taken),) = found(function, given)
    assert attention.is_causal == is_causal
    assert_near([Dispatched(attention).by_xla(*taken)], [function(*given)], 2e-6)


def test_heads_beside_each_other() -> None:
    def function(q: Any, k: Any, v: Any) -> Any:
        s = causal(jnp.einsum("bihd,bjhd->bhij", q, k))
        return jnp.einsum("bhij,bjhd->bhid", jax.nn.softmax(s), v)

    given = arrays(2, S, 3, D)
    ((attention, taken),) = found(function, given)
    assert_near([Dispatched(attention).by_xla(*taken)], [function(*given)], 2e-6)


@pytest.mark.parametrize(
    "function",
    [
        of(lambda s: 5 * jnp.tanh(s / 5)),
        of(lambda s: jnp.where(positions()[0] > positions()[1], s, -jnp.inf)),
        of(lambda s: jnp.where(positions()[0] <= positions()[1], s, -jnp.inf)),
        of(lambda s: jnp.where(positions()[0] + 1 >= positions()[1], s, -jnp.inf)),
        of(lambda s: jnp.where(positions()[0] >= positions()[1], s, -1e9)),
        of(lambda s: s, axis=-2),
        by_hand(lambda e: e / (e.sum(-1, keepdims=True) + 0.5)),
        by_hand(lambda e: e / jnp.swapaxes(e.sum(-1, keepdims=True), 0, 1)),
        by_hand(lambda e: e / (2 * e).sum(-1, keepdims=True)),
    ],
)
def test_what_only_looks_like_it(function: Function) -> None:
    assert not found(function, arrays(3, 3, S, D))


def test_what_cudnn_does_not_take() -> None:
    function = of(causal)
    ((narrow, _),) = found(function, arrays(2, 2, S, D, dtype="bfloat16"))
    ((wide, _),) = found(function, arrays(2, 2, S, D))
    ((odd, _),) = found(function, arrays(2, 2, S, D + 1, dtype="bfloat16"))
    assert unsuited(narrow) == ""
    assert "float32" in unsuited(wide)
    assert "multiples of 8" in unsuited(odd)
