"""Branches that are known before the function runs: by a number, or by the platform.

Of several ways of doing the same for several platforms, the one for all others is taken where none
is for this one: it is right wherever the function is compiled then.
"""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator_core.conductor.cost import this_device
from orchestrator_core.conductor.cost.simplifying import branch_of
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Literal, Value

ANY_OTHER = ""
"""A platform that nothing has a way of its own for."""


def known_branch(node: Node, producer: Mapping[Value, Node]) -> Graph | None:
    """The body of a ``cond`` that is sure to run; None if it is not known or has side effects."""
    if node.name != "cond" or node.effects:
        return None
    index = node.inputs[0]
    if isinstance(index, Literal):
        branch: Graph | None = node.bodies[min(max(int(index.value), 0), len(node.bodies) - 1)]
    else:
        branch = branch_of(node, producer, this_device().platform)
        if branch is not branch_of(node, producer, ANY_OTHER):
            return None
    if branch is None:
        return None
    pairs = zip(branch.outputs, node.outputs, strict=True)
    return branch if all(made.aval == output.aval for made, output in pairs) else None
