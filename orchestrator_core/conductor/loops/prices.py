"""What it costs to keep a value of each step of a scan, and to do a node again in each step."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from orchestrator_core.conductor.cost import this_device, work_of_node
from orchestrator_core.conductor.cost.fusion_facts import FREE, LOOPS
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.loops.cut import NEVER
from orchestrator_core.conductor.loops.redoing import may_be_redone

DOUBT = 1.5
"""Doing again must be so many times cheaper than keeping."""


@dataclass(frozen=True)
class Prices:
    """Seconds for one step, or bytes if memory is what counts.

    Attributes:
        free: what is at hand anyway. never: what must not be kept. by_bytes: in bytes? Then doing
            again costs next to nothing.
    """

    free: Collection[Value]
    never: Collection[Value]
    by_bytes: bool = False

    def keeping(self, value: Value) -> float:
        """Written by one scan and read by the other."""
        if value in self.never:
            return NEVER
        if value in self.free:
            return 0.0
        return value.nbytes if self.by_bytes else 2 * value.nbytes / this_device().bandwidth

    def redoing(self, node: Node) -> float:
        """In a loop of one step; what XLA fuses moves no bytes."""
        if not may_be_redone(node):
            return NEVER
        seconds = _seconds(node)
        return seconds if self.by_bytes else seconds * DOUBT


def _seconds(node: Node) -> float:
    if node.name in FREE:
        return 0.0
    device, work = this_device(), work_of_node(node)
    dtype = node.outputs[0].dtype if work.dot_flops else None
    computing = (
        work.dot_flops / device.dot_rate(dtype)
        + (work.flops - work.dot_flops) / device.loop_rate
        + work.calls / device.call_rate
    )
    if node.name in LOOPS:
        return computing
    return max(computing, work.nbytes / device.bandwidth)
