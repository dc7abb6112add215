"""Turns: which of several runs that share workers and priority goes first.

The one with dates to keep, and then the one with the least work left. Where jobs share a machine,
each of them slows all others down; one after the other, the shortest first, they end as early in
the mean as is possible (Schrage, "A proof of the optimality of the shortest remaining processing
time discipline", Operations Research 16, 1968), and where that is decided on arrival, none later
than if all had shared (Friedman and Henderson, "Fairness and efficiency in web server protocols",
SIGMETRICS 2003). Dask lets graphs of one generation share.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

CLEAR = 64.0
"""Units in the last place that two ranks must be apart."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A place among the runs of one priority: its ranks lie between those of its neighbours.

    Attributes:
        first: of its tasks. step: between the ranks of two of them. length: how many there are.
    """

    first: float = 0.0
    step: float = 1.0
    length: int = 0

    @property
    def end(self) -> float:
        """No rank of its tasks is as high."""
        return self.first + self.step * self.length

    def rank(self, place: float) -> float:
        """The rank of the task at this place of the run's own order."""
        is_own = self.first == 0.0 and self.step == 1.0
        return place if is_own else self.first + self.step * place

    @staticmethod
    def between(before: Turn | None, after: Turn | None, length: int) -> Turn:
        """The turn of a run of so many tasks that comes between these two."""
        if after is None:
            return Turn(0.0 if before is None else before.end, 1.0, length)
        if before is None:
            return Turn(after.first - length, 1.0, length)
        gap = after.first - before.last
        step = gap / (length + 1)
        return Turn(before.last + step, step, length)

    @property
    def is_clear(self) -> bool:
        """Can numbers tell its ranks apart, and those of its neighbours?"""
        return self.step > CLEAR * math.ulp(max(abs(self.first), abs(self.end)))

    @property
    def last(self) -> float:
        """The highest rank of its tasks."""
        return self.first + self.step * max(0, self.length - 1)


@dataclass(frozen=True, slots=True)
class Claim:
    """What speaks for a run: has it dates to keep? And the seconds of work that it has left."""

    dated: bool
    work: float

    def goes_before(self, other: Claim) -> bool:
        """Who comes later goes first only for a reason."""
        return (not self.dated, self.work) < (not other.dated, other.work)


def turn_of(
    claim: Claim, length: int, others: Iterable[tuple[Turn, Claim]], earlier: Iterable[Turn] = ()
) -> Turn:
    """The turn of a run that comes now, among those that are there; each keeps its own. Where no
    number is left between two of them, it comes behind both.

    Args:
        earlier: turns of what it goes on with, among those of the others; it comes behind them.
    """
    before: Turn | None = None
    behind = max((turn.first for turn in earlier), default=-math.inf)
    for turn, theirs in sorted(others, key=lambda each: each[0].first):
        if turn.first > behind and claim.goes_before(theirs):
            found = Turn.between(before, turn, length)
            if found.is_clear:
                return found
        before = turn
    return Turn.between(before, None, length)
