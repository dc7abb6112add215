"""Ways between two schedules of a job shop: each one on them is a schedule, and nearer."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.engine.compiled import interpreted
from orchestrator_core.plan.engine.project import Project
from orchestrator_core.plan.objective import MAKESPAN
from orchestrator_core.plan.search import shop_elite
from orchestrator_core.plan.search.general_shop import ShopEngine
from orchestrator_core.plan.search.shop_elite import Elite, empty_elite
from orchestrator_core.plan.search.shop_state import Shop, measure

JOBS, MACHINES = 5, 4

MEASURE = interpreted(measure)
RELINK, WANDER = interpreted(shop_elite.relink), interpreted(shop_elite.wander)
NOTE, ENTER = interpreted(shop_elite.note), interpreted(shop_elite.enter)


def shop(seed: int) -> tuple[Project, Shop]:
    """A random job shop in which each machine runs its tasks by their place in their jobs."""
    rng = np.random.default_rng(seed)
    seconds = np.full((JOBS * MACHINES, MACHINES), np.inf)
    for job in range(JOBS):
        for place, machine in enumerate(rng.permutation(MACHINES)):
            seconds[job * MACHINES + place, machine] = rng.integers(1, 30)
    edges = [(t, t + 1, 0.0) for t in range(JOBS * MACHINES) if (t + 1) % MACHINES]
    engine = ShopEngine(Instance.from_arrays(seconds, edges), MAKESPAN, seed)
    places = np.arange(JOBS * MACHINES) % MACHINES
    engine._sequence(np.lexsort((rng.random(len(places)), places)))
    return engine.project, engine._shop


def check(p: Project, s: Shop) -> None:
    """All tasks of a machine run one after the other, and all of a job."""
    MEASURE(p, s)
    end = s.head + s.seconds
    for t in range(len(s.head)):
        assert all(s.head[t] >= end[q] for q in p.in_task[p.in_ptr[t] : p.in_ptr[t + 1]])
        if s.before[t] >= 0:
            assert s.after[s.before[t]] == t
            assert s.machine[s.before[t]] == s.machine[t]
            assert s.head[t] >= end[s.before[t]]
    assert np.count_nonzero(s.before < 0) == MACHINES


def two(seed: int) -> tuple[Project, Shop, Elite]:
    """A shop with two elite schedules that are far from each other."""
    p, s = shop(seed)
    np.random.seed(seed)
    elite = empty_elite(len(s.head), 2)
    for _ in range(2):
        WANDER(p, s, 60)
        elite.value[-1] = np.inf
        NOTE(s, elite, MEASURE(p, s))
        ENTER(elite)
    assert elite.state[0] == 2
    return p, s, elite


def turned(s: Shop, before: np.ndarray) -> int:
    """Tasks that run behind another one than there."""
    return int(np.count_nonzero(s.before != before))


@pytest.mark.parametrize("seed", range(6))
def test_random_turns_keep_a_schedule_valid(seed: int) -> None:
    p, s = shop(seed)
    before = s.before.copy()
    np.random.seed(seed)
    for _ in range(20):
        WANDER(p, s, 3)
        check(p, s)
    assert turned(s, before) > 0


@pytest.mark.parametrize("seed", range(6))
def test_what_lies_between_two_schedules_is_valid_and_neither_of_them(seed: int) -> None:
    p, s, elite = two(seed)
    for _ in range(5):
        RELINK(p, s, elite)
        check(p, s)
        assert turned(s, elite.before[0]) > 0
        assert turned(s, elite.before[1]) > 0


def test_the_worst_schedule_makes_room_and_the_same_one_comes_in_once() -> None:
    elite = two(1)[2]
    elite.value[-1] = elite.value[:2].max()
    worst = int(elite.value[:2].argmax())
    elite.before[-1], elite.after[-1] = elite.before[worst], elite.after[worst]
    known = elite.value[:2].copy()
    ENTER(elite)
    assert elite.value[:2].tolist() == known.tolist()
    elite.value[-1] = known.min() - 1.0
    ENTER(elite)
    assert sorted(elite.value[:2]) == sorted([known.min(), known.min() - 1.0])
