"""Passes whose tiles are all of one size: the last of an axis may overlap the one before it.

In a smaller tile a compiler may round a product otherwise. Where the largest numbers are asked for,
and where they are, rows that are equal must have equal numbers, or it is not the first of them that
is found. Maxima do not mind to be told a number twice. But what is compared with a number later, in
another pass, must be made there in a tile of the same size, and there are sums that do mind. Not
where rows are what is made: a row that is made twice is the same.

Else an element counts in the first tile that has it, in all passes, so that what is compared is
made at the same place of the same tile. A compiler has half as many sizes of tiles to see to then.
"""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator_core.conductor.facts.dataflow import Dataflow
from orchestrator_core.conductor.tile.accumulators import (
    Accumulator,
    AlongDiagonals,
    KLargest,
    Picked,
    Reduced,
    RunningMax,
    Scattered,
    Stored,
    Summed,
)
from orchestrator_core.conductor.tile.neutral import IDEMPOTENT

SUMS = frozenset({"reduce_sum", "reduce_prod", "dot_general"})
"""Of whose operands an element can be left out by another number in its place."""


def may_overlap(flow: Dataflow, accumulators: Iterable[Accumulator]) -> bool:
    """Are places among them, and may all of them be told an element twice?"""
    each = list(accumulators)
    has_places = any(isinstance(a, KLargest) and a.is_rounded for a in each)
    return has_places and all(_may_overlap(flow, a) for a in each)


def may_repeat(flow: Dataflow, accumulators: Iterable[Accumulator]) -> bool:
    """May rows be made twice? That each of these has nothing but rows is for the caller to see."""
    each = list(accumulators)
    is_usual = all(isinstance(a, Reduced | RunningMax | Summed) for a in each)
    made = [a.boundary.node.output for a in each if isinstance(a, Reduced)]
    return is_usual and not any(map(flow.is_asked_later, made))


def may_share(accumulators: Iterable[Accumulator]) -> bool:
    """Can what two tiles have be left out of what the second adds?"""
    return all(map(_may_share, accumulators))


def _may_share(each: Accumulator) -> bool:
    if isinstance(each, RunningMax | Stored | Picked | Scattered | AlongDiagonals):
        return True
    if not isinstance(each, Reduced | Summed):
        return False
    node = each.plan.node if isinstance(each, Summed) else each.boundary.node
    return node.name in SUMS or (isinstance(each, Reduced) and each.kind in IDEMPOTENT)


def _may_overlap(flow: Dataflow, each: Accumulator) -> bool:
    if isinstance(each, Reduced) and each.kind not in IDEMPOTENT:
        return False
    if not isinstance(each, KLargest | Reduced):
        return False
    return not flow.is_asked_later(each.boundary.node.output)
