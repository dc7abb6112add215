"""One form of what can be written in several, so that fewer rules are needed.

Broadcasts and reductions that only add or drop axes of one element are reshapes. A barrier against
common subexpressions does not hold what is large and pairwise, which a tile makes anew anyway:
there it is a copy. What is stacked, as heads made one by one, is concatenated; what is split is
sliced. A reshape that turns its operand first, as the derivative of ``prod`` does, is both of them.
What is picked or put by index is a window of no axis; see `pointed`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from jax import lax

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.facts.transfer.reductions import REDUCTIONS
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node, of_primitive
from orchestrator_core.conductor.ir.split import as_slices
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.tile.pointed import pointed, reshaped
from orchestrator_core.conductor.tile.turned import turned

IS_RESHAPE = {"broadcast_in_dim", *REDUCTIONS}
BARRIER = "optimization_barrier"


def canonical(graph: Graph, is_pairwise: Callable[[Atom], bool]) -> Graph:
    """The same function. `is_pairwise` tells which values barriers let through."""
    nodes = [
        made
        for node in graph.nodes
        for each in _canonical(node, is_pairwise)
        for made in pointed(each, graph.producer)
    ]
    return turned(dataclasses.replace(graph, nodes=tuple(nodes)))


def _canonical(node: Node, is_pairwise: Callable[[Atom], bool]) -> list[Node]:
    if node.name in IS_RESHAPE and _keeps_elements(node):
        return [_reshape(node)]
    if node.name == BARRIER and any(map(is_pairwise, node.inputs)):
        return _lighter(node, is_pairwise)
    if node.name == "stack" and is_pairwise(node.output):
        return _concatenated(node)
    if node.name == "split" and is_pairwise(node.inputs[0]):
        return as_slices(node)
    if node.name == "reshape" and node.params["dimensions"] is not None:
        return _turned_first(node)
    return [node]


def _keeps_elements(node: Node) -> bool:
    if len(node.inputs) != 1 or not isinstance(node.inputs[0], Value):
        return False
    return node.inputs[0].size == node.output.size > 0 and node.inputs[0].dtype == node.output.dtype


def _reshape(node: Node) -> Node:
    return reshaped(node.inputs[0], node.output, node)


def _turned_first(node: Node) -> list[Node]:
    (given,), order = node.inputs, tuple(node.params["dimensions"])
    shape = tuple(given.shape[axis] for axis in order)
    between = Value(_jax.ShapedArray(shape, given.dtype))
    params = {"permutation": order}
    turn = of_primitive(lax.transpose_p, node.inputs, (between,), params, source=node.source)
    return [turn, reshaped(between, node.output, node)]


def _concatenated(node: Node) -> list[Node]:
    """Each with one more axis of one element, side by side along it."""
    axis, like = node.params["axis"], node.output
    shape = (*like.shape[:axis], 1, *like.shape[axis + 1 :])
    parts = [Value(_jax.ShapedArray(shape, like.dtype)) for _ in node.inputs]
    views = [reshaped(a, b, node) for a, b in zip(node.inputs, parts, strict=True)]
    params = {"dimension": axis}
    joined = of_primitive(lax.concatenate_p, parts, node.outputs, params, source=node.source)
    return [*views, joined]


def _lighter(node: Node, is_pairwise: Callable[[Atom], bool]) -> list[Node]:
    pairs = list(zip(node.inputs, node.outputs, strict=True))
    held = [(a, b) for a, b in pairs if not is_pairwise(a)]
    copies = [
        Node("copy", (a,), (b,), list, source=node.source) for a, b in pairs if is_pairwise(a)
    ]
    if not held:
        return copies
    inputs, outputs = zip(*held, strict=True)
    barrier = of_primitive(
        _jax.optimization_barrier_p, inputs, outputs, node.params, source=node.source
    )
    return [barrier, *copies]
