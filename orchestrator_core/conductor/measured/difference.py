"""What differs between two graphs of the same function."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value


def difference(before: Graph, after: Graph) -> tuple[Graph, Graph]:
    """The nodes that are in one of two graphs only, as functions that make the same values."""
    old, new = set(before.nodes), set(after.nodes)
    gone = [node for node in before.nodes if node not in new]
    come = [node for node in after.nodes if node not in old]
    wanted = dict.fromkeys([*_needed(before, gone), *_needed(after, come)])
    made = {value for node in gone for value in node.outputs}
    outputs = [value for value in wanted if value in made]
    return _part(before, gone, outputs), _part(after, come, outputs)


def _needed(graph: Graph, nodes: Sequence[Node]) -> list[Value]:
    """What others read of what some nodes make."""
    inside, returned = set(nodes), set(graph.outputs)
    return [
        value
        for node in nodes
        for value in node.outputs
        if value in returned or any(n not in inside for n in graph.consumers[value])
    ]


def _part(graph: Graph, nodes: Sequence[Node], outputs: Sequence[Value]) -> Graph:
    made = {value for node in nodes for value in node.outputs}
    read = [each for node in nodes for each in node.inputs if isinstance(each, Value)]
    read += [each for each in outputs if each not in made]
    constants = {v: array for v, array in graph.constants.items() if v in read}
    inputs = dict.fromkeys(each for each in read if each not in made and each not in constants)
    return Graph(tuple(inputs), tuple(outputs), tuple(nodes), constants)
