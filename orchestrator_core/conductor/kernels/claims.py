"""Which loops this rewrite will take, so that others leave them loops."""

from __future__ import annotations

from orchestrator_core.conductor.cost import this_device
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.kernels.name import NAME
from orchestrator_core.conductor.kernels.settings import are_interpreted


def is_claimed(node: Node, goal: Goal) -> bool:
    """Will a loop be a kernel?"""
    has_kernels = this_device().platform == "gpu" or are_interpreted()
    if not (has_kernels and goal.permits(NAME)):
        return False
    from orchestrator_core.conductor.kernels.loops import program_of

    try:
        program_of(node)
    except Exception:  # whatever it is, it is no kernel
        return False
    return True
