"""Matrix products and convolutions: two flops for each pair of elements that meet."""

from __future__ import annotations

import math
from collections.abc import Sequence

from orchestrator_core.conductor.cost.rules.registry import moved, rule
from orchestrator_core.conductor.cost.work import Work
from orchestrator_core.conductor.ir.node import Node


@rule("dot_general")
def dot_general(node: Node) -> Work:
    (contracted, _), _ = node.params["dimension_numbers"]
    shape = node.inputs[0].shape
    flops = 2 * node.output.size * math.prod(shape[axis] for axis in contracted)
    return Work(flops=flops, nbytes=moved(node), dot_flops=flops)


@rule("ragged_dot_general", "ragged_dot")
def ragged_dot(node: Node) -> Work:
    """Each row meets the matrix of its own group."""
    rows, columns = node.inputs[0].shape, node.output.shape[-1]
    flops = 2 * math.prod(rows) * columns
    return Work(flops=flops, nbytes=moved(node), dot_flops=flops)


@rule("conv_general_dilated")
def convolution(node: Node) -> Work:
    """Padding and the holes of dilated inputs are not counted, as XLA does not count them."""
    numbers, params = node.params["dimension_numbers"], node.params
    left, right = node.inputs[0].shape, node.inputs[1].shape
    pairs = math.prod(
        _pairs(left[numbers.lhs_spec[2 + k]], right[numbers.rhs_spec[2 + k]], k, params, node)
        for k in range(len(left) - 2)
    )
    in_features = right[numbers.rhs_spec[1]]
    out_features = right[numbers.rhs_spec[0]]
    batch = left[numbers.lhs_spec[0]] // params["batch_group_count"]
    flops = 2 * batch * out_features * in_features * pairs
    return Work(flops=flops, nbytes=moved(node), dot_flops=flops)


def _pairs(size: int, window: int, axis: int, params: object, node: Node) -> int:
    """How often an element of the window meets one of the input, along one axis."""
    p = node.params
    stride = p["window_strides"][axis]
    before = p["padding"][axis][0]
    hole, gap = p["lhs_dilation"][axis], p["rhs_dilation"][axis]
    count = node.output.shape[p["dimension_numbers"].out_spec[2 + axis]]
    starts: Sequence[int] = range(-before, count * stride - before, stride)
    end = (size - 1) * hole
    return sum(
        1
        for offset in range(0, window * gap, gap)
        for at in starts
        if 0 <= at + offset <= end and (at + offset) % hole == 0
    )
