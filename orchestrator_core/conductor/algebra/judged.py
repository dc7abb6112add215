"""Is what stands for some nodes cheaper than they are?"""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator_core.conductor.cost import Device, price
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.site import AS_IT_IS, Price, Site

NAME = "algebra"

GAIN = 0.97
"""What is new must take less than this part of the time, by prediction."""


def prices(
    old: Sequence[Node], new: Graph, outputs: Sequence[Value], device: Device | None = None
) -> tuple[Price, Price]:
    """Of the nodes as they are, and of what would stand for them."""
    before = Graph(new.inputs, tuple(outputs), tuple(old), {})
    return price(before, device), price(new, device)


def site(
    node: Node,
    found: str,
    chosen: str,
    both: tuple[Price, Price],
    goal: Goal,
    worth: float = GAIN,
) -> Site:
    """What was found at a node and in which form it runs: the new one if it takes less than `worth`
    of the time."""
    before, after = both
    pinned = goal.decided(NAME, node.source, found)
    if pinned is not None:
        return pinned
    if goal.objective == "memory":
        gains = after.temp_bytes < GAIN * before.temp_bytes
    else:
        gains = after.seconds < worth * before.seconds
    if gains or goal.always:
        reason = f"{before.seconds / max(after.seconds, 1e-12):.2f} times as fast, by prediction"
        return Site(NAME, node.source, found, chosen, reason, before, after)
    reason = f"{chosen} would not be faster"
    return Site(NAME, node.source, found, AS_IT_IS, reason, before, after)
