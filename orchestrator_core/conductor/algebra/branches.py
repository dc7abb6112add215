"""Branches that are known before the function runs: by a number, or by the platform.

Of several ways of doing the same for several platforms, the one for all others is taken where none
is for this one: it is right wherever the function is compiled then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator_core.conductor.cost import this_device
from orchestrator_core.conductor.cost.simplifying import branch_of
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Literal, Value


def known_branch(node: Node, producer: Mapping[Value, Node]) -> Graph | None:
    """The body of a ``cond`` that is sure to run; None if it is not known or has side effects."""
    if node.name != "cond" or node.effects:
        return None
    index = node.inputs[0]
    if isinstance(index, Literal):
        branch = node.bodies[min(max(int(index.value), 0), len(node.bodies) - 1)]
    else:
        found = branch_of(node, producer, this_device().platform)
        if found is None or found is not _for_all(node, producer[index]):
            return None
        branch = found
    pairs = zip(branch.outputs, node.outputs, strict=True)
    return branch if all(made.aval == output.aval for made, output in pairs) else None


def _for_all(node: Node, maker: Node) -> Graph | None:
    """The way for all platforms that have none of their own."""
    choices: Any = maker.params["platforms"]
    return node.bodies[choices.index(None)] if None in choices else None
