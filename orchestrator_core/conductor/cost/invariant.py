"""Loop invariants: what is the same in all steps, which XLA computes once, before the loop."""

from __future__ import annotations

from collections.abc import Set

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.cost.fusion import Group
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value


def unchanging(node: Node, body: Graph) -> set[Value]:
    """Of what a body of a scan or while reads, what does not change from step to step."""
    if node.name == "scan":
        return set(body.inputs[: _jax.scan_counts(node.params)[0]])
    counts = (node.params["cond_nconsts"], node.params["body_nconsts"])
    return set(body.inputs[: counts[node.bodies.index(body)]])


def invariant(graph: Graph, given: Set[Atom]) -> set[Atom]:
    """What is made of nothing else than that, which is among it."""
    found: set[Atom] = {*given, *graph.constants}
    for node in graph.nodes:
        if all(each in found for each in node.inputs if isinstance(each, Value)):
            found.update(node.outputs)
    return found


def is_hoisted(group: Group, same: Set[Atom]) -> bool:
    """Is a kernel in a loop run before it? Not if more bytes were then kept than it reads."""
    made = sum(each.nbytes for each in group.root.outputs)
    is_small = made <= sum(each.nbytes for each in group.reads)
    return is_small and not group.root.effects and all(each in same for each in group.reads)
