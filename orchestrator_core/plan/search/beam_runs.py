"""Beams one after the other, until the budget is spent (stage 3)."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.place import place
from orchestrator_core.plan.planner import Brief, Proposal
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.plan.search.beam import Beam, Way
from orchestrator_core.plan.search.beam_side import sides

FIRST_WIDTH, WIDEST = 64, 8192
"""Partial schedules that the first beams keep, and the last."""

OF_A_WIDTH = 8
"""Beams of the same width, before the next are twice as wide."""

TWINS = (3, 10, 30)
CROWDING = (0.0, 0.3, 1.0, 3.0)
EASE = (0.005, 0.02, 0.1)
CHANCE = (0.0, 0.0005, 0.002)
"""What `Way` is drawn from: none was best for most graphs."""

BETTER = 1e-9
"""Relative difference that makes a schedule better than another."""

A_TURN, A_SECOND = 40_000, 4_000_000
"""Tasks of partial schedules that are looked at between two proposals, and about in a second."""


class BeamRuns:
    """Beams of many kinds, ever wider, from the beginning or from the end."""

    def __init__(self, brief: Brief, problem: Problem) -> None:
        self.brief, self.problem = brief, problem
        self._sides = sides(problem)
        self._draw = np.random.default_rng(brief.budget.seed)
        self._began, self._steps, self._beams = time.perf_counter(), 0, 0
        self._known = np.inf

    def proposals(self) -> Iterator[Proposal]:
        """Until the budget is spent, the bound is met or the widest are through."""
        width = FIRST_WIDTH
        while width <= WIDEST:
            for _ in range(OF_A_WIDTH):
                beam = Beam(self._sides[int(self._draw.integers(2))], self._way(width))
                self._beams += 1
                while not beam.ended:
                    many = self._many()
                    if many <= 0 or self._is_optimal():
                        return
                    before = beam.steps
                    beam.go(many, self._limit())
                    self._steps += beam.steps - before
                    found = self._found(beam) if beam.ended else None
                    yield Proposal(found, note=f"{self._beams} beams, up to {width} wide")
            width *= 2

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
        budget, n = self.brief.budget, self.problem.n_tasks
        if budget.iterations is not None:
            return min(budget.iterations - self._steps, max(1, A_TURN // n))
        left = self._began + budget.seconds - time.perf_counter()
        return max(1, int(min(A_TURN, A_SECOND * left)) // n) if left > 0 else 0

    def _best_known(self) -> float:
        incumbent = self.brief.incumbent
        return min(self._known, np.inf if incumbent is None else incumbent.makespan)

    def _limit(self) -> float:
        return self._best_known() * (1.0 - BETTER)

    def _is_optimal(self) -> bool:
        return self._best_known() <= self.brief.lower_bound * (1.0 + 1e-12)

    def _found(self, beam: Beam) -> Schedule | None:
        """The schedule of a beam, if it is better than any other."""
        best = beam.best()
        if best is None or not best[0] < self._best_known():
            return None
        until, end, worker = best
        problem = self.problem
        seconds = beam.side.seconds[np.arange(problem.n_tasks), worker]
        start = end - seconds if beam.side is self._sides[0] else until - end
        depth = np.empty(problem.n_tasks, dtype=np.int64)
        depth[problem.topological] = np.arange(problem.n_tasks)
        # In the order of its starts nothing begins later than there, and what has a gap fills it.
        order = np.lexsort((depth, start)).astype(np.int64)
        schedule = place(self.brief.instance, Choice(order, worker=worker))
        assert isinstance(schedule, Schedule)
        self._known = min(self._known, schedule.makespan)
        return schedule
