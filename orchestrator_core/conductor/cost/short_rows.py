"""Loops over arrays whose last axis has few elements, such as coordinates, on a CPU: XLA makes no
vectors of them."""

from __future__ import annotations

from orchestrator_core.conductor.cost.device import Device
from orchestrator_core.conductor.cost.fusion_facts import LOOPS
from orchestrator_core.conductor.cost.meeting import long_axes
from orchestrator_core.conductor.ir.node import Node

SHORT = 8
"""Elements of a row that is long enough for a vector."""

EACH = 14.0
"""Simple operations that would take as long as one element beside its own. Measured, EPYC, 2026:
0.38 ns in rows of 2 to 4 elements, two cores, where 0.03 were expected."""


def short_rows_s(node: Node, device: Device) -> float:
    """Seconds beside the operations of a kernel that stores what this node makes."""
    if device.platform != "cpu" or node.name not in LOOPS:
        return 0.0
    axes = long_axes(node.output)
    is_short = len(axes) > 1 and node.output.shape[axes[-1]] < SHORT
    return EACH * node.output.size / device.loop_rate if is_short else 0.0
