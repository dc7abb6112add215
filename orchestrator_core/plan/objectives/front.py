"""Which values are not dominated: a value dominates another if it is no worse in any criterion and
better in one (V. Pareto, 1906)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from orchestrator_core.plan.objectives.judge import EQUAL, Value

T = TypeVar("T")

MOST_POINTS = 100
"""Points beyond which a front takes only what dominates another point."""


class Front(Generic[T]):
    """Points (value, what has it) of which none dominates another."""

    def __init__(self, points: Iterable[tuple[Value, T]] = ()) -> None:
        self.points: list[tuple[Value, T]] = []
        for value, what in points:
            self.add(value, what)

    def takes(self, value: Value) -> bool:
        """Is no other point as good in everything, and is there room, or one to replace?"""
        if any(_as_good(known, value) for known, _ in self.points):
            return False
        return len(self.points) < MOST_POINTS or any(_as_good(value, p) for p, _ in self.points)

    def add(self, value: Value, what: T) -> bool:
        """Take the point, and leave out those that it dominates; was it taken?"""
        if not self.takes(value):
            return False
        kept = [(known, it) for known, it in self.points if not _as_good(value, known)]
        self.points = [*kept, (value, what)]
        return True


def _as_good(one: Value, other: Value) -> bool:
    """Is the one nowhere worse than the other, up to rounding?"""
    return all(a <= b + EQUAL * abs(b) for a, b in zip(one, other, strict=True))
