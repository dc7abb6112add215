"""Numbers that a scan is given, made in its body: kernels are compiled for what is known there.

JAX hoists what does not depend on the step out of a scan, such as the root of a head's dimension.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TypeAlias

from orchestrator_core.conductor.ir.exact import EXACT
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.ir.substitute import cloned, substituted
from orchestrator_core.conductor.ir.value import Atom, Literal, Value

SIMPLE = EXACT | {"broadcast_in_dim", "reshape", "rsqrt", "sqrt", "squeeze"}
"""What numbers are made by that are worth nothing to keep."""

Numbers: TypeAlias = dict[Value, Node]
"""By single numbers: what makes them."""


def with_numbers_inside(graph: Graph) -> Graph:
    """All scans of a graph, and of their bodies, with numbers that follow from the program alone in
    their bodies."""
    if not any(each.name == "scan" for each in graph.nodes):
        return graph
    numbers = _numbers(graph)
    nodes = [_inside(numbers, each) if each.name == "scan" else each for each in graph.nodes]
    if all(new is old for new, old in zip(nodes, graph.nodes, strict=True)):
        return graph
    return graph.with_nodes(nodes)


def _inside(numbers: Numbers, node: Node) -> Node:
    scan, known = Scan.of(node), dict[Value, Atom]()
    wanted = {each for each in scan.consts if isinstance(each, Value) and each in numbers}
    nodes = cloned(_chain(numbers, wanted), known)
    pairs = list(zip(scan.consts, scan.const_inputs, strict=True))
    inside = {given: known[const] for const, given in pairs if const in wanted}
    body = substituted(scan.body, inside)
    body = with_numbers_inside(dataclasses.replace(body, nodes=(*nodes, *body.nodes)))
    if not wanted and body.nodes == scan.body.nodes:
        return node
    kept = [(const, given) for const, given in pairs if given not in inside]
    inputs = (*(given for _, given in kept), *scan.carry_inputs, *scan.x_inputs)
    body = dataclasses.replace(body, inputs=inputs)
    return dataclasses.replace(scan, consts=tuple(const for const, _ in kept), body=body).node()


def _numbers(graph: Graph) -> Numbers:
    """All that are made of numbers that are written in the program, in its order."""
    found: dict[Value, Node] = {}
    for node in graph.nodes:
        is_one = len(node.outputs) == 1 and node.output.size == 1 and node.name in SIMPLE
        if is_one and all(isinstance(each, Literal) or each in found for each in node.inputs):
            found[node.output] = node
    return found


def _chain(numbers: Numbers, wanted: Iterable[Value]) -> list[Node]:
    """What makes those that are wanted, each once, producers before consumers."""
    needed, kept = set(wanted), list[Node]()
    for value, node in reversed(numbers.items()):
        if value in needed:
            kept.append(node)
            needed.update(each for each in node.inputs if isinstance(each, Value))
    return kept[::-1]
