"""What a step of a loop costs on a device, node by node, for the choice between forms.

The device and what it takes for a piece of work are those of `cost`; what is said here is only how
nodes share kernels within a step, and what they cost once all steps are done at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orchestrator_core.conductor.cost import Device, work_of_node
from orchestrator_core.conductor.cost.roofline import computing, seconds_of_product
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.recurrence.batchable import FREE

SHARE = 0.02
"""The part of starting a kernel that comes with an operation which is fused into another."""


def traffic(nbytes: float, of: float, device: Device) -> float:
    """Seconds to move bytes which are part of an array of `of` bytes."""
    return nbytes / device.byte_rate(of)


def alone(node: Node, device: Device) -> float:
    """Seconds of a node within a step."""
    if node.name == "dot_general":
        return device.kernel_s + seconds_of_product(node, device)
    return SHARE * device.kernel_s + _elements(node, device, 1)


def batched(node: Node, moving: Sequence[bool], length: int, device: Device) -> float:
    """Seconds for each of `length` steps, if all are done at once. A matrix product with a matrix
    that is the same in each step becomes a large one.

    Args:
        moving: which inputs differ by step.
    """
    if not any(moving):
        return alone(node, device) / length
    if node.name != "dot_general":
        return _elements(node, device, length)
    if all(moving):
        return seconds_of_product(node, device)
    return seconds_of_product(node, device, length, moving.index(True)) / length


def total(nodes: Iterable[Node], device: Device) -> float:
    """Seconds of one step that does these nodes, in at least one kernel."""
    return device.step_s + device.kernel_s + sum(alone(node, device) for node in nodes)


def _elements(node: Node, device: Device, steps: int) -> float:
    """Of elements that move from and to nowhere; what is idle in a step is not with many."""
    if node.name in FREE:
        return 0.0
    made = sum(each.size for each in node.outputs)
    return computing(work_of_node(node), device) / device.busy(made * steps)
