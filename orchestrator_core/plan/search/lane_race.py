"""Race: where the search on lanes begins, and how it is heated and cooled (stage 3).

The budget is run in legs, each from one solution and from hot to cold. First comes a short leg from
every start, and from the best one with two workers' tasks exchanged where that is as good; then
legs from the best, which begin hot and less hot in turn. Of the seeds that come later the best gets
a leg of its own. No leg is cut short for them: what a leg is worth only shows when it is cold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.lists.orders import heft
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.plan.search.lane_engine import LaneEngine, Solution
from orchestrator_core.plan.search.lane_exchange import exchanges
from orchestrator_core.plan.search.lane_heat import heats

UNHURRIED = 100
"""Moves for each task in a leg that can be as hot as `heats` says; a leg of fewer begins colder."""

RACE = 0.5
"""The part of the budget for the race."""

SHORT = 150
"""Moves for each task in a leg of the race, at least."""

RUNNERS = 12
"""Most legs of the race."""

LONG, LONG_HOT = 3_000, 12_000
"""Moves for each task in a leg from the best, at least, where the budget has as many; and where
some legs are hotter than others."""

LATER = 0.5
"""The part of what is left that a leg from a later seed takes."""

HOPELESS = 1.25
"""A start this many times worse than the best gets no leg."""

LISTED_TASKS = 2_000
"""From this many tasks on, a single move gains little: list orders of its own are left out where
there is another start, and the whole schedule is justified again and again."""

PASSES = 3
"""Passes of forward-backward improvement at the begin of a leg."""

JUSTIFIED = 5
"""Rounds between two times that a large schedule is justified."""

DECODED_TASKS = 200
"""From this many tasks on no leg decodes: a move on the disjunctive graph costs far less there
(decision 0076)."""


class Clock(Protocol):
    """How much of the budget is spent, and a round that keeps to it."""

    def spent(self, steps: int) -> float:
        """The part of the budget that is spent."""
        ...

    def run(self, engine: LaneEngine, heat: float, target: float, arcs: bool) -> None:
        """One round of the engine; arcs as in `LaneEngine.go`."""
        ...


@dataclass(slots=True)
class _Leg:
    """From `heat` at `since` down to nothing at `until`, both parts of the budget."""

    since: float
    until: float
    heat: float
    arcs: bool


class Race:
    """Legs one after the other, a round at a time."""

    def __init__(self, engine: LaneEngine) -> None:
        self._engine = engine
        self._starts: list[Solution] = []
        self._late: list[Solution] = []
        self._run = self._rounds = 0
        self._leg: _Leg | None = None
        self._heats, self._long_legs = heats(engine.problem), 0
        self._styles = _styles(engine)
        self._winner = (np.inf, self._styles[0])
        self._passes = 0

    def enter(self, schedule: Schedule) -> None:
        """A schedule to search from."""
        solution = self._engine.solution_of(schedule)
        (self._starts if self._leg is None else self._late).append(solution)

    def go(self, clock: Clock, target: float) -> None:
        """One round."""
        spent = clock.spent(self._engine.steps)
        if self._leg is None:
            self._leg = self._first_leg()
        elif spent >= self._leg.until:
            self._winner = min(self._winner, (self._engine.current, self._leg.arcs))
            self._leg = self._next_leg(spent)
        if self._passes > 0 and self._justify():
            return
        leg = self._leg
        cold = (spent - leg.since) / max(leg.until - leg.since, 1e-12)
        self._rounds += 1
        if self._engine.n_tasks >= LISTED_TASKS and self._rounds % JUSTIFIED == 0:
            self._passes = PASSES
        clock.run(self._engine, leg.heat * max(0.0, 1.0 - cold), target, leg.arcs)

    def _justify(self) -> bool:
        """Some passes of forward-backward improvement; was that enough for a round?"""
        while self._passes > 0:
            self._passes -= 1
            if self._passes == 0 or not self._engine.justify():
                self._passes = 0
                self._engine.loosen()
            if self._engine.n_tasks >= LISTED_TASKS:
                return True
        return False

    def _first_leg(self) -> _Leg:
        """One round from the best start, which shows how many moves there will be."""
        engine = self._engine
        if engine.n_tasks <= LISTED_TASKS or not self._starts:
            self._starts += _list_solutions(engine.problem)
        if len(self._starts) > 1:
            values = [engine.begin(start) for start in self._starts]
            ranked = np.argsort(values, kind="stable")
            self._starts = [self._starts[k] for k in ranked if values[k] <= HOPELESS * min(values)]
        engine.begin(self._starts[0])
        self._passes = PASSES
        return _Leg(0.0, 0.0, self._heats[-1] / 4, self._styles[0])

    def _next_leg(self, spent: float) -> _Leg:
        engine = self._engine
        moves = engine.steps / max(spent, 1e-9)
        runners = min(RUNNERS, int(RACE * moves / (SHORT * engine.n_tasks)))
        if self._run == 0 and runners > 1:
            self._starts[1:1] = exchanges(engine)
        if self._run < runners and spent < RACE:
            engine.begin(self._starts[self._run // 2 % len(self._starts)])
            self._passes = PASSES
            until = spent + (RACE - spent) / (runners - self._run)
            self._run += 1
            arcs = self._styles[(self._run + 1) % len(self._styles)]
            return self._leg_to(until, spent, self._heats[0], arcs)
        hottest = len(self._heats) > 1 and self._long_legs == 0
        if not hottest and self._begin_late():
            until = spent + LATER * (1.0 - spent)
            return self._leg_to(until, spent, self._heats[-1], self._winner[1])
        return self._long_leg(spent, moves)

    def _begin_late(self) -> bool:
        """Go on from the best of the later seeds; is it worth a leg of its own? It is not where it
        is the best of all, from which the next leg begins anyway. The others are dropped."""
        if not self._late:
            return False
        before = self._engine.best
        seed = min(self._late, key=self._engine.begin)
        self._late.clear()
        return before < self._engine.begin(seed) <= HOPELESS * before

    def _long_leg(self, spent: float, moves: float) -> _Leg:
        """One from the best solution, hot and less hot in turn."""
        engine, kinds = self._engine, len(self._heats)
        engine.begin(engine.best_solution())
        left, least = 1.0 - spent, kinds - self._long_legs % kinds
        each = (LONG if kinds == 1 else LONG_HOT) * engine.n_tasks
        heat = self._heats[self._long_legs % kinds]
        self._long_legs += 1
        until = spent + left / max(least, int(moves * left / each)) + 1e-12
        return self._leg_to(until, spent, heat, self._winner[1])

    def _leg_to(self, until: float, spent: float, heat: float, arcs: bool) -> _Leg:
        """A leg that begins as hot as its moves can cool down."""
        moves = self._engine.steps / max(spent, 1e-9) * (until - spent)
        each = moves / self._engine.n_tasks
        return _Leg(spent, until, heat * min(1.0, each / UNHURRIED), arcs)


def _styles(engine: LaneEngine) -> tuple[bool, ...]:
    """The values of `arcs` that legs take in turn."""
    if not engine.takes_arcs:
        return (False,)
    return (True,) if engine.n_tasks >= DECODED_TASKS else (False, True)


def _list_solutions(problem: Problem) -> Iterator[Solution]:
    """Placed by list heuristics when it is asked for: HEFT, and HEFT with tails looked ahead to."""
    free = np.full(problem.n_tasks, -1, dtype=np.int64)
    order = next(heft(problem)).order
    yield Solution(order, free, free)
    yield Solution(order, free, free, look=1.0)
