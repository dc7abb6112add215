"""Factors in an order that XLA multiplies rightly.

A sum over products is a matrix product to YNNPACK. Where the first factor is the one that is spread
along the earlier axes, as in ``(g[None] * c[:, None]).sum(2)``, jaxlib 0.10.2 takes the product for
its transpose if its numbers are spread again in the same kernel: wrong on CPUs by as much as they
are large, whoever asks for it. In the other order they are right, and the same in every bit.
"""

from __future__ import annotations

import dataclasses

from orchestrator_core.conductor.cost import this_device
from orchestrator_core.conductor.facts.transfer.elementwise import ELEMENTWISE
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.loops import with_bodies
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value

Axes = frozenset[int]


def with_factors_in_order(graph: Graph) -> Graph:
    """The same numbers, on a CPU with those factors first that differ along earlier axes; in all
    bodies of loops and branches, too."""
    if this_device().platform != "cpu":
        return graph
    own: dict[Atom, Axes] = {}
    nodes = []
    for node in graph.nodes:
        bodies = [with_factors_in_order(body) for body in node.bodies]
        if any(new is not old for new, old in zip(bodies, node.bodies, strict=True)):
            node = with_bodies(node, bodies)
        own |= {value: _own(node, value, own) for value in node.outputs}
        nodes.append(_in_order(node, own))
    if all(new is old for new, old in zip(nodes, graph.nodes, strict=True)):
        return graph
    return dataclasses.replace(graph, nodes=tuple(nodes))


def _in_order(node: Node, own: dict[Atom, Axes]) -> Node:
    if node.name != "mul" or not all(isinstance(each, Value) for each in node.inputs):
        return node
    one, two = (own.get(each, _long(each)) for each in node.inputs)
    rank = len(node.output.shape)
    if min(one - two, default=rank) <= min(two - one, default=rank):
        return node
    return dataclasses.replace(node, inputs=node.inputs[::-1])


def _own(node: Node, value: Value, own: dict[Atom, Axes]) -> Axes:
    """Along which axes the numbers of a value differ, as far as can be told."""
    given = [each for each in node.inputs if isinstance(each, Value) and each.shape]
    if node.name == "broadcast_in_dim" and given:
        places = node.params["broadcast_dimensions"]
        return frozenset(places[axis] for axis in own.get(given[0], _long(given[0])))
    if node.name in ELEMENTWISE and all(each.shape == value.shape for each in given):
        return frozenset().union(*(own.get(each, _long(each)) for each in given))
    return _long(value)


def _long(atom: Atom) -> Axes:
    return frozenset(axis for axis, size in enumerate(atom.shape) if size > 1)
