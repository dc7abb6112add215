"""How the operands of matrix products lie in memory, and what a library has to turn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

Numbers: TypeAlias = Any
"""Of ``dot_general``: contracted and batch axes, each of both operands."""


@dataclass(frozen=True)
class Lying:
    """How an operand lies in memory.

    Attributes:
        many, free, inner: elements along batch axes, free axes and contracted ones.
        is_plain: do batch axes come first, and each of the groups in its order?
        is_inner_first: and then the contracted ones?
    """

    many: int
    free: int
    inner: int
    is_plain: bool
    is_inner_first: bool

    @classmethod
    def of(cls, shape: tuple[int, ...], numbers: Numbers, side: int) -> Lying:
        inner, batch = (tuple(axes[side]) for axes in numbers)
        free = free_axes(len(shape), numbers, side)
        every = tuple(range(len(shape)))
        many, loose, summed = (math.prod(shape[k] for k in axes) for axes in (batch, free, inner))
        first, last = (*batch, *inner, *free) == every, (*batch, *free, *inner) == every
        return cls(many, loose, summed, first or last, first and not last)


def free_axes(rank: int, numbers: Numbers, side: int) -> tuple[int, ...]:
    """Those of an operand that are neither contracted nor batch axes."""
    taken = {*numbers[0][side], *numbers[1][side]}
    return tuple(k for k in range(rank) if k not in taken)


def is_better_turned(left: Any, right: Any, numbers: Numbers) -> bool:
    """Would a library that takes rows of the left operand as they lie have to turn it, and is it
    larger than all that would be turned if the operands changed places? Operands have a `shape`."""
    one, two = (Lying.of(x.shape, numbers, side) for side, x in enumerate((left, right)))
    if not (one.is_plain and two.is_plain and one.is_inner_first and min(one.free, two.free) > 1):
        return False
    made = one.many * one.free * two.free
    turned = made + (two.many * two.free * two.inner if two.is_inner_first else 0)
    return turned < one.many * one.free * one.inner
