"""Ways between two of the best schedules of a job shop (stage 3).

Path relinking: B. Peng, Z. Lu, T. C. E. Cheng: A tabu search/path relinking algorithm to solve the
job shop scheduling problem. Computers & Operations Research 53, 2015. From one of two schedules, a
part of what they differ in is turned round towards the other, pair by pair. After a fifth of the
way, and each tenth from there to the last fifth, a short search begins, and where it gets furthest
the next long one goes on. Only pairs between which no other path leads are turned, so all on the
way are valid.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.plan.engine.compiled import inner
from orchestrator_core.plan.engine.project import Project
from orchestrator_core.plan.search.shop_elite import Elite, way, write_places
from orchestrator_core.plan.search.shop_moves import move, swap
from orchestrator_core.plan.search.shop_state import Shop, longest, measure

DRAWS = 20
"""Random tasks that are looked at for one that may be turned round."""


@inner
def _may_turn(p: Project, s: Shop, t: int) -> bool:
    """Surely leads no other path from t to the next task on its machine; by the heads."""
    x = s.after[t]
    for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
        c = p.out_task[k]
        if c == x or s.head[c] + s.seconds[c] <= s.head[x]:
            return False
    return True


@inner
def wander(p: Project, s: Shop, steps: int) -> None:
    """Turn so many random pairs of neighbours round."""
    for _ in range(steps):
        measure(p, s)
        for _ in range(DRAWS):
            t = np.random.randint(0, len(s.head))
            if s.after[t] >= 0 and _may_turn(p, s, t):
                swap(s, t)
                break


@inner
def _step(p: Project, s: Shop, e: Elite) -> bool:
    """Turn a random pair of neighbours as the places say; False if there is none."""
    measure(p, s)
    found, drawn = -1, 0
    for t in range(len(s.head)):
        x = s.after[t]
        if x >= 0 and e.place[x] < e.place[t] and _may_turn(p, s, t):
            drawn += 1
            if np.random.randint(0, drawn) == 0:
                found = t
    if found >= 0:
        swap(s, found)
    return found >= 0


@inner
def _try_from_here(p: Project, s: Shop, e: Elite, best: float, moves: int) -> float:
    """Make so many moves; the better one of the best makespan so far and the one met now,
    whose schedule is then in the last row."""
    s.banned[:] = 0
    makespan = measure(p, s)
    for _ in range(moves):
        s.state[0] += 1
        if makespan < best:
            best = makespan
            e.before[-1], e.after[-1] = s.before, s.after
        makespan = move(p, s, longest(p, s, makespan))
        if makespan < 0.0:
            break
    return best


@inner
def _go_along(p: Project, s: Shop, e: Elite, length: int, moves: int) -> None:
    """Make the shop the best schedule met from places on the way to the schedule of `place`."""
    here, best, gone, until = len(e.value), np.inf, 0, length // 5
    while until <= length - length // 5:
        while gone < until and _step(p, s, e):
            gone += 1
        e.before[here], e.after[here] = s.before, s.after
        best = _try_from_here(p, s, e, best, moves)
        s.before[:], s.after[:] = e.before[here], e.after[here]
        if gone < until:
            break
        until += max(2, length // 10)
    s.before[:], s.after[:] = e.before[-1], e.after[-1]


@inner
def relink(p: Project, s: Shop, e: Elite, moves: int) -> None:
    """Make the shop a schedule between two random ones of at least two, or what `moves` moves make
    of one."""
    a, b = np.random.randint(0, e.state[0]), np.random.randint(0, e.state[0] - 1)
    if b >= a:
        b += 1
    s.before[:], s.after[:] = e.before[a], e.after[a]
    write_places(e, b)
    length = way(e, s.after)
    if length < e.state[3]:
        wander(p, s, len(s.head) // 4)
    else:
        _go_along(p, s, e, length, moves)
