"""Parts of the values of a graph, made on their own where they can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax import lax

from orchestrator_core.conductor.facts.number_types import counting_type
from orchestrator_core.conductor.facts.transfer.elementwise import ELEMENTWISE
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node, of_primitive
from orchestrator_core.conductor.ir.value import Atom, Literal, Value
from orchestrator_core.conductor.ir.written import written
from orchestrator_core.conductor.tile.cut import Cut
from orchestrator_core.conductor.tile.picked_parts import picks_along, scattered


class CutParts:
    """What is known of parts, and the nodes that make those that were asked for.

    Attributes:
        nodes: of a new graph, in order; whoever walks over the old one adds to them.
        known: parts by value, cut and number.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.nodes: list[Node] = []
        self.known: dict[tuple[Atom, Cut, int], Atom] = {}

    def part(self, atom: Atom, cut: Cut, k: int) -> Atom:
        """One part of a value, which may be made of parts or not."""
        if isinstance(atom, Literal) or not atom.shape or atom.shape[cut.axis] == 1:
            return atom
        key = (atom, cut, k)
        if key not in self.known:
            self.known[key] = self._made(atom, cut, k)
        return self.known[key]

    def _made(self, value: Value, cut: Cut, k: int) -> Value:
        node = self._graph.producer.get(value)
        shape, start = tuple(cut.shape(value.shape, k)), cut.bounds(k)[0]
        if node is not None and node.primitive is not None and node.name in ELEMENTWISE:
            inputs = [self.part(each, cut, k) for each in node.inputs]
            return self.like(node, inputs, shape, node.params)
        if node is not None and node.name == "broadcast_in_dim" and len(node.inputs) == 1:
            return self._cut_broadcast(node, cut, k)
        if node is not None and node.name == "iota":
            along = node.params["dimension"] == cut.axis and start
            if along:
                return self._counted(node, shape, start)
            return self.like(node, [], shape, {**node.params, "shape": shape})
        if node is not None and node.name == "scatter-add" and picks_along(node, cut.axis):
            part = self.part(node.inputs[0], cut, k)
            return self.written(scattered(node, cut, k), [part, *node.inputs[1:]], node)
        return self._slice(value, cut, k, node)

    def _counted(self, node: Node, shape: tuple[int, ...], start: int) -> Value:
        """Positions from one on, rounded or wrapped to their type once, as XLA does."""
        axis, value = node.params["dimension"], node.output

        def positions() -> list[Any]:
            at = lax.broadcasted_iota(counting_type(value.shape[axis]), shape, axis) + start
            return [at.astype(value.dtype)]

        return self.written(positions, [], node)

    def written(
        self, function: Callable[..., list[Any]], inputs: Sequence[Atom], node: Node
    ) -> Value:
        """What a function of these makes, in the place of what the node makes."""
        values = [each for each in inputs if isinstance(each, Value)]

        def of_values(*arrays: Any) -> list[Any]:
            rest = iter(arrays)
            return function(*(e.value if isinstance(e, Literal) else next(rest) for e in inputs))

        made = written(of_values, values, node.source)
        self.nodes += made.nodes
        (output,) = made.outputs
        assert isinstance(output, Value)
        return output

    def _cut_broadcast(self, node: Node, cut: Cut, k: int) -> Value:
        """The operand is cut if it has the axis."""
        to, operand = tuple(node.params["broadcast_dimensions"]), node.inputs[0]
        if cut.axis in to and operand.shape[to.index(cut.axis)] > 1:
            assert isinstance(operand, Value)
            own = Cut(to.index(cut.axis), cut.sizes)
            operand = self.part(operand, own, k)
        return self.broadcast(node, operand, cut.shape(node.output.shape, k), to)

    def _slice(self, value: Value, cut: Cut, k: int, node: Node | None) -> Value:
        first, last = [0] * len(value.shape), [*value.shape]
        first[cut.axis], last[cut.axis] = cut.bounds(k)
        params = {"start_indices": tuple(first), "limit_indices": tuple(last), "strides": None}
        like = Value(value.aval.update(shape=cut.shape(value.shape, k)))
        return self._new(lax.slice_p, [value], like, params, node)

    def like(self, node: Node, inputs: Sequence[Atom], shape: Sequence[int], params: Any) -> Value:
        like = Value(node.output.aval.update(shape=tuple(shape)))
        return self._new(node.primitive, inputs, like, params, node)

    def broadcast(
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
        self.nodes.append(of_primitive(primitive, tuple(inputs), (made,), params, source=source))
        return made
