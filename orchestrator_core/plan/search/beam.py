"""Beam: partial schedules side by side, a task longer in every round (stage 3).

Tasks are placed in the order of their starts, each as soon as its worker and its inputs are there,
so that some order leads to an optimum. Of all partial schedules of as many tasks those are kept
that have lost the least of what the workers can do, at the prices of the linear program that splits
tasks over workers: by idle threads, and by tasks where they are dearer than elsewhere. What cannot
end within a limit is dropped.

P. S. Ow, T. E. Morton: Filtered beam search in scheduling. Int. J. Production Research 26, 1988.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.search.beam_keep import choose, take
from orchestrator_core.plan.search.beam_side import Side
from orchestrator_core.plan.search.beam_state import (
    nothing_placed,
    room_for_partials,
    room_for_steps,
)
from orchestrator_core.plan.search.beam_steps import Desk, Taste, find_steps

SPARE = 4
"""Steps that are found, in widths, before those that rank low are left out."""

MANY = 2
"""Steps that are kept then, in widths; from there on, what ranks lower is not looked at."""


@dataclass(frozen=True, slots=True)
class Way:
    """How a beam goes.

    Attributes:
        width: partial schedules that are kept. twins: of these, how many of the same tasks.
        crowding, ease, chance, salt: see `Taste`; `ease` and `chance` in parts of the limit.
    """

    width: int
    twins: int
    crowding: float
    ease: float
    chance: float
    salt: int


class Beam:
    """One beam, from no task to all of them.

    Attributes:
        looked_at: partial schedules so far.
        ended: all tasks are placed, or nothing was left within the limit.
    """

    def __init__(self, side: Side, way: Way) -> None:
        self.side, self.way = side, way
        self.looked_at, self.ended = 0, side.n_tasks == 0
        self._parts, self._next, self._placed = nothing_placed(side), 0, 0
        room = SPARE * way.width + side.n_tasks * len(side.price)
        self._found, self._many, self._worst = room_for_steps(room), 0, np.inf
        n, w = side.seconds.shape
        self._desk = Desk(
            np.empty((n, w)),
            np.empty(n, dtype=np.int64),
            np.empty(side.n_threads),
            np.empty(len(side.need)),
        )

    def go(self, many: int, limit: float) -> None:
        """Look at up to `many` partial schedules; schedules that are not within the limit, seconds,
        are of no interest."""
        way = self.way
        taste = Taste(limit, way.crowding, way.ease * limit, way.chance * limit, way.salt)
        until = min(self._next + many, len(self._parts.now))
        self.looked_at += until - self._next
        while self._next < until:
            self._next, self._many = find_steps(
                self.side, self._parts, self._next, until - self._next, taste, self._worst,
                self._desk, self._found, self._many, SPARE * way.width,
            )  # fmt: skip
            if self._next < until:
                self._narrow()
        if until == len(self._parts.now):
            self._take(limit)

    def _narrow(self) -> None:
        """Make room for further steps."""
        keep = min(MANY * self.way.width, self._many)
        best = np.argpartition(self._found.rank[: self._many], keep - 1)[:keep]
        for column in self._found:
            column[:keep] = column[best]
        self._worst, self._many = float(self._found.rank[:keep].max()), keep

    def _take(self, limit: float) -> None:
        """The best steps make the next partial schedules."""
        rank = self._found.rank[: self._many]
        order = np.argsort(rank, kind="stable")
        kept = choose(
            self.side, self._parts, self._found, order, self.way.width, self.way.twins, limit
        )
        into = room_for_partials(self.side, len(kept))
        take(self.side, self._parts, self._found, kept, into)
        self._parts, self._next, self._many, self._worst = into, 0, 0, np.inf
        self._placed += 1
        self.ended = self._placed == self.side.n_tasks or len(kept) == 0

    def best(self) -> tuple[float, Floats, Ints] | None:
        """(seconds until all have ended, (n,) when each task ends, (n,) its worker), once ended."""
        if self._placed < self.side.n_tasks or len(self._parts.now) == 0:
            return None
        until = (self._parts.end + self.side.last).max(axis=1)
        b = int(np.argmin(until))
        return float(until[b]), self._parts.end[b], self._parts.worker[b].astype(np.int64)
