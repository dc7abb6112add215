"""Loops that read or write along another axis than the last on a CPU, as transpositions make them:
XLA makes no vectors of these, and each element is in another line of the cache."""

from __future__ import annotations

from orchestrator_core.conductor.cost.device import Device
from orchestrator_core.conductor.cost.fusion import Group
from orchestrator_core.conductor.ir.node import Node

FEW = 16
"""Elements along the last axis, of fewer than which a line of the cache holds several rows."""

TURNING = 1e-9
"""Seconds for each element that a kernel turns. Measured, EPYC, 2026: 0.7 to 1.5 ns, with sides of
1,024 and more that are powers of two 3 to 5; 0.25 where last axes have fewer than `FEW`."""


def turned_rows_s(group: Group, device: Device) -> float:
    """Seconds beside the operations of a kernel."""
    if device.platform != "cpu" or not any(map(_turns, group.nodes)):
        return 0.0
    return TURNING * group.root.outputs[0].size


def _turns(node: Node) -> bool:
    """Does it put another long axis last?"""
    if node.name != "transpose":
        return False
    shape, order = node.inputs[0].shape, node.params["permutation"]
    before = [axis for axis, size in enumerate(shape) if size > 1]
    after = [axis for axis in order if shape[axis] > 1]
    if not before or before[-1] == after[-1]:
        return False
    return min(shape[before[-1]], shape[after[-1]]) >= FEW
