"""What may be done for all steps of a loop at once: each result is that of the single step."""

from __future__ import annotations

from orchestrator_core.conductor.facts.transfer.elementwise import ELEMENTWISE
from orchestrator_core.conductor.ir.node import Node


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


OTHERS = _names(
    """argmax argmin broadcast_in_dim concatenate conv_general_dilated cumlogsumexp cummax cummin
    cumprod cumsum dot_general dynamic_slice expand_dims gather iota pad reduce_and reduce_max
    reduce_min reduce_or reduce_precision reduce_prod reduce_sum reshape rev slice sort split
    squeeze stack top_k transpose"""
)

FREE = _names("broadcast_in_dim copy expand_dims iota reshape squeeze stop_gradient")
"""What costs nothing: compilers read through it."""

TRANSCENDENTAL = _names(
    """acos acosh asin asinh atan atan2 atanh cbrt cos cosh digamma erf erf_inv erfc exp exp2 expm1
    lgamma log log1p logistic pow rsqrt sin sinh sqrt tan tanh"""
)


def is_batchable(node: Node) -> bool:
    """Default: no. Random numbers differ by the generator when drawn in batches, branches would
    run both ways, and loops till the last is done."""
    return not node.effects and (node.name in ELEMENTWISE or node.name in OTHERS)
