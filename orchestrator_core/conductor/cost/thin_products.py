"""Matrix products of which XLA makes none: of columns with rows, and of rows with columns.

A product that sums over one element is a multiplication, which is fused with whatever reads it; one
of two vectors is a multiplication and a sum. Seen on a CPU in 0.10.2 (XLA's
``AlgebraicSimplifier::HandleDot``). A matrix times a vector remains a product.
"""

from __future__ import annotations

import math

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.cost.standing_in import standing_in
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value


def is_multiplication(node: Node) -> bool:
    """Is it a ``dot_general`` that sums over one element?"""
    return node.name == "dot_general" and math.prod(_contracted(node)) == 1


def without_product(node: Node) -> list[Node]:
    """The nodes that XLA makes of a ``dot_general``; nothing of one that it leaves."""
    if is_multiplication(node):
        return _multiplied(node, node.output)
    if node.name == "dot_general" and _is_of_vectors(node):
        shape, summed = node.output.shape, _contracted(node)
        pairs = Value(_jax.ShapedArray((*shape, *summed), node.output.dtype))
        axes = tuple(range(len(shape), len(shape) + len(summed)))
        total = standing_in("reduce_sum", node, (pairs,), node.output, axes=axes)
        return [*_multiplied(node, pairs), total]
    return []


def _is_of_vectors(node: Node) -> bool:
    """Has no operand more than one element beside those that are summed and those of batches, and
    do both lie alike? Else they are copied, as those of any product are."""
    _, (batch, _) = node.params["dimension_numbers"]
    if node.output.size != math.prod(node.inputs[0].shape[axis] for axis in batch):
        return False
    return all(list(_places(node, side)) == sorted(_places(node, side)) for side in (0, 1))


def _contracted(node: Node) -> list[int]:
    (axes, _), _ = node.params["dimension_numbers"]
    return [node.inputs[0].shape[axis] for axis in axes]


def _multiplied(node: Node, made: Value) -> list[Node]:
    """Both operands, spread over the axes of what is made of them, and their product."""
    spread = [Value(_jax.ShapedArray(made.shape, each.dtype)) for each in node.inputs]
    return [
        *(
            standing_in(
                "broadcast_in_dim",
                node,
                (node.inputs[side],),
                spread[side],
                shape=made.shape,
                broadcast_dimensions=_places(node, side),
            )
            for side in (0, 1)
        ),
        standing_in("mul", node, tuple(spread), made),
    ]


def _places(node: Node, side: int) -> tuple[int, ...]:
    """Where the axes of an operand are in what is made: first those of batches, then the others of
    the left operand and of the right one, then those that are summed."""
    contracted, batch = (axes[side] for axes in node.params["dimension_numbers"])
    rank = len(node.inputs[side].shape)
    free = [axis for axis in range(rank) if axis not in (*contracted, *batch)]
    last = len(node.output.shape)
    first = last - len(free) if side else len(batch)
    place = {axis: k for k, axis in enumerate(batch)}
    place |= {axis: first + k for k, axis in enumerate(free)}
    place |= {axis: last + k for k, axis in enumerate(contracted)}
    return tuple(place[axis] for axis in range(rank))
