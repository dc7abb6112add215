"""Matrix products and convolutions: two flops for each pair of elements that meet."""

from __future__ import annotations

import math
from typing import NamedTuple

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
        _pairs(left[numbers.lhs_spec[2 + k]], right[numbers.rhs_spec[2 + k]], k, node)
        for k in range(len(left) - 2)
    )
    in_features = right[numbers.rhs_spec[1]]
    out_features = right[numbers.rhs_spec[0]]
    batch = left[numbers.lhs_spec[0]] // params["batch_group_count"]
    flops = 2 * batch * out_features * in_features * pairs
    return Work(flops=flops, nbytes=moved(node), dot_flops=flops)


def _pairs(size: int, window: int, axis: int, node: Node) -> int:
    """How often an element of the window meets one of the input, along one axis."""
    p = node.params
    count = node.output.shape[p["dimension_numbers"].out_spec[2 + axis]]
    slide = Slide(p["window_strides"][axis], p["lhs_dilation"][axis], count)
    before, gap = p["padding"][axis][0], p["rhs_dilation"][axis]
    return sum(slide.meetings(before - k * gap, size) for k in range(window)) if size else 0


class Slide(NamedTuple):
    """Of an element of a window that stops `stops` times, each time `stride` places on, over an
    input whose elements have `hole` places from one to the next."""

    stride: int
    hole: int
    stops: int

    def meetings(self, start: int, size: int) -> int:
        """How often it stands on one of the `size` elements, if it begins `start` places before the
        first: at how many stops ``t`` a multiple of `hole`, from 0 to that of the last, is
        ``t * stride - start``. Those that fit are `every` stops apart. Counted one by one, a
        convolution of two rows of 8,000 numbers took a minute."""
        common = math.gcd(self.stride, self.hole)
        if start % common:
            return 0
        every = self.hole // common
        fitting = start // common * pow(self.stride // common, -1, every) % every
        first = max(0, -(-start // self.stride))
        last = min(self.stops - 1, (start + (size - 1) * self.hole) // self.stride)
        first += (fitting - first) % every
        return max(0, (last - first) // every + 1)
