"""What some values are computed of."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.value import Atom, Value


def needed(graph: Graph, outputs: Iterable[Atom]) -> set[Value]:
    """The outputs, and all that they are computed of."""
    found = {each for each in outputs if isinstance(each, Value)}
    for node in reversed(graph.nodes):
        if not found.isdisjoint(node.outputs):
            found.update(each for each in node.inputs if isinstance(each, Value))
    return found
