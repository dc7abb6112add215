"""Numbers that a scan is given, made in its body: kernels are compiled for what is known there.

JAX hoists what does not depend on the step out of a scan, such as the root of a head's dimension.
"""

from __future__ import annotations

import dataclasses

from orchestrator_core.conductor.ir.exact import EXACT
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.ir.substitute import cloned, substituted
from orchestrator_core.conductor.ir.value import Atom, Literal, Value

SIMPLE = EXACT | {"broadcast_in_dim", "reshape", "rsqrt", "sqrt", "squeeze"}
"""What numbers are made by that are worth nothing to keep."""


def with_numbers_inside(graph: Graph) -> Graph:
    """All scans of a graph, and of their bodies, with numbers that follow from the program alone in
    their bodies."""
    nodes = [_inside(graph, each) if each.name == "scan" else each for each in graph.nodes]
    if all(new is old for new, old in zip(nodes, graph.nodes, strict=True)):
        return graph
    return graph.with_nodes(nodes)


def _inside(graph: Graph, node: Node) -> Node:
    scan, made = Scan.of(node), dict[Value, list[Node]]()
    for const in scan.consts:
        chain = _chain(graph, const)
        if isinstance(const, Value) and chain is not None:
            made[const] = chain
    known: dict[Value, Atom] = {}
    nodes = [new for chain in made.values() for new in cloned(chain, known)]
    pairs = list(zip(scan.consts, scan.const_inputs, strict=True))
    inside = {given: known[const] for const, given in pairs if const in known}
    body = substituted(scan.body, inside)
    body = with_numbers_inside(dataclasses.replace(body, nodes=(*nodes, *body.nodes)))
    if not made and body.nodes == scan.body.nodes:
        return node
    kept = [(const, given) for const, given in pairs if given not in inside]
    inputs = (*(given for _, given in kept), *scan.carry_inputs, *scan.x_inputs)
    body = dataclasses.replace(body, inputs=inputs)
    return dataclasses.replace(scan, consts=tuple(const for const, _ in kept), body=body).node()


def _chain(graph: Graph, atom: Atom) -> list[Node] | None:
    """What makes a single number of numbers that are written in the program; None if it is more."""
    if isinstance(atom, Literal):
        return []
    node = graph.producer.get(atom)
    if node is None or atom.size != 1 or node.name not in SIMPLE or len(node.outputs) > 1:
        return None
    made: dict[Node, None] = {}
    for each in node.inputs:
        chain = _chain(graph, each)
        if chain is None:
            return None
        made.update(dict.fromkeys(chain))
    return [*made, node]
