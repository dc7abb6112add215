"""Concatenations along a long axis, taken apart: each part is computed on its own.

    p = softmax([s, sink]);  p[:, :n] @ v        attention with a sink beside its scores

Elementwise operations are done with each part, reductions of the parts are put together, a slice
that is one part is that part, and what is picked by index is picked of the part in which it is.
What is then not needed as a whole is not made. Only the order of sums changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jax import lax

from orchestrator_core.conductor.facts.transfer.elementwise import ELEMENTWISE
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node, of_primitive
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.tile.cut import Cut
from orchestrator_core.conductor.tile.cut_parts import CutParts
from orchestrator_core.conductor.tile.picked_parts import gathered, picks_along

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


class _Walk:
    """One walk over a graph, in which what is made of parts is made part by part."""

    def __init__(self, graph: Graph, starts: set[Value], is_large: Callable[[Atom], bool]) -> None:
        self._graph, self._starts, self._is_large = graph, starts, is_large
        self._parts = CutParts(graph)
        self._cuts: dict[Value, Cut] = {}
        for node in graph.nodes:
            self._take(node)

    def graph(self) -> Graph:
        return self._graph.with_nodes(self._parts.nodes)

    def _take(self, node: Node) -> None:
        if len(node.outputs) == 1 and node.output in self._starts:
            self._start(node)
        given = [self._cuts[i] for i in node.inputs if isinstance(i, Value) and i in self._cuts]
        if given and node.name == "split":
            self._split(node, given[0])
        elif not given or node.primitive is None or len(node.outputs) != 1 or node.effects:
            self._take_whole(node)
        elif node.name in ELEMENTWISE and node.output.shape:
            self._cuts[node.output] = given[0]
            self._parts.nodes.append(node)
        elif node.name in TOGETHER:
            self._reduce(node, given[0])
        else:
            part = self._part_of(node)
            self._parts.nodes.append(node if part is None else _copy(part, node.output, node))

    def _take_whole(self, node: Node) -> None:
        """What is added by index into zeros is cut as what it is the derivative of."""
        if node.name == "scatter-add":
            alike = (v for v in self._cuts if v in self._starts and v.shape == node.output.shape)
            cuts = (self._cuts[value] for value in alike)
            cut = next((each for each in cuts if picks_along(node, each.axis)), None)
            if cut is not None:
                self._cuts[node.output] = cut
        self._parts.nodes.append(node)

    def _part_of(self, node: Node) -> Atom | None:
        """What the node takes out of its first operand, if that comes from single parts."""
        operand = node.inputs[0]
        cut = self._cuts.get(operand) if isinstance(operand, Value) else None
        if cut is not None and node.name == "slice":
            return self._sliced(node, cut)
        if cut is None or node.name != "gather" or not picks_along(node, cut.axis):
            return None
        parts = [self._parts.part(operand, cut, k) for k in range(len(cut.sizes))]
        return self._parts.written(gathered(node, cut), [node.inputs[1], *parts], node)

    def _start(self, node: Node) -> None:
        if node.name == "concatenate":
            axis, parts = node.params["dimension"], list(node.inputs)
        else:
            axis = _padded(node)
            assert axis is not None
            low, high, _ = node.params["padding_config"][axis]
            beside = [self._filled(node, axis, size) for size in (low, high)]
            parts = [each for each in (beside[0], node.inputs[0], beside[1]) if each is not None]
        cut = Cut(axis, tuple(each.shape[axis] for each in parts))
        self._cuts[node.output] = cut
        self._parts.known.update(((node.output, cut, k), part) for k, part in enumerate(parts))

    def _filled(self, node: Node, axis: int, size: int) -> Value | None:
        shape = Cut(axis, (size,)).shape(node.output.shape, 0)
        return self._parts.broadcast(node, node.inputs[1], shape, ()) if size else None

    def _reduce(self, node: Node, cut: Cut) -> None:
        """Of parts that are put together, or of each part if it goes along other axes."""
        axes = node.params["axes"]
        if cut.axis not in axes:
            self._reduce_each(node, cut)
            return
        parts = [self._parts.part(node.inputs[0], cut, k) for k in range(len(cut.sizes))]
        done = [self._parts.like(node, [p], node.output.shape, node.params) for p in parts]
        for k, each in enumerate(done[1:], 1):
            out = node.output if k == len(done) - 1 else Value(node.output.aval)
            both = (done[0], each)
            self._parts.nodes.append(
                of_primitive(TOGETHER[node.name], both, (out,), {}, source=node.source)
            )
            done[0] = out

    def _reduce_each(self, node: Node, cut: Cut) -> None:
        """What is not large any more is put together."""
        new = Cut(cut.axis - sum(a < cut.axis for a in node.params["axes"]), cut.sizes)
        parts = []
        for k in range(len(cut.sizes)):
            part, shape = self._parts.part(node.inputs[0], cut, k), new.shape(node.output.shape, k)
            parts.append(self._parts.like(node, [part], shape, node.params))
        self._cuts[node.output] = new
        self._parts.known.update(((node.output, new, k), part) for k, part in enumerate(parts))
        if not self._is_large(node.output):
            how = {"dimension": new.axis}
            node = of_primitive(lax.concatenate_p, parts, node.outputs, how, source=node.source)
        self._parts.nodes.append(node)

    def _split(self, node: Node, cut: Cut) -> None:
        same = (node.params["axis"], tuple(node.params["sizes"])) == (cut.axis, cut.sizes)
        parts = [self._parts.part(node.inputs[0], cut, k) for k in range(len(cut.sizes)) if same]
        pairs = zip(parts, node.outputs, strict=False)
        self._parts.nodes += [_copy(*each, node) for each in pairs] if same else [node]

    def _sliced(self, node: Node, cut: Cut) -> Atom | None:
        """The part that a slice is."""
        first, last = node.params["start_indices"], node.params["limit_indices"]
        shape = node.inputs[0].shape
        others = [(a, b) for d, (a, b) in enumerate(zip(first, last, strict=True)) if d != cut.axis]
        wholes = [(0, size) for d, size in enumerate(shape) if d != cut.axis]
        if others != wholes or any(each != 1 for each in node.params["strides"] or ()):
            return None
        bounds = [cut.bounds(k) for k in range(len(cut.sizes))]
        wanted = (first[cut.axis], last[cut.axis])
        return (
            self._parts.part(node.inputs[0], cut, bounds.index(wanted))
            if wanted in bounds
            else None
        )


def _copy(part: Atom, output: Value, node: Node) -> Node:
    return Node("copy", (part,), (output,), list, source=node.source)
