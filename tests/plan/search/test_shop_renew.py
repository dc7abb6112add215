"""After a move of a job shop, order, heads and tails are those of a shop measured anew."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core.plan.engine.compiled import interpreted
from orchestrator_core.plan.engine.project import Project
from orchestrator_core.plan.search.shop_elite import wander
from orchestrator_core.plan.search.shop_moves import move
from orchestrator_core.plan.search.shop_state import Shop, longest
from tests.plan.search.shops import MEASURE, check, shop

MOVE, LONGEST, WANDER = interpreted(move), interpreted(longest), interpreted(wander)
KEPT = ("head", "tail", "ready", "rest")


def is_order(p: Project, s: Shop) -> bool:
    """Comes each task once, behind all that it waits for?"""
    if (s.top[s.spot] != np.arange(len(s.top))).any():
        return False
    for t in range(len(s.top)):
        waits_for = p.in_task[p.in_ptr[t] : p.in_ptr[t + 1]].tolist()
        if s.before[t] >= 0:
            waits_for.append(int(s.before[t]))
        if any(s.spot[q] > s.spot[t] for q in waits_for):
            return False
    return True


@pytest.mark.parametrize("seed", range(6))
def test_moves_leave_what_a_new_measure_would_find(seed: int) -> None:
    p, s = shop(seed, jobs=10)
    np.random.seed(seed)
    made = 0
    for number in range(60):
        if number % 6 == 0:
            WANDER(p, s, 20)
            makespan = MEASURE(p, s)
        s.state[0] += 1
        makespan = MOVE(p, s, LONGEST(p, s, makespan))
        if makespan < 0:  # one machine alone is the longest path
            makespan = MEASURE(p, s)
            continue
        made += 1
        assert is_order(p, s)
        renewed = {name: getattr(s, name).copy() for name in KEPT}
        assert MEASURE(p, s) == makespan
        for name, found in renewed.items():
            assert found.tolist() == getattr(s, name).tolist()
        check(p, s)
    assert made > 30
