"""Sizes of tiles that leave no rest: one of another size is compiled once more."""

from __future__ import annotations

import math
from collections.abc import Mapping

from orchestrator_core.conductor.facts.axes import ROLES, Role


def even(length: int, most: int) -> int:
    """The largest divisor of a length, if it is not much less than the most that is wanted."""
    fit = [size for size in range(max(most // 4, 1), most + 1) if length % size == 0]
    return fit[-1] if fit else most


def near(length: int, wanted: int) -> int:
    """The divisor of a length that is closest to what is wanted, if one is close."""
    fit = [n for n in range(-(-3 * wanted // 4), 5 * wanted // 4 + 1) if length % n == 0]
    return min(fit, key=lambda n: abs(n - wanted), default=wanted)


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
