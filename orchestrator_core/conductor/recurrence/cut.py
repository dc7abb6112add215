"""The cheapest division of work between inside and outside of a loop, as a minimum cut."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from orchestrator_core.conductor.minimum_cut import ENDLESS, behind


class Cut:
    """Things are inside or outside. Arcs say what it costs if one is out and another is in.

    Costs are seconds; they are kept to about 1e-9 of the largest sum.
    """

    def __init__(self) -> None:
        self._number: dict[Hashable, int] = {OUT: 0, IN: 1}
        self._arcs: dict[tuple[int, int], float] = {}

    def cost(self, out: Hashable, inside: Hashable, seconds: float) -> None:
        """Of `out` being outside while `inside` is inside."""
        arc = self._of(out), self._of(inside)
        self._arcs[arc] = self._arcs.get(arc, 0.0) + seconds

    def never(self, out: Hashable, inside: Hashable) -> None:
        """`out` may not be outside while `inside` is inside."""
        self.cost(out, inside, float("inf"))

    def outside(self, things: Iterable[Hashable]) -> set[Hashable]:
        """Those that are outside at the least cost; of several such, as many as possible. None of
        them where something may be neither."""
        # Inside is only what can still be reached backward from IN.
        inside = behind(self._capacities(), self._number[OUT], self._number[IN])
        if inside is None:
            return set()
        return {each for each in things if each in self._number and self._of(each) not in inside}

    def _of(self, thing: Hashable) -> int:
        return self._number.setdefault(thing, len(self._number))

    def _capacities(self) -> dict[tuple[int, int], int]:
        finite = [seconds for seconds in self._arcs.values() if seconds != float("inf")]
        scale = ENDLESS / 4 / max(sum(finite), 1e-30)
        return {arc: round(min(ENDLESS, s * scale)) for arc, s in self._arcs.items()}


OUT, IN = "out", "in"
"""The two ends: what is outside, and what is inside, whatever it costs."""
