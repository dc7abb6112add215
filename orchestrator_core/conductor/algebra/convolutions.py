"""A convolution and what scales and shifts its channels, as one: batch norm at inference.

    (conv(x, w) - mean) * scale + shift     becomes     conv(x, w * scale) + (shift - mean * scale)

Equal in real numbers (S. Ioffe and C. Szegedy, "Batch normalization", 2015, at inference). Where a
scale or a shift is not finite, or so large that products with it may not be, or so small that the
weights would be lost, all is done as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor._jax import is_inexact
from orchestrator_core.conductor.algebra.judged import prices, site
from orchestrator_core.conductor.facts.dataflow import Dataflow
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.usual import chosen_by_use
from orchestrator_core.conductor.ir.value import Atom, Literal, Value
from orchestrator_core.conductor.ir.written import in_place_of, written
from orchestrator_core.conductor.site import Site

CHAIN = frozenset({"add", "sub", "mul", "div"})


def folded_into(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """The graph with scales and shifts in the weights of convolutions, where that is faster."""
    sites: list[Site] = []
    flow: Dataflow | None = None
    if goal.is_strict:
        return graph, sites
    for output in [n.output for n in graph.nodes if n.name == "conv_general_dilated"]:
        # What was folded before has changed what it reads.
        node = graph.producer[output]
        if not _may_be_scaled(graph, node):
            continue
        if flow is None or flow.graph is not graph:
            flow = Dataflow(graph)
        chain = _chain(flow, node)
        if not chain:
            continue
        nodes, outputs = [node, *chain], [chain[-1].output]
        inputs = [each for each in _inputs(nodes) if isinstance(each, Value)]
        new, mostly = (
            written(_Folded(nodes, inputs, is_guarded), inputs, node.source)
            for is_guarded in (True, False)
        )
        both = prices(nodes, mostly, outputs)
        decided = site(node, "a convolution, scaled and shifted", "one convolution", both, goal)
        sites.append(decided)
        if decided.is_changed:
            graph = in_place_of(graph, nodes, new, outputs)
    return graph, sites


def _may_be_scaled(graph: Graph, conv: Node) -> bool:
    """Is it of one type, not of whole numbers, and is its only reader one that scales or shifts?"""
    types = {each.dtype for each in (*conv.inputs, conv.output)}
    reader = _only_reader(graph, conv.output)
    is_of_one_type = len(types) == 1 and is_inexact(conv.output.dtype)
    return is_of_one_type and reader is not None and reader.name in CHAIN


def _only_reader(graph: Graph, value: Value) -> Node | None:
    readers = graph.consumers.get(value, ())
    return readers[0] if len(readers) == 1 and value not in graph.outputs else None


def _chain(flow: Dataflow, conv: Node) -> list[Node]:
    """The nodes after a convolution that do the same to all of a channel."""
    found: list[Node] = []
    value = conv.output
    while (node := _only_reader(flow.graph, value)) is not None:
        if not _is_by_channel(flow, node, value, _channel(conv)):
            break
        found.append(node)
        value = node.output
    scales = any(node.name in ("mul", "div") for node in found)
    return found if scales else []


def _is_by_channel(flow: Dataflow, node: Node, value: Value, channel: int) -> bool:
    if node.name not in CHAIN or (node.name == "div" and node.inputs[0] is not value):
        return False
    others = [each for each in node.inputs if each is not value]
    same = node.output.dtype == value.dtype and node.output.shape == value.shape
    return same and len(others) == 1 and _is_one_number(flow, others[0], channel)


def _is_one_number(flow: Dataflow, atom: Atom, channel: int) -> bool:
    """Is it proven to be the same all over a channel?"""
    spec = tuple(
        ((size, "i"),) if size > 1 and axis != channel else ((size, None),)
        for axis, size in enumerate(atom.shape)
    )
    return flow.is_invariant(atom, spec, "i")


def _channel(conv: Node) -> int:
    return int(conv.params["dimension_numbers"].out_spec[1])


def _inputs(nodes: Sequence[Node]) -> list[Atom]:
    """What they read that none of them makes."""
    made = {value for node in nodes for value in node.outputs}
    return list(dict.fromkeys(i for node in nodes for i in node.inputs if i not in made))


class _Folded:
    """What stands for a convolution and the chain after it.

    Args:
        is_guarded: False to leave out what happens where a scale is not usual, for pricing.
    """

    def __init__(self, nodes: Sequence[Node], inputs: Sequence[Value], is_guarded: bool) -> None:
        self._conv, *self._chain = nodes
        self._inputs, self._is_guarded = inputs, is_guarded

    def __call__(self, *arrays: Any) -> list[Any]:
        known: dict[Any, Any] = dict(zip(self._inputs, arrays, strict=True))
        scale, shift = self._line(known)
        if not self._is_guarded:
            return self._folded(known, scale, shift)
        return chosen_by_use(
            self._is_usual(known, scale, shift),
            lambda: self._folded(known, scale, shift),
            lambda: self._as_written(known),
        )

    def _is_usual(self, known: dict[Any, Any], scale: Any, shift: Any) -> Any:
        """Does nothing become too large, and no channel's weights too small? A scale of zero may
        be a product of small ones."""
        largest = self._largest_weights(known)
        scaled = largest * jnp.abs(scale)
        line = [each for each in (scale, shift, scaled) if each is not None]
        are_small = jnp.stack([jnp.abs(each) <= _limit(each.dtype) for each in line])
        are_kept = (scaled >= _least(scaled.dtype)) | (largest == 0)
        return are_small.all() & are_kept.all()

    def _as_written(self, known: dict[Any, Any]) -> list[Any]:
        known = dict(known)
        for node in (self._conv, *self._chain):
            arrays = [
                each.value if isinstance(each, Literal) else known[each] for each in node.inputs
            ]
            (known[node.output],) = node.apply(arrays)
        return [known[self._chain[-1].output]]

    def _folded(self, known: dict[Any, Any], scale: Any, shift: Any) -> list[Any]:
        x, weights = (known[each] for each in self._conv.inputs)
        out = self._conv.params["dimension_numbers"].rhs_spec[0]
        weights = weights * scale.reshape(_along(out, weights.ndim))
        (made,) = self._conv.apply([x, weights])
        if shift is not None:
            made = made + shift.reshape(_along(_channel(self._conv), made.ndim))
        return [made]

    def _largest_weights(self, known: dict[Any, Any]) -> Any:
        """Of each channel."""
        weights = known[self._conv.inputs[1]]
        out = self._conv.params["dimension_numbers"].rhs_spec[0]
        return jnp.abs(weights).max([k for k in range(weights.ndim) if k != out], initial=0)

    def _line(self, known: dict[Any, Any]) -> tuple[Any, Any]:
        """What each channel is multiplied by, and what is added; None if nothing is."""
        value = self._conv.output
        scale: Any = None
        shift: Any = None
        for node in self._chain:
            is_first = node.inputs[0] is value
            u = self._number(node.inputs[1 if is_first else 0], known)
            if node.name == "add":
                shift = u if shift is None else shift + u
            elif node.name == "sub":
                shift = -u if shift is None else shift - u
            else:
                by = u if node.name == "mul" else 1 / u
                scale = by if scale is None else scale * by
                shift = None if shift is None else shift * by
            if node.name == "sub" and not is_first:
                scale, shift = -jnp.ones_like(u) if scale is None else -scale, -shift
            value = node.output
        return scale, shift

    def _number(self, atom: Atom, known: dict[Any, Any]) -> Any:
        """One number for each channel."""
        array = jnp.asarray(atom.value) if isinstance(atom, Literal) else known[atom]
        channel = _channel(self._conv)
        for axis in range(array.ndim):
            if axis != channel:
                array = lax.slice_in_dim(array, 0, 1, axis=axis)
        return jnp.broadcast_to(array.reshape(-1), self._conv.output.shape[channel : channel + 1])


def _limit(dtype: Any) -> float:
    """Products of two numbers that are no larger are finite."""
    info: Any = jnp.finfo(dtype)  # type: ignore[no-untyped-call]
    return float(float(info.max) ** 0.5)


def _least(dtype: Any) -> float:
    """Beside a number that is no smaller, what is too small for the type is less than a last digit.
    XLA may take for zero what has fewer digits than others, but of float16."""
    info: Any = jnp.finfo(dtype)  # type: ignore[no-untyped-call]
    lost = info.smallest_subnormal if dtype == jnp.float16 else info.tiny
    return float(lost) / float(info.eps)


def _along(axis: int, rank: int) -> tuple[int, ...]:
    return tuple(-1 if each == axis else 1 for each in range(rank))
