"""Sizes: makespans of one run by the number of workers, and the search among them."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from orchestrator_core.execute.scaling.resized import Resized
from orchestrator_core.graph.finer_kind import plain_kind
from orchestrator_core.graph.task_graph import Floats

ROOM = 2.0
"""Workers that stay have at least this many times the memory that all held outputs take."""

LEAST_GAIN = 0.01
"""Part of the remaining seconds that twice the workers must save for a still larger cluster to be
tried."""


@dataclass(frozen=True, slots=True)
class Elasticity:
    """Makespans, in seconds from the start of the run.

    Attributes:
        makespan: with the workers that are there.
        more: with one more worker of each kind. fewer: without each worker; infinite if some task
            could then run nowhere. What the time did not suffice for is missing.
    """

    makespan: float
    more: Mapping[str, float]
    fewer: Mapping[str, float]


def elasticity_of(run: Resized, until: float) -> Elasticity:
    workers = run.instance.cluster.workers
    more, fewer = dict[str, float](), dict[str, float]()
    for kind in dict.fromkeys(plain_kind(workers[b].kind) for b in run.workers):
        if time.perf_counter() < until:
            more[kind] = run.more(kind)
    # Those with the least work first: they are the likeliest to go.
    for b in sorted(run.workers, key=lambda b: run.planned_seconds[b]):
        if time.perf_counter() < until:
            fewer[workers[b].name] = run.fewer((workers[b].name,))
    return Elasticity(run.makespan, more, fewer)


class Sizes:
    """Makespans of one run by the number of workers; each is worked out once.

    Attributes:
        retire: workers that may go, the one that is missed least first; all before it gone too.
    """

    def __init__(
        self, run: Resized, kind: str, held: Mapping[str, float] | None, until: float
    ) -> None:
        self._run, self._kind, self._until = run, kind, until
        self._present = len(run.workers)
        self._elasticity = elasticity_of(run, until)
        self._held = held if held is not None else dict(self._by_name(run.held))
        self.retire, shrunk = self._way_down()
        self._known = {self._present: run.makespan}
        self._known |= {self._present - k - 1: each for k, each in enumerate(shrunk)}

    def makespan(self, number: int) -> float:
        """With that many workers; infinite where not so many may go. Falls with the number."""
        if number not in self._known:
            if number < self._present:
                return math.inf
            found = self._run.more(self._kind, number - self._present)
            smaller = (each for n, each in self._known.items() if n < number)
            larger = (each for n, each in self._known.items() if n > number)
            self._known[number] = max(min(found, *smaller), max(larger, default=0.0))
        return self._known[number]

    def limit(
        self, most: int, deadline: float | None, may_slow: bool, slack: float
    ) -> tuple[float, int]:
        """(the makespan that is good enough, a number of workers that reaches it)."""
        wanted = self._run.bound if deadline is None else deadline
        top = self._climb(most, wanted)
        reached = self.makespan(top)
        near = self._run.now + (1.0 + slack) * (reached - self._run.now)
        if deadline is None or reached > deadline:
            return near, top
        if top == self._present and not may_slow:
            return near, top
        return deadline, top

    def smallest(self, least: int, top: int, limit: float) -> int:
        """The smallest number of workers within the limit; `top` is, if any is."""
        low, high = least, top
        while low < high and time.perf_counter() < self._until:
            middle = (low + high) // 2
            if self.makespan(middle) <= limit:
                high = middle
            else:
                low = middle + 1
        return high

    def bought(self) -> dict[str, float]:
        """By kind, the seconds that one more worker saves for its price of an hour."""
        members = self._run.instance.cluster.workers
        price = {plain_kind(members[b].kind): members[b].price for b in reversed(self._run.workers)}
        saved = {kind: self._run.makespan - each for kind, each in self._elasticity.more.items()}
        return {
            kind: 0.0 if each <= 0 else each / price[kind] if price[kind] > 0 else math.inf
            for kind, each in saved.items()
        }

    def _climb(self, most: int, wanted: float) -> int:
        """Twice as many workers again and again, for as long as that helps."""
        number, now = self._present, self._run.now
        while self.makespan(number) > wanted and number < most:
            if time.perf_counter() >= self._until:
                break
            larger = min(2 * number, most)
            before, after = self.makespan(number) - now, self.makespan(larger) - now
            if after >= before * (1.0 - LEAST_GAIN):
                break
            number = larger
        return number

    def _way_down(self) -> tuple[tuple[str, ...], list[float]]:
        """Who goes, one after the other, and the makespan after each."""
        gone, makespans = list[str](), list[float]()
        for name in self._least_missed():
            if time.perf_counter() >= self._until:
                break
            after = self._run.fewer((*gone, name)) if self._fits((*gone, name)) else math.inf
            if after < math.inf:
                gone.append(name)
                makespans.append(max(after, makespans[-1] if makespans else 0.0))
        return tuple(gone), makespans

    def _least_missed(self) -> list[str]:
        work = dict(self._by_name(self._run.planned_seconds))
        harm = self._elasticity.fewer
        return sorted(harm, key=lambda name: (harm[name], work[name], self._held.get(name, 0.0)))

    def _fits(self, gone: Collection[str]) -> bool:
        """Do those who stay have the memory for all that is held?"""
        members = self._run.instance.cluster.workers
        room = sum(members[b].memory for b in self._run.workers if members[b].name not in gone)
        return room >= ROOM * sum(self._held.values())

    def _by_name(self, column: Floats) -> Iterator[tuple[str, float]]:
        for b in self._run.workers:
            yield self._run.instance.cluster.names[b], float(column[b])
