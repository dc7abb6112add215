"""tabu: tabu search on the critical path of a job shop, compiled (stage 3).

A task of a critical block, which is a run of tasks on one machine of the longest path, moves to the
begin or behind the end of its block (`shop_moves.py`). What was turned round stays so for a while,
as in E. Nowicki, C. Smutnicki: A fast taboo search algorithm for the job shop problem. Management
Science 42, 1996. After long without a better schedule, it goes on between two of the best ones that
it has met (`shop_elite.py`); once they are too much alike for that, it looks for others.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.plan.engine.compiled import compiled, inner, lent
from orchestrator_core.plan.engine.project import Project
from orchestrator_core.plan.search.shop_elite import Elite, begin_anew, enter, note, relink
from orchestrator_core.plan.search.shop_moves import move
from orchestrator_core.plan.search.shop_sample import scatter
from orchestrator_core.plan.search.shop_state import Shop, longest, measure

IDLE = 4_000
"""Moves without a better schedule after which the search goes on from elsewhere."""

IN_VAIN = 3
"""Searches in a row, for each of the best schedules, that added none to them, after which others
are looked for."""


@inner
def _begin_elsewhere(p: Project, s: Shop, e: Elite) -> None:
    """Between two of the best schedules; while there are few, anywhere."""
    e.state[2] = 0 if enter(e) else e.state[2] + 1
    if e.state[2] > IN_VAIN * (len(e.value) - 1):
        begin_anew(e)
    if e.state[0] < len(e.value) - 1:
        scatter(p, s)
    else:
        relink(p, s, e)
    s.banned[:] = 0
    e.value[-1], e.state[1] = np.inf, s.state[0]


@inner
def _note_best(s: Shop, makespan: float) -> None:
    if makespan < s.best[0] * (1 - 1e-12):
        s.best[0] = makespan
        s.best_before[:], s.best_after[:] = s.before, s.after
        s.best_start[:] = s.head


@compiled
def tabu(p: Project, s: Shop, e: Elite, seed: int, moves: int, target: float) -> int:
    """Make so many moves, or until a schedule of at most `target` seconds; how many were made."""
    np.random.seed(seed)
    p, s, e = lent(p), lent(s), lent(e)
    makespan = measure(p, s)
    for number in range(moves):
        s.state[0] += 1
        note(s, e, makespan)
        _note_best(s, makespan)
        if s.best[0] <= target:
            return number + 1
        idle = s.state[0] - e.state[1] > IDLE
        makespan = -1.0 if idle else move(p, s, longest(p, s, makespan))
        if makespan < 0.0:
            _begin_elsewhere(p, s, e)
            makespan = measure(p, s)
    return moves
