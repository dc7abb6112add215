"""Beams one after the other, until the budget is spent (stage 3)."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from orchestrator_core.plan.bounds.state import propagate
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.engine.place import place
from orchestrator_core.plan.engine.ranks import by_start
from orchestrator_core.plan.lists.orders import heft
from orchestrator_core.plan.planner import Brief, Proposal
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.plan.search.beam import Beam, Way
from orchestrator_core.plan.search.beam_side import Side, sides, useful_threads

FIRST_WIDTH, WIDEST = 64, 8192
"""Partial schedules that the first beams keep, and the last."""

OF_A_WIDTH = 8
"""Beams of the same width, before the next are twice as wide."""

TWINS = (3, 30, 300)
CROWDING = (0.0, 0.3, 1.0, 3.0)
EASE = (0.005, 0.02, 0.1)
CHANCE = (0.0, 0.0005, 0.002)
"""What `Way` is drawn from: none was best for most graphs."""

BETTER = 1e-9
"""Relative difference that makes a schedule better than another."""

A_TURN, A_SECOND = 400_000, 40_000_000
"""Tasks times threads of partial schedules that are looked at between two proposals, and about in a
second."""


class BeamRuns:
    """Beams of many kinds, ever wider, from the beginning or from the end."""

    def __init__(self, brief: Brief, patience: int, most_lost: float) -> None:
        """Args: patience, most_lost: see `BeamSearch`."""
        self.brief, self.problem = brief, expand(brief.instance)
        self._draw = np.random.default_rng(brief.budget.seed)
        self._began, self._looked_at, self._beams = time.perf_counter(), 0, 0
        self._most_lost = most_lost
        self._patience, self._found_at = patience * self.problem.n_tasks, 0
        self._size = self.problem.n_tasks * int(useful_threads(self.problem).sum())
        self._known = np.inf
        self._sides: tuple[Side, Side] | None = None
        self._sides_for = np.inf

    def proposals(self) -> Iterator[Proposal]:
        """Until the budget or the patience is spent, the bound is met or the widest are through."""
        if self.brief.incumbent is None:
            order = next(heft(self.problem)).order
            yield Proposal(self._placed(Choice(order)), note="where beams begin")
        width = FIRST_WIDTH
        while width <= WIDEST:
            for _ in range(OF_A_WIDTH):
                self._renew_sides()
                if (why := self._no_use()) is not None:
                    yield Proposal(note=why)
                    return
                yield from self._beam(width)
                if self._over():
                    return
            width *= 2

    def _beam(self, width: int) -> Iterator[Proposal]:
        """One of them, to its end."""
        assert self._sides is not None
        backward = bool(self._draw.integers(2))
        beam = Beam(self._sides[backward], self._way(width))
        self._beams += 1
        while not (beam.ended or self._over()):
            before = beam.looked_at
            beam.go(max(1, self._many()), self._best_known() * (1.0 - BETTER))
            self._looked_at += beam.looked_at - before
            found = self._found(beam, backward) if beam.ended else None
            yield Proposal(found, note=f"{self._beams} beams, up to {width} wide")

    def _way(self, width: int) -> Way:
        draw = self._draw
        return Way(
            width,
            int(draw.choice(TWINS)),
            float(draw.choice(CROWDING)),
            float(draw.choice(EASE)),
            float(draw.choice(CHANCE)),
            int(draw.integers(1 << 62)),
        )

    def _many(self) -> int:
        """Partial schedules to look at now, none if the budget is spent."""
        budget, size = self.brief.budget, self._size
        if budget.iterations is not None:
            return min(budget.iterations - self._looked_at, max(1, A_TURN // size))
        left = self._began + budget.seconds - time.perf_counter()
        return max(1, int(min(A_TURN, A_SECOND * left)) // size) if left > 0 else 0

    def _over(self) -> bool:
        """Is the budget or the patience spent, or the best schedule optimal?"""
        optimal = self._best_known() <= self.brief.lower_bound * (1.0 + 1e-12)
        tired = self._looked_at - self._found_at > self._patience
        return optimal or tired or self._many() <= 0

    def _best_known(self) -> float:
        incumbent = self.brief.incumbent
        return min(self._known, np.inf if incumbent is None else incumbent.makespan)

    def _renew_sides(self) -> None:
        """Derive what holds for schedules that are better than the best known; none if none is."""
        known = self._best_known()
        if known < self._sides_for:
            state = propagate(self.problem, known)
            self._sides = None if state is None else sides(self.problem, state)
            self._sides_for = known

    def _no_use(self) -> str | None:
        """Why beams would find nothing, or too little for their time; None if they may."""
        if self._sides is None:
            return "nothing can be better"
        known = self._best_known()
        lost = 1.0 - float(self._sides[0].worth.sum()) / known if known > 0.0 else 0.0
        if lost > self._most_lost:
            return f"waiting costs {lost:.0%} of what the workers could do: not for beams"
        return None

    def _found(self, beam: Beam, backward: bool) -> Schedule | None:
        """The schedule of a beam, if it is better than any other."""
        best = beam.best()
        if best is None or not best[0] < self._best_known():
            return None
        until, end, worker = best
        seconds = beam.side.seconds[np.arange(len(end)), worker]
        start = until - end if backward else end - seconds
        # In the order of its starts nothing begins later than there, and what has a gap fills it.
        order = by_start(self.problem, start)
        return self._placed(Choice(order, worker=worker))

    def _placed(self, choice: Choice) -> Schedule:
        schedule = place(self.brief.instance, choice)
        assert isinstance(schedule, Schedule)
        self._known = min(self._known, schedule.makespan)
        self._found_at = self._looked_at
        return schedule
