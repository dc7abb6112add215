"""Ways between two schedules of a job shop: each one on them is a schedule, and nearer."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core.plan.engine.compiled import interpreted
from orchestrator_core.plan.engine.project import Project
from orchestrator_core.plan.search import shop_elite
from orchestrator_core.plan.search.shop_elite import Elite, empty_elite
from orchestrator_core.plan.search.shop_sample import scatter
from orchestrator_core.plan.search.shop_state import Shop
from tests.plan.search.shops import MEASURE, check, shop

NEAR = 4
RELINK, WANDER = interpreted(shop_elite.relink), interpreted(shop_elite.wander)
SCATTER = interpreted(scatter)
NOTE, ENTER = interpreted(shop_elite.note), interpreted(shop_elite.enter)


def two(seed: int) -> tuple[Project, Shop, Elite]:
    """A shop with two elite schedules that are far from each other."""
    p, s = shop(seed)
    np.random.seed(seed)
    elite = empty_elite(len(s.head), 2, NEAR)
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
def test_a_random_schedule_is_valid_and_another_each_time(seed: int) -> None:
    p, s = shop(seed)
    np.random.seed(seed)
    known = set()
    for _ in range(10):
        SCATTER(p, s)
        check(p, s)
        known.add(tuple(s.before.tolist()))
    assert len(known) == 10


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


def test_of_two_schedules_that_are_near_the_better_one_stays() -> None:
    p, s, elite = two(2)
    apart = elite.value[:2].tolist()
    s.before[:], s.after[:] = elite.before[0], elite.after[0]
    WANDER(p, s, 1)
    elite.before[-1], elite.after[-1] = s.before, s.after
    elite.value[-1] = apart[0] + 1.0
    assert not ENTER(elite)
    assert elite.value[:2].tolist() == apart
    elite.value[-1] = apart[0] - 1.0
    assert ENTER(elite)
    assert elite.value[:2].tolist() == [apart[0] - 1.0, apart[1]]


def test_elites_that_were_forgotten_are_looked_for_again() -> None:
    p, s, elite = two(3)
    interpreted(shop_elite.begin_anew)(elite)
    assert elite.state[0] == 0
    WANDER(p, s, 5)
    NOTE(s, elite, MEASURE(p, s))
    assert ENTER(elite)
    assert elite.state[0] == 1
