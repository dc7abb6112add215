"""Loops of which XLA makes no vectors on a CPU: over arrays whose last axis has few elements, such
as coordinates, and over every second element of longer ones."""

from __future__ import annotations

from orchestrator_core.conductor.cost.device import Device
from orchestrator_core.conductor.cost.fusion import Group
from orchestrator_core.conductor.cost.fusion_facts import LOOPS
from orchestrator_core.conductor.cost.meeting import long_axes
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value

SHORT = 8
"""Elements of a row that is long enough for a vector."""

EACH = 14.0
"""Simple operations that would take as long as one element beside its own. Measured, EPYC, 2026:
0.38 ns in rows of 2 to 4 elements, two cores, where 0.03 were expected."""


def short_rows_s(group: Group, device: Device) -> float:
    """Seconds beside the operations of a kernel."""
    if device.platform != "cpu" or group.root.name not in LOOPS:
        return 0.0
    made = group.root.output
    is_slow = _is_short(made) or any(map(_leaves_out, group.nodes))
    return EACH * made.size / device.loop_rate if is_slow else 0.0


def _is_short(made: Value) -> bool:
    axes = long_axes(made)
    return len(axes) > 1 and made.shape[axes[-1]] < SHORT


def _leaves_out(node: Node) -> bool:
    """Does it read or write every second element, or fewer, along the last axis?"""
    if node.name == "slice":
        strides = node.params.get("strides") or (1,)
        return bool(strides[-1] > 1)
    return node.name == "pad" and bool(node.params["padding_config"][-1][2] > 0)
