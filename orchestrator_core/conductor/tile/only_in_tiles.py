"""Operations that are only ever done in tiles, and back to what they stand for where none was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value


def not_alone(arrays: Sequence[Any]) -> Sequence[Any]:
    """What such a node does by itself."""
    raise NotImplementedError("it is only ever done in tiles")


def as_before(graph: Graph, *earlier: Graph) -> Graph:
    """With what can only be done in tiles, and is in none, as it was in an earlier graph.

    Args:
        earlier: graphs that became this one, the last one first.
    """
    for each in earlier:
        graph = _with_nodes_of(each, graph)
    return graph


def _with_nodes_of(before: Graph, graph: Graph) -> Graph:
    late = _waiting(graph, before)
    if not late:
        return graph
    again = {value for node in late for value in node.outputs if value in before.producer}
    kept = [node for node in graph.nodes if again.isdisjoint(node.outputs) and node not in late]
    there = {value for node in kept for value in node.outputs}
    old = [node for node in before.nodes if there.isdisjoint(node.outputs)]
    return graph.with_nodes([*kept, *old])


def _waiting(graph: Graph, before: Graph) -> set[Node]:
    """All from what is only done in tiles to values that were there before."""
    late, open_ = set[Node](), set[Value]()
    for node in graph.nodes:
        if node.apply is not_alone or not open_.isdisjoint(node.inputs):
            late.add(node)
            open_.update(value for value in node.outputs if value not in before.producer)
    return late
