"""The cheapest division of work between inside and outside of a loop, as a minimum cut."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

LARGE = 2**30


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
        """Those that are outside at the least cost; of several such, as many as possible."""
        flow = self._flow()
        residual = csr_array(self._capacities() - flow)
        residual.data[residual.data < 0] = 0
        residual.eliminate_zeros()
        # Inside is only what can still be reached backward from IN.
        ahead = breadth_first_order(csr_array(residual.T), 1, return_predecessors=False)
        inside = set(ahead.tolist())
        return {each for each in things if each in self._number and self._of(each) not in inside}

    def _of(self, thing: Hashable) -> int:
        return self._number.setdefault(thing, len(self._number))

    def _capacities(self) -> Any:
        finite = [seconds for seconds in self._arcs.values() if seconds != float("inf")]
        scale = LARGE / 4 / max(sum(finite), 1e-30)
        data = [
            min(LARGE, round(s * scale)) if s != float("inf") else LARGE
            for s in self._arcs.values()
        ]
        row, column = zip(*self._arcs, strict=True)
        size = len(self._number)
        return csr_array((np.asarray(data, np.int32), (row, column)), (size, size))

    def _flow(self) -> Any:
        from scipy.sparse import csr_matrix

        return csr_array(maximum_flow(csr_matrix(self._capacities()), 0, 1).flow)


OUT, IN = "out", "in"
"""The two ends: what is outside, and what is inside, whatever it costs."""
