"""Leases in part: between k workers and k + 1 the last one is rented for a part of the time, at the
beginning or at the end. What that costs lies between, too (stage 3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.objectives.leased import leased
from orchestrator_core.plan.objectives.renting import Ranking, Renting

MOST_WORKERS = 40
"""Of more, none is rented for a part of the time."""

PARTS = (1 / 2, 1 / 4, 3 / 4, 1 / 8, 3 / 8, 5 / 8, 7 / 8)
"""Of the time, where nobody says what it may cost: halves first, then quarters."""

BEST, LESS = 2, (1.0, 0.97, 0.9)
"""Of all that cost a limit by estimate so many are tried, the soonest first, and so much of the
part that the limit buys: what is placed may take longer than its estimate."""


def between(renting: Renting) -> Iterator[Choice]:
    """Parts of all leases, the coarsest first."""
    ladders = _ladders(renting)
    for part in PARTS:
        for ladder in ladders:
            for k in range(1, len(ladder.ranking)):
                yield from ladder.choices(k, part)


def within(instance: Instance, limit: float) -> Iterator[Choice]:
    """Leases that cost about the limit, in money, for as little time as that buys.

    Raises:
        UnsupportedInstance: as `expand` does.
    """
    found = [
        (takes, part, k, ladder)
        for ladder in _ladders(Renting.of(instance))
        for k in range(1, len(ladder.ranking))
        for part, takes in [ladder.bought(k, limit)]
        if part > 0
    ]
    for _, part, k, ladder in sorted(found, key=lambda each: each[0])[:BEST]:
        for less in LESS:
            yield from ladder.choices(k, less * part)


def _ladders(renting: Renting) -> list[_Ladder]:
    if len(renting.price) > MOST_WORKERS:
        return []
    return [_Ladder(renting, ranking) for ranking in renting.rankings]


@dataclass(frozen=True)
class _Ladder:
    """One worker more, and one more."""

    renting: Renting
    ranking: Ranking

    @cached_property
    def ends(self) -> list[float]:
        """About when all is done by the first of these workers, by the first two, ..."""
        return [self._done(k, 0.0, np.inf)[1] for k in range(len(self.ranking))]

    def choices(self, k: int, part: float) -> Iterator[Choice]:
        """The first k workers, and the next one for a part of the time, early or late."""
        rented = part * self.ends[k]
        for begin in (0.0, self._takes(k, part) - rented):
            worker, _ = self._done(k, begin, begin + rented)
            yield Choice(self.renting.order, worker=worker)

    def bought(self, k: int, limit: float) -> tuple[float, float]:
        """For which part of the time the limit pays that worker, 0 for none; and what it takes."""
        price = self.renting.price[self.ranking[: k + 1]]
        rate, own = float(price[:-1].sum()), float(price[-1])
        left = limit - rate * self.ends[k - 1]
        more = rate * (self.ends[k] - self.ends[k - 1]) + own * self.ends[k]
        part = 0.0 if left < 0 else 1.0 if more <= left else left / more
        return part, self._takes(k, part)

    def _takes(self, k: int, part: float) -> float:
        return self.ends[k - 1] + part * (self.ends[k] - self.ends[k - 1])

    def _done(self, k: int, begin: float, end: float) -> tuple[Ints, float]:
        since, until = self._leases(k, begin, end)
        renting = self.renting
        return leased(renting.problem, renting.order, renting.seconds, since, until)

    def _leases(self, k: int, begin: float, end: float) -> tuple[Floats, Floats]:
        """(w,) since when and until when each worker is rented: the first k all the time, and one
        more from `begin` to `end`."""
        since, until = np.full(len(self.ranking), np.inf), np.full(len(self.ranking), np.inf)
        since[self.ranking[:k]] = 0.0
        since[self.ranking[k]], until[self.ranking[k]] = begin, end
        return since, until
