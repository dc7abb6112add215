"""What a step of a loop costs on a device: a rough model, for the choice between forms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import jax

from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.recurrence.batchable import FREE, TRANSCENDENTAL

ROWS = 32
"""Rows of a matrix product from which on it runs at full speed."""


@dataclass(frozen=True, slots=True)
class Device:
    """Attributes (seconds, and per second):
    step: of an empty step of a loop. launch: of an operation that is not fused into another.
    flops: of a large matrix product. elements: simple operations on one element each.
    bandwidth: bytes of memory; near: bytes that fit into caches of `cache` bytes.
    is_parallel: is one step too little work to fill the device?
    """

    step: float
    launch: float
    flops: float
    elements: float
    bandwidth: float
    near: float
    cache: int
    is_parallel: bool

    def traffic(self, nbytes: float, of: float) -> float:
        """Seconds to move bytes which are part of an array of `of` bytes."""
        return nbytes / (self.near if of <= self.cache else self.bandwidth)

    def alone(self, node: Node) -> float:
        """Seconds of a node within a step."""
        if node.name == "dot_general":
            return self.launch + dot_flops(node) / self.rate(rows(node))
        return 0.02 * self.launch + self.elementwise(node)

    def batched(self, node: Node, moving: Sequence[bool], length: int) -> float:
        """Seconds for each of `length` steps, if all are done at once. A matrix product with a
        matrix that is the same in each step becomes a large one.

        Args:
            moving: which inputs differ by step.
        """
        if not any(moving):
            return self.alone(node) / length
        if node.name != "dot_general":
            return self.elementwise(node)
        more = length if not all(moving) else 1
        return float(dot_flops(node) / self.rate(rows(node) * more))

    def rate(self, rows: int) -> float:
        """Matrix products run slower the fewer rows they have."""
        return self.flops * min(1.0, max(rows, 1) / ROWS)

    def elementwise(self, node: Node) -> float:
        if node.name in FREE:
            return 0.0
        elements = max((each.size for each in (*node.inputs, *node.outputs)), default=0)
        return elements * (8 if node.name in TRANSCENDENTAL else 1) / self.elements


CPU = Device(1e-6, 1e-6, 5e10, 4e9, 4e9, 3e10, 1 << 21, False)
GPU = Device(8e-6, 3e-6, 3e13, 5e12, 2e12, 4e12, 1 << 25, True)


def here() -> Device:
    """Of the backend that JAX computes on by default."""
    return CPU if jax.default_backend() == "cpu" else GPU


def dot_flops(node: Node) -> float:
    """Additions and multiplications of a ``dot_general``."""
    (contracted, _), _ = node.params["dimension_numbers"]
    left = node.inputs[0]
    depth: int = math.prod(left.shape[axis] for axis in contracted)
    return 2.0 * node.output.size * depth


def rows(node: Node) -> int:
    """The smaller free size of a ``dot_general``: 1 if it is a matrix by a vector."""
    (contracted, batch) = node.params["dimension_numbers"]
    free = [
        math.prod(n for axis, n in enumerate(each.shape) if axis not in (*c, *b))
        for each, c, b in zip(node.inputs, contracted, batch, strict=True)
    ]
    return min(free)


def total(device: Device, nodes: Iterable[Node]) -> float:
    """Seconds of one step that does these nodes."""
    return device.step + sum(device.alone(node) for node in nodes)
