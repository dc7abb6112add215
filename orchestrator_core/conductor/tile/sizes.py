"""Sizes of tiles that leave no rest, or share little with each other: one of another size is
compiled once more, and held beside the others."""

from __future__ import annotations

import math
from collections.abc import Mapping

from orchestrator_core.conductor.facts.axes import ROLES, Role


def even(length: int, most: int) -> int:
    """The largest divisor of a length, if it is not much less than the most that is wanted."""
    fit = [size for size in range(max(most // 4, 1), most + 1) if length % size == 0]
    return fit[-1] if fit else most


VECTOR = 8
"""Elements that a processor works on at once."""


def near(length: int, wanted: int) -> int:
    """The divisor of a length that is closest to what is wanted, if one is close. Else no more
    tiles than of that size, of whole vectors, the last of which overlaps the one before it by as
    little as can be."""
    least = _whole_vectors(length, -(-length // wanted))
    for size in (wanted, least):
        fit = [n for n in range(-(-3 * size // 4), 5 * size // 4 + 1) if length % n == 0]
        if fit:
            return min(fit, key=lambda n: abs(n - size))
    return least


def _whole_vectors(length: int, count: int) -> int:
    """The least size of so many tiles."""
    return min(-(-length // (count * VECTOR)) * VECTOR, length)


def uniform(length: Mapping[Role, int], most: Mapping[Role, int], first: Role) -> dict[Role, int]:
    """Of tiles with no more elements. An axis without such a divisor is not cut, if the other can
    be cut the finer for it; `first` if both have none."""
    made = {role: even(length[role], min(most[role], length[role])) for role in ROLES}
    room = math.prod(made.values())
    for role in (first, ROLES[1 - ROLES.index(first)]):
        if length[role] % made[role] and length[role] <= room:
            other = ROLES[1 - ROLES.index(role)]
            return {role: length[role], other: _divisor(length[other], room // length[role])}
    return made


def _divisor(length: int, most: int) -> int:
    """The largest that is not above."""
    return next(size for size in range(min(most, length), 0, -1) if length % size == 0)
