"""What a CPU computes again and again within a kernel, dear as it is: angles, which XLA takes for
cheap. Of a table of rotary embeddings each number is made anew for each head and row of a batch."""

from __future__ import annotations

from orchestrator_core.conductor.cost.device import Device
from orchestrator_core.conductor.cost.fusion import Group
from orchestrator_core.conductor.cost.fusion_facts import CHEAP_TO_XLA, SPREADING, is_expensive
from orchestrator_core.conductor.cost.library_rows import spreads_over_rows
from orchestrator_core.conductor.ir.node import Node

CALLS = 5.0
"""Calls of ``exp`` that take as long as one of them, once more. Measured, EPYC, 2026, of rotary
embeddings of four shapes: 1.3 to 8 ns on two cores, the more the larger the angles are."""

UNROLLED = 32
"""Elements of a row, of less than which LLVM makes code without a loop: what is the same for the
next row it computes before."""


def made_again_s(group: Group, device: Device) -> float:
    """Seconds beside those of computing each of them once."""
    if device.platform != "cpu":
        return 0.0
    angles = [node.output.size for node in group.nodes if _is_angle(node)]
    if not angles:
        return 0.0
    # Whether a broadcast is one of angles is told by their number: between both are other names.
    spread = {n.inputs[0].size: n.output.size for n in group.nodes if _is_by_rows(n)}
    again = sum(spread.get(size, size) - size for size in angles)
    return CALLS * again / device.call_rate / device.part_at_work


def _is_angle(node: Node) -> bool:
    return node.name in CHEAP_TO_XLA - {"nextafter"} and not is_expensive(node)


def _is_by_rows(node: Node) -> bool:
    """Is it a broadcast of rows, and not of each number to a row?"""
    if node.name not in SPREADING or not node.inputs:
        return False
    is_long = bool(node.output.shape) and node.output.shape[-1] >= UNROLLED
    return is_long and not spreads_over_rows(node)
