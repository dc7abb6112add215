"""Values that are much larger than all that they are made of, as products of all pairs are."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.loops.redoing import may_be_redone

PART = 8
"""A value is small beside another that is so many times larger."""

RATIO = 4
"""So many times larger than all of it together. Hidden layers of transformers are four times as
large as their input: it is not small beside them."""


def expanded(
    graph: Graph, nodes: Iterable[Node], free: Collection[Value], least: int
) -> frozenset[Value]:
    """What these nodes of the graph make that has at least so many elements and is `RATIO` times
    larger than the small values that it is made of.

    Args:
        free: what is at hand anyway and does not count, such as masks and weights; but a value
            that is made of nothing else, as a weight in another type is, is not expanded.
    """
    return frozenset(
        value
        for node in nodes
        for value in node.outputs
        if value.size >= least and _is_expanded(graph, value, free)
    )


def _is_expanded(graph: Graph, value: Value, free: Collection[Value]) -> bool:
    open_, seen = [value], {value}
    small, given = 0, 0
    while open_:
        node = graph.producer.get(open_.pop())
        if node is None or not may_be_redone(node):
            return False
        for atom in node.inputs:
            if not isinstance(atom, Value) or atom in seen:
                continue
            seen.add(atom)
            if atom.nbytes * PART <= value.nbytes:
                small += atom.nbytes
            elif atom in free:
                given += atom.nbytes
            else:
                open_.append(atom)
        if small * RATIO > value.nbytes:
            return False
    return small > 0 or given == 0


def unmoved(graph: Graph, still: Collection[Value]) -> set[Value]:
    """The values that follow from those that stand still from step to step, and from literals."""
    found = {*still, *graph.constants}
    for node in graph.nodes:
        if all(each in found for each in node.inputs if isinstance(each, Value)):
            found.update(node.outputs)
    return found
