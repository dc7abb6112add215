"""Skewed pairwise values, as products that can be done in tiles."""

from __future__ import annotations

from collections.abc import Callable

from orchestrator_core.conductor.facts.lines.moves import given_of
from orchestrator_core.conductor.facts.lines.skew import Skew
from orchestrator_core.conductor.facts.transfer.products import Sides
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.tile.skews.beyond import parts_of, with_beyond
from orchestrator_core.conductor.tile.skews.building import Building
from orchestrator_core.conductor.tile.skews.pairs import Pair, arranged, pair_of
from orchestrator_core.conductor.tile.skews.products import (
    BY_DIAGONALS,
    BY_ROWS,
    node_of,
)
from orchestrator_core.conductor.tile.skews.pushing import Pushing
from orchestrator_core.conductor.tile.skews.views import SkewedView, skewed_views


def with_skews(graph: Graph, is_large: Callable[[Atom], bool]) -> Graph:
    """The same function; the same graph if it has no skew that can be done in tiles."""
    found = skewed_views(graph, is_large)
    if not found:
        return graph
    made: dict[Value, list[Node]] = {}
    for node in graph.nodes:
        if node.name == "dot_general":
            build = Building()
            if _summed(build, graph, node, found):
                made[node.output] = build.nodes
        elif len(node.outputs) == 1 and node.output in found and _is_read(graph, node.output):
            build = Building()
            if _pushed(build, graph, node.output, found[node.output]):
                made[node.output] = build.nodes
    if not made:
        return graph
    kept = [node for node in graph.nodes if made.keys().isdisjoint(node.outputs)]
    return graph.with_nodes([*kept, *(node for nodes in made.values() for node in nodes)])


def _is_read(graph: Graph, value: Value) -> bool:
    """By anything but another view?"""
    readers = graph.consumers[value]
    is_moved = [given_of(node, graph.producer) is value for node in readers]
    return value in graph.outputs or not all(is_moved)


def _pushed(build: Building, graph: Graph, value: Value, one: SkewedView) -> bool:
    """Is the view made of products? Then the last node makes it."""
    push, how = Pushing(build, graph.producer), one.how
    made = [push.skewed(one.root, how.rows, how.columns, piece) for piece in how.pieces]
    parts = [each for each in made if each is not None]
    if len(parts) < len(made):
        return False
    _as(build, arranged(build, build.summed(parts), one, value.shape), value)
    return True


def _summed(build: Building, graph: Graph, node: Node, found: dict[Value, SkewedView]) -> bool:
    """Is one operand of a product a skew, and summed along one of its two axes? Then the last node
    makes the product."""
    for side in (0, 1):
        pair = pair_of(build, node.inputs[side], found, graph.producer)
        if pair is not None and isinstance(node.inputs[1 - side], Value):
            made = _product(build, node, side, pair)
            if made is not None:
                build.put(made)
                return True
    return False


def _product(build: Building, node: Node, side: int, pair: Pair) -> Node | None:
    sides = Sides.of(node)
    summed, free = sides.contracted[side], sides.free[side]
    if pair.columns in summed and pair.rows in free:
        one, axes, parts = _by_rows, (pair.columns, pair.rows), parts_of(pair.pieces, True)
    elif pair.rows in summed and pair.columns in free:
        one, axes, parts = _by_diagonals, (pair.rows, pair.columns), parts_of(pair.pieces, False)
    else:
        return None
    made = build.summed([one(build, node, side, pair, piece) for piece in pair.pieces])
    axis, at = _partner(sides, side, axes[0]), _place(sides, side, axes[1])
    return with_beyond(made, node, side, axis, at, parts)


def _by_rows(build: Building, node: Node, side: int, pair: Pair, piece: Skew) -> Value:
    sides, skew, inputs = Sides.of(node), piece.back, list(node.inputs)
    table = _partner(sides, side, pair.columns)
    at = _place(sides, side, pair.rows)
    inputs[side] = pair.value
    inputs[1 - side] = build.fitted(inputs[1 - side], table, -skew.least, skew.width)
    out = _sized(node.output, at, skew.rows)
    made = build.put(node_of(BY_ROWS, node, inputs, out, _params(skew, side, pair, table)))
    return _value(build.fitted(made, at, -piece.down, piece.rows))


def _by_diagonals(build: Building, node: Node, side: int, pair: Pair, piece: Skew) -> Value:
    sides, skew, inputs = Sides.of(node), piece.back, list(node.inputs)
    axis, at = _partner(sides, side, pair.rows), _place(sides, side, pair.columns)
    inputs[side] = pair.value
    inputs[1 - side] = build.fitted(inputs[1 - side], axis, piece.down, skew.rows)
    out = _sized(node.output, at, skew.width)
    made = build.put(node_of(BY_DIAGONALS, node, inputs, out, _params(skew, side, pair, at)))
    return _value(build.fitted(made, at, skew.least, piece.columns))


def _params(skew: Skew, side: int, pair: Pair, table: int) -> dict[str, object]:
    return {
        "skew": skew,
        "side": side,
        "rows": pair.rows,
        "columns": pair.columns,
        "table": table,
    }


def _partner(sides: Sides, side: int, axis: int) -> int:
    """The axis of the other operand that is summed with one."""
    return sides.contracted[1 - side][sides.contracted[side].index(axis)]


def _place(sides: Sides, side: int, axis: int) -> int:
    """Where an axis that only one operand has is in the result."""
    before = len(sides.batch[0]) + (len(sides.free[0]) if side else 0)
    return before + sides.free[side].index(axis)


def _sized(value: Value, axis: int, size: int) -> Value:
    shape = tuple(size if k == axis else full for k, full in enumerate(value.shape))
    return Value(value.aval.update(shape=shape))


def _value(atom: Atom) -> Value:
    assert isinstance(atom, Value)
    return atom


def _as(build: Building, made: Atom, value: Value) -> None:
    build.put(Node("copy", (made,), (value,), list))
