"""The race: legs from hot to cold, whatever comes in the meantime."""

from __future__ import annotations

import numpy as np

from orchestrator_core import Budget, plan
from orchestrator_core.plan.objective import MAKESPAN
from orchestrator_core.plan.search.lane_engine import LaneEngine
from orchestrator_core.plan.search.lane_race import RACE, Race
from tests.strategies import random_instance

INSTANCE = random_instance(np.random.default_rng(3), 30, 3)
ROUNDS = 200


class CountingClock:
    """Time is counted in rounds of a few moves; keeps how hot each was."""

    def __init__(self, moves: int) -> None:
        self.moves, self.heats = moves, list[float]()

    def spent(self, steps: int) -> float:
        return len(self.heats) / ROUNDS

    def run(self, engine: LaneEngine, heat: float, target: float, arcs: bool) -> None:
        self.heats.append(heat)
        engine.go(self.moves, 1 << 30, heat, target, arcs)


def raced(once=(), always=(), moves=300):
    """The heat of each round, and the engine; seeds come after the first round, or all the time."""
    engine, clock = LaneEngine(INSTANCE, MAKESPAN, 0), CountingClock(moves)
    race = Race(engine)
    race.go(clock, 0.0)
    for schedule in once:
        race.enter(schedule)
    while len(clock.heats) < ROUNDS:
        for schedule in always:
            race.enter(schedule)
        race.go(clock, 0.0)
    return clock.heats, engine


def heft():
    return plan(INSTANCE, Budget(seconds=0.0), planners=["heft"]).schedule


def test_no_leg_is_cut_short_for_seeds_that_come_later():
    """Each leg only ever cools down, and a seed that comes all the time makes none shorter."""
    quiet, _ = raced()
    told, _ = raced(always=[heft()])
    first = next(k for k in range(int(RACE * ROUNDS) + 1, ROUNDS) if quiet[k] > quiet[k - 1])
    assert told[:first] == quiet[:first]


def test_the_best_of_all_is_the_start_of_the_next_leg():
    """A seed that is better than all others is not lost, even if worse ones come after it; in so
    few moves the race finds nothing as good by itself."""
    best = plan(INSTANCE, Budget(iterations=20_000), planners=["local-search"]).schedule
    _, alone = raced(moves=1)
    _, told = raced(once=[best, heft()], moves=1)
    assert told.value <= best.makespan < alone.value
