"""Concatenations along a long axis, taken apart: each part is computed on its own.

    p = softmax([s, sink]);  p[:, :n] @ v        attention with a sink beside its scores

Elementwise operations are done with each part, reductions of the parts are put together, and a
slice that is one part is that part. What is then not needed as a whole is not made. Only the order
of sums changes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jax import lax

from orchestrator_core.conductor.facts.transfer.elementwise import ELEMENTWISE
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node, of_primitive
from orchestrator_core.conductor.ir.value import Atom, Literal, Value

TOGETHER: Mapping[str, Any] = {
    "reduce_sum": lax.add_p,
    "reduce_prod": lax.mul_p,
    "reduce_max": lax.max_p,
    "reduce_min": lax.min_p,
    "reduce_and": lax.and_p,
    "reduce_or": lax.or_p,
}
"""By reduction, what puts those of two parts together."""


def parted(graph: Graph, is_pairwise: Callable[[Atom], bool]) -> Graph:
    """The same function; the same graph if it has no large concatenation that can be left out."""
    starts = {node.output for node in graph.nodes if _is_start(node) and is_pairwise(node.output)}
    while starts:
        new = _Walk(graph, starts, is_pairwise).graph()
        left = {value for value in starts if value in new.producer}
        if not left:
            return new
        starts -= left
    return graph


def _is_start(node: Node) -> bool:
    if node.name == "concatenate":
        return len(node.inputs) > 1
    return node.name == "pad" and _padded(node) is not None


def _padded(node: Node) -> int | None:
    """The only axis along which something is put beside an array, and nothing within it."""
    config = [tuple(each) for each in node.params["padding_config"]]
    axes = [axis for axis, each in enumerate(config) if each != (0, 0, 0)]
    plain = len(axes) == 1 and min(config[axes[0]]) >= 0 and config[axes[0]][2] == 0
    return axes[0] if plain else None


@dataclass(frozen=True)
class _Cut:
    """Along which axis an array is cut, and how long its parts are."""

    axis: int
    sizes: tuple[int, ...]

    def shape(self, whole: Sequence[int], k: int) -> tuple[int, ...]:
        return (*whole[: self.axis], self.sizes[k], *whole[self.axis + 1 :])

    def bounds(self, k: int) -> tuple[int, int]:
        ends = [0, *itertools.accumulate(self.sizes)]
        return ends[k], ends[k + 1]


class _Walk:
    """One walk over a graph, in which what is made of parts is made part by part."""

    def __init__(self, graph: Graph, starts: set[Value], is_large: Callable[[Atom], bool]) -> None:
        self._graph, self._starts, self._is_large = graph, starts, is_large
        self._nodes: list[Node] = []
        self._cuts: dict[Value, _Cut] = {}
        self._parts: dict[tuple[Atom, _Cut, int], Atom] = {}
        for node in graph.nodes:
            self._take(node)

    def graph(self) -> Graph:
        return self._graph.with_nodes(self._nodes)

    def _take(self, node: Node) -> None:
        if len(node.outputs) == 1 and node.output in self._starts:
            self._start(node)
        given = [self._cuts[i] for i in node.inputs if isinstance(i, Value) and i in self._cuts]
        if given and node.name == "split":
            self._split(node, given[0])
        elif not given or node.primitive is None or len(node.outputs) != 1 or node.effects:
            self._nodes.append(node)
        elif node.name in ELEMENTWISE and node.output.shape:
            self._cuts[node.output] = given[0]
            self._nodes.append(node)
        elif node.name in TOGETHER:
            self._reduce(node, given[0])
        else:
            part = self._sliced(node, given[0]) if node.name == "slice" else None
            self._nodes.append(node if part is None else _copy(part, node.output, node))

    def _start(self, node: Node) -> None:
        if node.name == "concatenate":
            axis, parts = node.params["dimension"], list(node.inputs)
        else:
            axis = _padded(node)
            assert axis is not None
            low, high, _ = node.params["padding_config"][axis]
            beside = [self._filled(node, axis, size) for size in (low, high)]
            parts = [each for each in (beside[0], node.inputs[0], beside[1]) if each is not None]
        cut = _Cut(axis, tuple(each.shape[axis] for each in parts))
        self._cuts[node.output] = cut
        self._parts.update(((node.output, cut, k), part) for k, part in enumerate(parts))

    def _filled(self, node: Node, axis: int, size: int) -> Value | None:
        shape = _Cut(axis, (size,)).shape(node.output.shape, 0)
        return self._broadcast(node, node.inputs[1], shape, ()) if size else None

    def _part(self, atom: Atom, cut: _Cut, k: int) -> Atom:
        """One part of a value, which may be made of parts or not."""
        if isinstance(atom, Literal) or not atom.shape or atom.shape[cut.axis] == 1:
            return atom
        key = (atom, cut, k)
        if key not in self._parts:
            self._parts[key] = self._made(atom, cut, k)
        return self._parts[key]

    def _made(self, value: Value, cut: _Cut, k: int) -> Value:
        node = self._graph.producer.get(value)
        shape, start = cut.shape(value.shape, k), cut.bounds(k)[0]
        if node is not None and node.primitive is not None and node.name in ELEMENTWISE:
            inputs = [self._part(each, cut, k) for each in node.inputs]
            return self._like(node, inputs, shape, node.params)
        if node is not None and node.name == "broadcast_in_dim" and len(node.inputs) == 1:
            return self._cut_broadcast(node, cut, k)
        if node is not None and node.name == "iota":
            new = self._like(node, [], shape, {**node.params, "shape": shape})
            along = node.params["dimension"] == cut.axis and start
            first = Literal(value.dtype.type(start), value.aval.update(shape=()))
            return self._spread_sum(node, new, first) if along else new
        return self._slice(value, cut, k, node)

    def _spread_sum(self, node: Node, value: Value, number: Literal) -> Value:
        spread = self._broadcast(node, number, value.shape, ())
        return self._new(lax.add_p, [value, spread], value, {}, node)

    def _cut_broadcast(self, node: Node, cut: _Cut, k: int) -> Value:
        """The operand is cut if it has the axis."""
        to, operand = tuple(node.params["broadcast_dimensions"]), node.inputs[0]
        if cut.axis in to and operand.shape[to.index(cut.axis)] > 1:
            assert isinstance(operand, Value)
            own = _Cut(to.index(cut.axis), cut.sizes)
            operand = self._part(operand, own, k)
        return self._broadcast(node, operand, cut.shape(node.output.shape, k), to)

    def _slice(self, value: Value, cut: _Cut, k: int, node: Node | None) -> Value:
        first, last = [0] * len(value.shape), [*value.shape]
        first[cut.axis], last[cut.axis] = cut.bounds(k)
        params = {"start_indices": tuple(first), "limit_indices": tuple(last), "strides": None}
        like = Value(value.aval.update(shape=cut.shape(value.shape, k)))
        return self._new(lax.slice_p, [value], like, params, node)

    def _reduce(self, node: Node, cut: _Cut) -> None:
        """Of parts that are put together, or of each part if it goes along other axes."""
        axes = node.params["axes"]
        if cut.axis not in axes:
            self._reduce_each(node, cut)
            return
        parts = [self._part(node.inputs[0], cut, k) for k in range(len(cut.sizes))]
        done = [self._like(node, [p], node.output.shape, node.params) for p in parts]
        for k, each in enumerate(done[1:], 1):
            out = node.output if k == len(done) - 1 else Value(node.output.aval)
            both = (done[0], each)
            self._nodes.append(
                of_primitive(TOGETHER[node.name], both, (out,), {}, source=node.source)
            )
            done[0] = out

    def _reduce_each(self, node: Node, cut: _Cut) -> None:
        """What is not large any more is put together."""
        new = _Cut(cut.axis - sum(a < cut.axis for a in node.params["axes"]), cut.sizes)
        parts = []
        for k in range(len(cut.sizes)):
            part, shape = self._part(node.inputs[0], cut, k), new.shape(node.output.shape, k)
            parts.append(self._like(node, [part], shape, node.params))
        self._cuts[node.output] = new
        self._parts.update(((node.output, new, k), part) for k, part in enumerate(parts))
        if not self._is_large(node.output):
            how = {"dimension": new.axis}
            node = of_primitive(lax.concatenate_p, parts, node.outputs, how, source=node.source)
        self._nodes.append(node)

    def _split(self, node: Node, cut: _Cut) -> None:
        same = (node.params["axis"], tuple(node.params["sizes"])) == (cut.axis, cut.sizes)
        parts = [self._part(node.inputs[0], cut, k) for k in range(len(cut.sizes)) if same]
        pairs = zip(parts, node.outputs, strict=False)
        self._nodes += [_copy(*each, node) for each in pairs] if same else [node]

    def _sliced(self, node: Node, cut: _Cut) -> Atom | None:
        """The part that a slice is."""
        first, last = node.params["start_indices"], node.params["limit_indices"]
        shape = node.inputs[0].shape
        others = [(a, b) for d, (a, b) in enumerate(zip(first, last, strict=True)) if d != cut.axis]
        wholes = [(0, size) for d, size in enumerate(shape) if d != cut.axis]
        if others != wholes or any(each != 1 for each in node.params["strides"] or ()):
            return None
        bounds = [cut.bounds(k) for k in range(len(cut.sizes))]
        wanted = (first[cut.axis], last[cut.axis])
        return self._part(node.inputs[0], cut, bounds.index(wanted)) if wanted in bounds else None

    def _like(self, node: Node, inputs: Sequence[Atom], shape: Sequence[int], params: Any) -> Value:
        like = Value(node.output.aval.update(shape=tuple(shape)))
        return self._new(node.primitive, inputs, like, params, node)

    def _broadcast(
        self, node: Node, operand: Atom, shape: Sequence[int], to: tuple[int, ...]
    ) -> Value:
        params = {"shape": tuple(shape), "broadcast_dimensions": to, "sharding": None}
        like = Value(node.output.aval.update(shape=tuple(shape)))
        return self._new(lax.broadcast_in_dim_p, [operand], like, params, node)

    def _new(
        self, primitive: Any, inputs: Sequence[Atom], like: Value, params: Any, node: Node | None
    ) -> Value:
        made = Value(like.aval)
        source = node.source if node is not None else ""
        self._nodes.append(of_primitive(primitive, tuple(inputs), (made,), params, source=source))
        return made


def _copy(part: Atom, output: Value, node: Node) -> Node:
    return Node("copy", (part,), (output,), list, source=node.source)
