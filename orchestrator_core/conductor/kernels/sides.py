"""The sides of a pass: what is finished row by row, and what column by column, as passes apart.

A kernel's programs run side by side and must not write to one place. So each has a row of tiles of
its own, and what is summed the other way is a second kernel, as in Dao, "FlashAttention-2" (2023).
"""

from __future__ import annotations

import dataclasses

from orchestrator_core.conductor.facts.axes import ROLES, Role, roles
from orchestrator_core.conductor.refused import Refused
from orchestrator_core.conductor.tile.accumulators import (
    Accumulator,
    AlongDiagonals,
    BlockTotals,
    KLargest,
    Picked,
    Scattered,
    Stored,
)
from orchestrator_core.conductor.tile.passes import Pass
from orchestrator_core.conductor.tile.skews.of_pass import skews_of


def sides_of(one: Pass) -> list[Pass]:
    """A pass for each role along which something is finished.

    Raises:
        Refused: if something is accumulated that no kernel can.
    """
    for each in one.accumulators:
        if isinstance(each, tuple(_WHY)):
            raise Refused(_WHY[type(each)])
    if any(True for _ in skews_of(one)):
        raise Refused("something is read along diagonals")
    if one.runnings:
        raise Refused("something runs along an axis")
    made = [_side(one, role) for role in ROLES]
    return [side for side in made if side.accumulators]


_WHY = {
    AlongDiagonals: "something is summed along diagonals",
    BlockTotals: "something runs along an axis",
    KLargest: "the largest elements are asked for, and where they are",
    Picked: "elements are picked by index",
    Scattered: "elements are added by index",
    Stored: "values of that size are written as a whole",
}


def _side(one: Pass, role: Role) -> Pass:
    shifts = tuple(each for each in one.shifts if _outer(each, one) == role)
    others = tuple(each for each in one.others if _outer(each, one) == role)
    return dataclasses.replace(one, shifts=shifts, others=others, outer=role)


def _outer(each: Accumulator, one: Pass) -> Role:
    """Along which it is finished; what has no role, where most is."""
    found = roles(each.spec)
    return next(iter(found)) if found else one.outer
