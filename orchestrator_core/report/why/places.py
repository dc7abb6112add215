"""Places: equal units of a worker's threads, or of a resource, dealt out one by one."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

NOBODY = -1


@dataclass(frozen=True, slots=True)
class Claim:
    """So many units from `start` to `end`, for a node of the network."""

    node: int
    start: float
    end: float
    units: int


def turns(claims: Sequence[Claim], capacity: int, slack: float) -> Iterator[tuple[int, int]]:
    """(before, after): who had a unit, and who got it next.

    Args:
        claims: in the order of their starts. Each takes the units that were free first.
        capacity: number of units. slack: seconds by which times may be off.
    """
    free: list[tuple[float, int, int]] = [(float("-inf"), 0, NOBODY)] * capacity
    for number, claim in enumerate(claims, start=1):
        had: dict[int, None] = {}
        for _ in range(claim.units):
            if free and free[0][0] <= claim.start + slack:
                had[heapq.heappop(free)[2]] = None
        for before in had:
            if before != NOBODY:
                yield before, claim.node
        for _ in range(claim.units):
            heapq.heappush(free, (claim.end, number, claim.node))
