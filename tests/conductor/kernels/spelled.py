"""Attention in many spellings, and what is found of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor.algebra.rewrite import algebra
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.kernels.attention import Attention, attentions_of
from orchestrator_core.conductor.kernels.cudnn.by_heads import Attend, by_heads
from orchestrator_core.conductor.kernels.cudnn.dispatch import programs_of
from orchestrator_core.conductor.kernels.cudnn.layout import Layout
from tests.conductor.kernels.interpreting import assert_near, graph_of

S, D = 24, 8

Function = Callable[..., Any]


def positions() -> tuple[Any, Any]:
    return jnp.arange(S)[:, None], jnp.arange(S)[None, :]


def causal(s: Any, fill: float = -np.inf) -> Any:
    i, j = positions()
    return jnp.where(i >= j, s, fill)


def in_window(s: Any) -> Any:
    i, j = positions()
    return jnp.where((j <= i) & (j > i - 7), s, -jnp.inf)


def of(scores: Callable[[Any], Any], axis: int = -1) -> Function:
    """(b, h, s, d) attention with these scores."""
    return lambda q, k, v: jax.nn.softmax(scores(q @ k.mT), axis) @ v


def by_hand(divided: Callable[[Any], Any]) -> Function:
    return lambda q, k, v: divided(jnp.exp(q @ k.mT)) @ v


def with_maximum(q: Any, k: Any, v: Any) -> Any:
    """The gradient of the maximum is zero, and is written all the same."""
    s = jnp.where(jnp.tril(jnp.ones((S, S), bool)), (q @ k.mT) / np.sqrt(D), -1e30)
    e = jnp.exp(s - s.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)) @ v


def heads_last(q: Any, k: Any, v: Any) -> Any:
    s = causal(jnp.einsum("bihd,bjhd->bhij", q, k))
    return jnp.einsum("bhij,bjhd->bihd", jax.nn.softmax(s), v)


def of_jax(q: Any, k: Any, v: Any) -> Any:
    return jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="xla")


def in_groups(q: Any, k: Any, v: Any) -> Any:
    """Three heads of queries share each head of keys."""
    return jax.nn.dot_product_attention(
        q, k[:, :, ::3], v[:, :, ::3], is_causal=True, implementation="xla"
    )


def one_head_of_keys(q: Any, k: Any, v: Any) -> Any:
    """Shazeer, "Fast transformer decoding", 2019; no mask, and more heads than positions."""
    s = jnp.einsum("hid,jd->hij", q, k[0])
    return jnp.einsum("hij,jd->hid", jax.nn.softmax(s), v[0])


def merged(q: Any, k: Any, v: Any) -> Any:
    """Batch and heads are one axis of the scores."""
    q, k, v = (jnp.reshape(each, (-1, S, D)) for each in (q, k, v))
    return jnp.reshape(jax.nn.softmax(causal(q @ k.mT)) @ v, (2, 3, S, D))


def keys_are_values(q: Any, k: Any, v: Any) -> Any:
    return jax.nn.softmax(causal(q @ k.mT)) @ k + 0 * v


def of_one_array(q: Any, k: Any, v: Any) -> Any:
    return jax.nn.softmax(causal(q @ q.mT)) @ q + 0 * k * v


SPELLINGS: dict[str, tuple[Function, tuple[int, ...], str]] = {
    "no mask": (of(lambda s: s / jnp.sqrt(D)), (3, 3, S, D), "attention without a mask"),
    "causal": (of(lambda s: causal(s * 0.3)), (2, 3, S, D), "causal attention"),
    "one head": (of(causal), (S, D), "causal attention"),
    "a batch of one": (of(causal), (1, 3, S, D), "causal attention"),
    "a window": (of(in_window), (2, 3, S, D), "attention in a window of 7"),
    "no maximum": (by_hand(lambda e: e / e.sum(-1, keepdims=True)), (3, 3, S, D), ""),
    "a maximum": (with_maximum, (2, 3, S, D), "causal attention"),
    "heads last": (heads_last, (2, S, 3, D), "causal attention"),
    "finite fill": (of(lambda s: causal(s, -1e9)), (2, 3, S, D), "causal attention"),
    "of JAX": (of_jax, (2, S, 3, D), "causal attention"),
    "in groups": (in_groups, (2, S, 6, D), "causal attention"),
    "one head of keys": (one_head_of_keys, (30, S, D), "attention without a mask"),
    "keys are values": (keys_are_values, (2, 3, S, D), "causal attention"),
    "of one array": (of_one_array, (2, 3, S, D), "causal attention"),
    "merged": (merged, (6, S, D), "causal attention"),
}


def arrays(*shape: int, dtype: str = "float32") -> list[Any]:
    r = np.random.default_rng(0)
    return [jnp.asarray(r.normal(size=shape), dtype) for _ in range(3)]


def found(function: Function, given: list[Any]) -> tuple[Graph, list[Attention]]:
    graph, _ = algebra(graph_of(function, given), Goal())
    return graph, list(attentions_of(graph))


def with_gradients(function: Function) -> Function:
    """All but the values' as others compute them: of a sum of what is made of the result."""
    return jax.value_and_grad(lambda *given: jnp.sin(function(*given)).sum(), (0, 1, 2))


def written_out(attention: Attention) -> Attend:
    """What cuDNN does: what a mask hides has no part in it."""
    softmax = attention.softmax
    if softmax.mask is not None:
        softmax = replace(softmax, mask=replace(softmax.mask, fill=-np.inf))
    return by_heads(softmax, Layout.of(softmax).heads_first)


def assert_same(graph: Graph, attention: Attention, given: list[Any]) -> None:
    """Each program makes what was there, of what was there."""
    known = dict(zip(graph.inputs, given, strict=True))
    whole = Graph(graph.inputs, tuple(v for n in graph.nodes for v in n.outputs), graph.nodes, {})
    known.update(zip(whole.outputs, evaluate(whole, given), strict=True))  # type: ignore[arg-type]
    for program in programs_of(graph, attention):
        taken = [known[value] for value in program.before.inputs]
        made, _ = program.by(written_out(attention), taken)
        assert_near(made, program.as_it_was(*taken), 5e-6)
        for each, array in zip(program.made, made, strict=True):
            assert (array.shape, array.dtype) == (each.node.output.shape, each.node.output.dtype)
            assert_near([array], [known[each.node.output]], 5e-6)


def two_layers(q: Any, k: Any, v: Any) -> Any:
    return of(causal)(of(causal)(q, k, v), k, v)
