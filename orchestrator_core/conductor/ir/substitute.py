"""Nodes again with other values in them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal, Value


def replaced(atom: Atom, known: Mapping[Value, Atom]) -> Atom:
    """What stands for the atom; itself if nothing does."""
    return atom if isinstance(atom, Literal) else known.get(atom, atom)


def reading(node: Node, known: Mapping[Value, Atom]) -> Node:
    """The node, which reads what stands for its inputs and makes the same values."""
    inputs = tuple(replaced(each, known) for each in node.inputs)
    if all(new is old for new, old in zip(inputs, node.inputs, strict=True)):
        return node
    return dataclasses.replace(node, inputs=inputs)


def substituted(graph: Graph, known: Mapping[Value, Atom]) -> Graph:
    """The graph, in which other atoms stand for values."""
    return dataclasses.replace(
        graph,
        nodes=tuple(reading(node, known) for node in graph.nodes),
        outputs=tuple(replaced(each, known) for each in graph.outputs),
    )


def cloned(nodes: Iterable[Node], known: dict[Value, Atom]) -> list[Node]:
    """The nodes again, with outputs of their own, which are added to what is known."""
    made = []
    for node in nodes:
        outputs = tuple(Value(each.aval) for each in node.outputs)
        made.append(dataclasses.replace(reading(node, known), outputs=outputs))
        known.update(zip(node.outputs, outputs, strict=True))
    return made
