"""Two products with anything between them: what is done with a tile, taken apart."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orchestrator_core.conductor.facts.axes import Role, roles
from orchestrator_core.conductor.facts.transfer.products import Sides
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.kernels.cell import Cell
from orchestrator_core.conductor.kernels.held import is_narrow
from orchestrator_core.conductor.refused import Refused

VIEWS = ("transpose", "reshape", "squeeze", "expand_dims", "copy")

RESULTS = ("transpose", "convert_element_type", "reshape")
"""What may be between a product and who reads it."""


@dataclass(frozen=True)
class TwoProducts:
    """Attributes:
    query, key, value: which leaves are multiplied: the first two with each other, the third with
        what is made of their product.
    place: which of the accumulated arrays is the sum of the second products.
    body: what is done between them. It takes what the cell's graph takes, and the first product;
        it returns all else that is accumulated, the left side of the second product, and what that
        is added to.
    """

    query: int
    key: int
    value: int
    place: int
    body: Graph

    @classmethod
    def of(cls, cell: Cell, outer: Role, inner: Role, tile: tuple[int, int]) -> TwoProducts:
        """Args:
            tile: its rows and columns.

        Raises:
            Refused: if that is not what is done.
        """
        graph = cell.graph
        products = [node for node in graph.nodes if node.name == "dot_general"]
        if len(products) != 2:
            raise Refused(f"{len(products)} products of matrices, not two")
        first, second = products
        leaves = list(graph.inputs[: len(cell.leaves)])
        query, key = _by_rows(first, graph, cell, outer)
        scores = _read(graph, first.output)
        weights, value = _weights(second, graph, cell, inner)
        total = _read(graph, second.output)
        place, base, add = _sum(graph, total)
        if any(_held(each) != tile for each in (scores, weights)):
            raise Refused("columns come before rows")
        if _held(total)[:1] != tile[:1]:
            raise Refused("columns come before rows")
        left_out = {first, second, add, *_between(graph, first.output, scores)}
        left_out |= {*_between(graph, second.output, total)}
        others = [each for k, each in enumerate(graph.outputs) if k != place]
        body = dataclasses.replace(
            graph,
            inputs=(*graph.inputs, scores),
            outputs=(*others, weights, base),
            nodes=(),
        ).with_nodes([node for node in graph.nodes if node not in left_out])
        _check(body, [leaves[k] for k in (query, key, value)], cell)
        return cls(query, key, value, place, body)


def _held(atom: Atom) -> tuple[int, ...]:
    return tuple(size for size in atom.shape if size != 1)


def _leaf(graph: Graph, cell: Cell, atom: Atom) -> int | None:
    """Which leaf it is, with its axes in whatever order: its roles tell them apart."""
    while isinstance(atom, Value) and (node := graph.producer.get(atom)) is not None:
        is_regrouped = node.name != "transpose" and _held(node.inputs[0]) != _held(atom)
        if node.name not in VIEWS or is_regrouped:
            return None
        atom = node.inputs[0]
    leaves = list(graph.inputs[: len(cell.leaves)])
    if atom not in leaves or not is_narrow(atom.dtype):
        return None
    return leaves.index(atom)


def _by_rows(node: Node, graph: Graph, cell: Cell, outer: Role) -> list[int]:
    """The leaves of the first product, that of the rows first."""
    sides = Sides.of(node)
    held = [k for k in (_leaf(graph, cell, each) for each in node.inputs) if k is not None]
    if len(held) < 2 or node.inputs[0].dtype != node.inputs[1].dtype:
        raise Refused("a product of something else than arrays of 16 bits")
    is_row = [outer in roles(cell.leaves[k]) for k in held]
    if sorted(is_row) != [False, True]:
        raise Refused("a product that is not one of rows and columns")
    if any(_long(node.inputs[s], sides.batch[s]) for s in (0, 1)):
        raise Refused("a product of several matrices")
    return held if is_row[0] else held[::-1]


def _long(atom: Atom, axes: Sequence[int]) -> list[int]:
    return [axis for axis in axes if atom.shape[axis] != 1]


def _weights(node: Node, graph: Graph, cell: Cell, inner: Role) -> tuple[Atom, int]:
    """The left side of the second product, and which leaf is its right side."""
    for left, right in (node.inputs, node.inputs[::-1]):
        value = _leaf(graph, cell, right)
        if value is not None and inner in roles(cell.leaves[value]):
            return left, value
    raise Refused("the second product is not one with columns")


def _read(graph: Graph, value: Value) -> Value:
    """What is left of a product when its axes are in their places."""
    while len(readers := graph.consumers[value]) == 1 and readers[0].name in RESULTS:
        if not _is_kept(readers[0]):
            break
        value = readers[0].output
    return value


def _is_kept(node: Node) -> bool:
    """Are these the same numbers for a kernel, which holds all in 32 bits?"""
    if node.name == "convert_element_type":
        return is_narrow(node.output.dtype) or node.output.dtype == np.float32
    return True


def _between(graph: Graph, first: Value, last: Value) -> list[Node]:
    found = []
    while first is not last:
        (node,) = graph.consumers[first]
        found.append(node)
        first = node.output
    return found


def _sum(graph: Graph, total: Value) -> tuple[int, Atom, Node]:
    """Which result a product is added to, what it is added to there, and by which node."""
    readers = graph.consumers[total]
    if len(readers) != 1 or readers[0].name not in ("add", "add_any"):
        raise Refused("the second product is not only summed")
    (add,) = readers
    others = [each for each in add.inputs if each is not total]
    if len(others) != 1 or add.output not in graph.outputs or graph.consumers[add.output]:
        raise Refused("the second product is not only summed")
    return graph.outputs.index(add.output), others[0], add


def _check(body: Graph, multiplied: Sequence[Value], cell: Cell) -> None:
    if any(body.consumers[each] for each in multiplied):
        raise Refused("what is multiplied is read elsewhere, too")
    leaves = zip(body.inputs, cell.leaves, strict=False)
    for value, spec in leaves:
        if body.consumers[value] and len(_tiled(spec)) > 1:
            raise Refused("something pairwise is read from memory")


def _tiled(spec: Any) -> set[Role]:
    return {role for role in roles(spec) if not role.startswith("cell")}
