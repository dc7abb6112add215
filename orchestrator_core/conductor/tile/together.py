"""Regions that gain nothing alone but do together.

Peak memory is that of the worst moment: where it comes twice, what is saved at one of them alone is
nothing. Of all that gained nothing, those are left out one kind after another without which the
peak is no higher.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.value import Value

MOST = 24
"""Regions that are tried together, the largest."""


@dataclass(frozen=True)
class Waiting:
    """A region that was refused since it gains nothing alone.

    Attributes:
        seed: where it was found. at: which of the sites it is. looks: of its passes; equal ones
            are of one kind, as those of many layers.
    """

    seed: Value
    at: int
    looks: Hashable


Kind = list[Waiting]


def kinds_of(waiting: Sequence[Waiting]) -> list[Kind]:
    kinds: dict[Hashable, Kind] = {}
    for each in waiting[:MOST]:
        kinds.setdefault(each.looks, []).append(each)
    return list(kinds.values())


def wants_memory(goal: Goal, temp_bytes: int) -> bool:
    """Is a program with so many temporary bytes to be made smaller, whatever time it takes?"""
    return goal.objective == "memory" or (goal.memory is not None and temp_bytes > goal.memory)


def lower_together(
    kinds: Sequence[Kind], temp_bytes: Callable[[Sequence[Kind]], int], without: int
) -> list[Kind]:
    """Those that lower the peak, none of them in vain; empty if they do not.

    Args:
        temp_bytes: with some of them. without: any of them.
    """
    chosen = list(kinds)
    least = temp_bytes(chosen)
    for kind in kinds:
        left = [each for each in chosen if each is not kind]
        now = temp_bytes(left) if left else without
        if now <= least:
            chosen, least = left, now
    return chosen if least < without else []
