"""What may be computed a second time, to the same values."""

from __future__ import annotations

from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.read import OPAQUE

ONCE = frozenset(
    {"rng_uniform", "pure_callback", "io_callback", "ffi_call", "infeed", "outfeed", "create_token"}
)
"""Not the same values twice, or nobody knows what they cost. Random bits from a key are."""


def may_be_redone(node: Node) -> bool:
    """Does the node, done again, make the same values, without anybody noticing?"""
    if node.effects or node.name in ONCE:
        return False
    if str(node.params.get("name", "")).startswith(OPAQUE):
        return False
    return all(may_be_redone(each) for body in node.bodies for each in body.nodes)
