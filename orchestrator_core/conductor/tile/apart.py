"""Axes that a reshape merges are kept apart in what is pairwise.

    s = einsum("tkgh,skh->tkgs", q, k).reshape(t, k * g, s);  p = softmax(s).reshape(t, k, g, s)

Gemma's attention, and those that make one axis of batch and heads, compute with the merged axis and
part it again. A sum over pairs is told from another one by its axes, so all between the two is
done with the parted ones: operations on each element, reductions, and products, whose other factor
is parted where it is small. The same numbers.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.facts.transfer.elementwise import ELEMENTWISE
from orchestrator_core.conductor.facts.transfer.products import Sides
from orchestrator_core.conductor.facts.transfer.reductions import REDUCTIONS
from orchestrator_core.conductor.facts.transfer.views import RESHAPES
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node, of_primitive
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.tile.pointed import reshaped

Groups: TypeAlias = tuple[tuple[int, ...], ...]
"""For each axis of a value the sizes of those that it is merged of, the outer one first."""


def kept_apart(graph: Graph, is_pairwise: Callable[[Atom], bool], min_axis: int) -> Graph:
    """The same function. Axes that may be tiled, of `min_axis` elements, stay merged."""
    walk = _Walk(graph, is_pairwise, min_axis)
    for node in graph.nodes:
        walk.visit(node)
    if not walk.apart:
        return graph
    kept = [node for node in graph.nodes if node not in walk.replaced]
    return graph.with_nodes([*kept, *walk.made])


def merged(given: Sequence[int], made: Sequence[int]) -> Groups | None:
    """Which axes a reshape merges into each that it makes; None if it merges none, or does anything
    else."""
    left, groups = [size for size in given if size != 1][::-1], []
    for size in made:
        group: list[int] = []
        while left and math.prod(group) < size:
            group.append(left.pop())
        if math.prod(group) != size:
            return None
        groups.append(tuple(group) or (1,))
    is_merged = not left and any(len(group) > 1 for group in groups)
    return tuple(groups) if is_merged else None


def _flat(groups: Groups) -> tuple[int, ...]:
    return tuple(size for group in groups for size in group)


def _places(groups: Groups, axes: Sequence[int]) -> tuple[int, ...]:
    """Where the parts of axes are."""
    starts = [sum(map(len, groups[:axis])) for axis in axes]
    return tuple(
        start + k
        for start, axis in zip(starts, axes, strict=True)
        for k in range(len(groups[axis]))
    )


def _plain(shape: Sequence[int]) -> Groups:
    return tuple((size,) for size in shape)


class _Walk:
    """Attributes:
    apart: of a value the same with its axes apart. replaced: nodes that `made` ones stand for.
    """

    def __init__(self, graph: Graph, is_pairwise: Callable[[Atom], bool], min_axis: int) -> None:
        self.graph, self.is_pairwise, self.min_axis = graph, is_pairwise, min_axis
        self.apart: dict[Atom, tuple[Value, Groups]] = {}
        self.shaped: dict[tuple[Atom, tuple[int, ...]], Value] = {}
        self.replaced: set[Node] = set()
        self.made: list[Node] = []

    def visit(self, node: Node) -> None:
        if len(node.outputs) != 1 or node.effects or node.bodies or node in self.replaced:
            return
        if node.name in RESHAPES:
            self._reshape(node)
        elif any(each in self.apart for each in node.inputs):
            self._known(node)

    def _known(self, node: Node) -> None:
        """Of a node that reads something whose axes are apart."""
        if node.name in ELEMENTWISE:
            self._elementwise(node)
        elif node.name == "transpose":
            self._turn(node, self._groups(node.inputs[0]))
        elif node.name in REDUCTIONS and "axes" in node.params:
            groups, axes = self._groups(node.inputs[0]), node.params["axes"]
            left = tuple(group for axis, group in enumerate(groups) if axis not in axes)
            self._put(node, [groups], left, axes=_places(groups, axes))
        elif node.name == "broadcast_in_dim" and len(node.inputs) == 1:
            self._spread(node, self._groups(node.inputs[0]))
        elif node.name == "dot_general":
            self._product(node)

    def _groups(self, atom: Atom) -> Groups:
        return self.apart[atom][1] if atom in self.apart else _plain(atom.shape)

    def _reshape(self, node: Node) -> None:
        (given,) = node.inputs
        if node.params.get("dimensions") is not None and node.name == "reshape":
            return
        source = self.apart[given][0] if given in self.apart else given
        groups = merged(source.shape, node.output.shape)
        if groups is not None and (given in self.apart or self._starts(given, groups)):
            apart = self._shaped(source, _flat(groups), node)
            self.apart[node.output] = (apart, groups)
        if given in self.apart:
            self.replaced.add(node)
            self.made.append(reshaped(source, node.output, node))

    def _starts(self, given: Atom, groups: Groups) -> bool:
        sizes = [math.prod(group) for group in groups if len(group) > 1]
        return self.is_pairwise(given) and max(sizes) < self.min_axis

    def _shaped(self, atom: Atom, shape: tuple[int, ...], node: Node) -> Value:
        """A value with its elements in another shape, always the same one."""
        if isinstance(atom, Value) and atom.shape == shape:
            return atom
        if (atom, shape) not in self.shaped:
            self.shaped[atom, shape] = Value(_jax.ShapedArray(shape, atom.dtype))
            self.made.append(reshaped(atom, self.shaped[atom, shape], node))
        return self.shaped[atom, shape]

    def _elementwise(self, node: Node) -> None:
        shape = node.output.shape
        like = [each for each in node.inputs if each in self.apart and each.shape == shape]
        if like:
            self._each(node, self._groups(like[0]))

    def _each(self, node: Node, groups: Groups) -> None:
        self._put(node, [_within(each.shape, groups) for each in node.inputs], groups)

    def _turn(self, node: Node, given: Groups) -> None:
        order = node.params["permutation"]
        groups = tuple(given[axis] for axis in order)
        self._put(node, [given], groups, permutation=_places(given, order))

    def _spread(self, node: Node, given: Groups) -> None:
        axes, shape = node.params["broadcast_dimensions"], node.output.shape
        groups = list(_plain(shape))
        for axis, group in zip(axes, given, strict=True):
            groups[axis] = group if math.prod(group) == shape[axis] else groups[axis]
        self._spread_to(node, given, tuple(groups))

    def _spread_to(self, node: Node, given: Groups, groups: Groups) -> None:
        places = _places(groups, node.params["broadcast_dimensions"])
        shape = _flat(groups)
        self._put(node, [given], groups, shape=shape, broadcast_dimensions=places)

    def _product(self, node: Node) -> None:
        large = [k for k in (0, 1) if node.inputs[k] in self.apart]
        side = next((k for k in large if self.is_pairwise(node.inputs[k])), None)
        if side is None:
            return
        sides, given = Sides.of(node), [[*self._groups(each)] for each in node.inputs]
        for pair in sides.paired():
            given[1 - side][pair[1 - side]] = given[side][pair[side]]
        if all(len(given[side][axis]) == 1 for axis in sides.contracted[side]):
            self._multiply(node, tuple(given[0]), tuple(given[1]))

    def _multiply(self, node: Node, left: Groups, right: Groups) -> None:
        sides, given = Sides.of(node), (left, right)
        numbers = tuple(
            tuple(_places(given[k], axes[k]) for k in (0, 1))
            for axes in (sides.contracted, sides.batch)
        )
        self._put(node, given, sides.out(left, right), dimension_numbers=numbers)

    def _put(
        self,
        node: Node,
        given: Sequence[Groups],
        groups: Groups,
        **params: object,
    ) -> None:
        """Instead of a node the same with axes apart, and merged for whom else may read it."""
        atoms = tuple(
            self._as(each, its, node) for each, its in zip(node.inputs, given, strict=True)
        )
        made = Value(_jax.ShapedArray(_flat(groups), node.output.dtype))
        if params:
            params = {**node.params, **params}
            new = of_primitive(
                node.primitive, atoms, (made,), params, source=node.source, context=node.context
            )
        else:
            new = dataclasses.replace(node, inputs=atoms, outputs=(made,))
        self.replaced.add(node)
        if made.shape == node.output.shape:
            new = dataclasses.replace(new, outputs=node.outputs)
            self.made.append(new)
            return
        self.apart[node.output] = (made, groups)
        self.made += [new, reshaped(made, node.output, node)]

    def _as(self, atom: Atom, groups: Groups, reader: Node) -> Atom:
        """An operand with its axes apart."""
        shape = _flat(groups)
        if not atom.shape or atom.shape == shape:
            return atom
        if atom not in self.apart:
            self._part(atom, groups)
        found = self.apart.get(atom)
        if found is not None and found[1] == groups:
            return found[0]
        return self._shaped(atom, shape, reader)

    def _part(self, atom: Atom, groups: Groups) -> None:
        """What is large is made apart, and what it is made of."""
        maker = self.graph.producer.get(atom) if isinstance(atom, Value) else None
        if maker is None or maker in self.replaced or not self.is_pairwise(atom):
            return
        if maker.name in ELEMENTWISE:
            self._each(maker, groups)
        elif maker.name == "transpose":
            order = maker.params["permutation"]
            self._turn(maker, tuple(groups[order.index(axis)] for axis in range(len(order))))
        elif maker.name == "dot_general":
            plain = [_plain(each.shape) for each in maker.inputs]
            self._multiply(maker, *map(tuple, Sides.of(maker).back(groups, plain)))
        elif maker.name == "broadcast_in_dim" and len(maker.inputs) == 1:
            axes = maker.params["broadcast_dimensions"]
            given = _within(maker.inputs[0].shape, tuple(groups[axis] for axis in axes))
            self._spread_to(maker, given, groups)


def _within(shape: Sequence[int], groups: Groups) -> Groups:
    """Those of an operand, of which an axis may have one element."""
    if not shape:
        return ()
    pairs = zip(shape, groups, strict=True)
    return tuple(group if size == math.prod(group) else (1,) * len(group) for size, group in pairs)
