"""Factors in an order that XLA multiplies rightly.

A sum over products is a matrix product to YNNPACK. Where the first factor is the one that is spread
along the earlier axes, as in ``(g[None] * c[:, None]).sum(2)``, jaxlib 0.10.2 takes the product for
its transpose if its numbers are spread again in the same kernel: wrong on CPUs by as much as they
are large, whoever asks for it. In the other order they are right, and the same in every bit.

A quotient by what is spread is a product to XLA, with ``1 / divisor`` as the second factor; so
``g[None] / c[:, None]`` is written as ``(1 / c[:, None]) * g[None]``, which it makes of it anyway.
"""

from __future__ import annotations

import dataclasses
import operator
from typing import Any

import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor.cost import this_device
from orchestrator_core.conductor.cost.fusion_facts import LIBRARY_TYPES
from orchestrator_core.conductor.facts.transfer.elementwise import ELEMENTWISE
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.loops import with_bodies
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.ir.written import written

Axes = frozenset[int]


def with_factors_in_order(graph: Graph) -> Graph:
    """The same numbers, on a CPU with those factors first that differ along earlier axes; in all
    bodies of loops and branches, too."""
    if this_device().platform != "cpu":
        return graph
    own: dict[Atom, Axes] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        bodies = [with_factors_in_order(body) for body in node.bodies]
        if any(new is not old for new, old in zip(bodies, node.bodies, strict=True)):
            node = with_bodies(node, bodies)
        own |= {value: _own(node, value, own) for value in node.outputs}
        nodes += _in_order(node, own)
    if len(nodes) == len(graph.nodes) and all(map(operator.is_, nodes, graph.nodes)):
        return graph
    return dataclasses.replace(graph, nodes=tuple(nodes))


def _in_order(node: Node, own: dict[Atom, Axes]) -> list[Node]:
    if node.name not in ("mul", "div") or not all(isinstance(each, Value) for each in node.inputs):
        return [node]
    one, two = (own.get(each, _long(each)) for each in node.inputs)
    rank = len(node.output.shape)
    if min(one - two, default=rank) <= min(two - one, default=rank):
        return [node]
    if node.name == "mul":
        return [dataclasses.replace(node, inputs=node.inputs[::-1])]
    return _as_product(node) if str(node.output.dtype) in LIBRARY_TYPES else [node]


def _as_product(node: Node) -> list[Node]:
    """A quotient, the reciprocal of its divisor first. XLA computes with no less than 32 bits."""
    operands = [each for each in node.inputs if isinstance(each, Value)]
    dtype = node.output.dtype
    wide = jnp.promote_types(dtype, "float32")

    def multiplied(dividend: Any, divisor: Any) -> list[Any]:
        inverse = np.ones((), wide) / divisor.astype(wide)
        return [(inverse * dividend.astype(wide)).astype(dtype)]

    made = written(multiplied, operands, node.source).nodes
    return [*made[:-1], dataclasses.replace(made[-1], outputs=node.outputs)]


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
