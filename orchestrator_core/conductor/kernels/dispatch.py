"""Plain attention handed to cuDNN, which nobody needs to write again.

Only where nothing else reads its weights, as in inference: a gradient that was taken of the same
attention reads them, and is made of kernels together with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.facts.cells import Key
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.kernels.attention import (
    KEYS,
    Attention,
    attention_of,
    axes_of,
)
from orchestrator_core.conductor.kernels.lowering import has_gpu, refusal
from orchestrator_core.conductor.kernels.name import NAME
from orchestrator_core.conductor.site import AS_IT_IS, Site
from orchestrator_core.conductor.tile.settings import TileSettings

TYPES = ("bfloat16", "float16")

WIDEST = 128
"""Head dimension that cuDNN takes on all GPUs of compute capability 8.0 and up; it must be a
multiple of 8."""


@dataclass(frozen=True)
class Dispatched:
    """Called with queries, keys and values in the user's layout it returns the attention."""

    found: Attention

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        made: Any = lax.platform_dependent(*arrays, cuda=self.by_cudnn, default=self.by_xla)
        return [made]

    def by_cudnn(self, *arrays: Any) -> Any:
        """In the user's own order of heads and positions, so that nothing is copied."""
        q, k, v = self._laid(arrays, self._heads_first)
        made = _jax.cudnn_attention(
            q,
            k,
            v,
            scale=self.found.scale,
            is_causal=self.found.is_causal,
            heads_first=self._heads_first,
        )
        return self._as_found(made, self._heads_first)

    def by_xla(self, *arrays: Any) -> Any:
        q, k, v = self._laid(arrays, False)
        made = jax.nn.dot_product_attention(
            q, k, v, scale=self.found.scale, is_causal=self.found.is_causal, implementation="xla"
        )
        return self._as_found(made, False)

    @property
    def _heads(self) -> list[Any]:
        """Roles of the batch, if there is one, and of heads, in the order of the result."""
        return sorted(set(axes_of(self.found.q)) & set(axes_of(self.found.k)) - {None}, key=str)

    @property
    def _query(self) -> Any:
        (query,) = set(axes_of(self.found.q)) - {*self._heads, None}
        return query

    @property
    def _column(self) -> Any:
        (column,) = set(axes_of(self.found.v)) - {*self._heads, KEYS}
        return column

    @property
    def _heads_first(self) -> bool:
        """Do all positions of one head lie side by side in memory?"""
        at = axes_of(self.found.q)
        return not self._heads or at[self._heads[-1]] < at[self._query]

    def _laid(self, arrays: Sequence[Any], heads_first: bool) -> list[Any]:
        """Queries, keys and values as (batch, heads, length, d) or (batch, length, heads, d)."""
        found = self.found
        pairs = zip((found.q, found.k, found.v), arrays, strict=True)
        along = (self._query, KEYS, KEYS)
        last = (None, None, self._column)
        return [
            self._placed(key, array, one, end, heads_first)
            for (key, array), one, end in zip(pairs, along, last, strict=True)
        ]

    def _placed(self, key: Key, array: Any, along: Any, last: Any, heads_first: bool) -> Any:
        """One of them; with an axis of one element for a batch, and for heads, if there is none."""
        at, heads = axes_of(key), self._heads
        roles = [*heads[:-1], *_inner(heads[-1:], along, heads_first), last]
        order = [at[role] for role in roles]
        real = [k for k in range(array.ndim) if k in order]
        squeezed = jnp.reshape(array, [array.shape[k] for k in real])
        moved = jnp.transpose(squeezed, [real.index(k) for k in order])
        moved = moved if heads else jnp.expand_dims(moved, 0 if heads_first else 1)
        return moved if len(heads) == 2 else moved[None]

    def _as_found(self, made: Any, heads_first: bool) -> Any:
        """In the axes and of the type of the node that was there."""
        roles = self._heads
        made = jnp.squeeze(made, 0) if len(roles) < 2 else made
        made = jnp.squeeze(made, 0 if heads_first else 1) if not roles else made
        now = [*roles[:-1], *_inner(roles[-1:], self._query, heads_first), self._column]
        output = self.found.node.output
        order = [now.index(str(n)) for n in range(len(output.shape))]
        return jnp.transpose(made, order).astype(output.dtype)


def _inner(heads: Sequence[Any], along: Any, heads_first: bool) -> list[Any]:
    """Roles of heads and positions, in the order wanted."""
    return [*heads, along] if heads_first else [along, *heads]


def in_kernels(graph: Graph, goal: Goal, settings: TileSettings) -> tuple[Graph, list[Site]]:
    """All plain attention of a graph that cuDNN takes and nobody else reads the weights of."""
    sites: list[Site] = []
    if not has_gpu() or goal.is_strict:
        return graph, sites
    for node in graph.nodes:
        found = attention_of(graph, node)
        if found is not None:
            graph, site = _tried(graph, found, goal)
            sites.append(site)
    return graph, sites


def _tried(graph: Graph, found: Attention, goal: Goal) -> tuple[Graph, Site]:
    node = found.node
    what = "causal attention" if found.is_causal else "attention without a mask"
    known = goal.decided(NAME, node.source, what)
    if known is not None and not known.is_changed:
        return graph, known
    try:
        why = unsuited(found)
        program = Dispatched(found)
        inputs = (found.q[0], found.k[0], found.v[0])
        avals = [each.aval for each in inputs]
        why = why or refusal(program.by_cudnn, avals, is_interpreted=False)
    except Exception as error:  # this site stays as it is
        why = f"{type(error).__name__}: {error}"
    if not why:
        made = Node("cudnn_attention", inputs, node.outputs, program, source=node.source)
        after = graph.with_nodes([made if each is node else each for each in graph.nodes])
        if _is_smaller(after, graph):
            site = Site(NAME, node.source, what, "cuDNN", "it has a kernel for that")
            return after, site
        why = "its weights are needed elsewhere"
    return graph, Site(NAME, node.source, what, AS_IT_IS, why)


def _is_smaller(after: Graph, before: Graph) -> bool:
    """Is the largest value gone?"""

    def largest(graph: Graph) -> int:
        return max((value.size for node in graph.nodes for value in node.outputs), default=0)

    return largest(after) < largest(before)


def unsuited(found: Attention) -> str:
    """Why cuDNN does not take it; empty if it may."""
    values = (found.q[0], found.k[0], found.v[0])
    types = {str(each.dtype) for each in values}
    if len(types) > 1 or not types <= {*TYPES}:
        return f"cuDNN takes {' and '.join(TYPES)}, this is {' and '.join(sorted(types))}"
    q, k, v = (axes_of(each) for each in (found.q, found.k, found.v))
    d = found.q[0].shape[q[None]]
    (column,) = set(v) - set(q) - {KEYS}
    if d % 8 or d > WIDEST or found.v[0].shape[v[column]] != d:
        return f"cuDNN takes head dimensions up to {WIDEST} that are multiples of 8"
    (query,) = set(q) - set(k)
    if found.is_causal and found.q[0].shape[q[query]] != found.k[0].shape[k[KEYS]]:
        return "a causal mask of unequal lengths"
    if len(set(q) & set(k)) > 3:
        return "more than one axis beside batch and heads"
    return ""
