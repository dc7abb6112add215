"""The best schedules of a job shop that the tabu search has met, and ways between them (stage 3).

Path relinking: B. Peng, Z. Lu, T. C. E. Cheng: A tabu search/path relinking algorithm to solve the
job shop scheduling problem. Computers & Operations Research 53, 2015. From one of two schedules, a
part of what they differ in is turned round towards the other, pair by pair, and the search goes on
from there. Only pairs between which no other path leads are turned, so all on the way are valid.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import inner
from orchestrator_core.plan.engine.project import Project
from orchestrator_core.plan.search.shop_moves import swap
from orchestrator_core.plan.search.shop_state import Shop, measure

LEAST_WAY, MOST_WAY = 0.3, 0.7
"""Parts of the way to the other schedule that are gone."""

DRAWS = 20
"""Random tasks that are looked at for one that may be turned round."""


class Elite(NamedTuple):
    """k schedules, and in row k the best one since the search was last begun anew.

    Attributes:
        before, after: (k + 1, n) as in the shop. value: (k + 1,) seconds. place: (n,) positions on
            machines. state: (4,) how many schedules there are, the move of the one in row k, how
            many in a row were not taken in, and the pairs in which two that are not near differ.
    """

    before: Ints
    after: Ints
    value: Floats
    place: Ints
    state: Ints


def empty_elite(n: int, size: int, near: int) -> Elite:
    """Room for `size` schedules of n tasks; of two that differ in fewer than `near` pairs of tasks
    on a machine, only the better one stays."""
    before, after = np.full((2, size + 1, n), -1, dtype=np.int64)
    place, state = np.zeros(n, dtype=np.int64), np.array([0, 0, 0, near], dtype=np.int64)
    return Elite(before, after, np.full(size + 1, np.inf), place, state)


@inner
def note(s: Shop, e: Elite, makespan: float) -> None:
    """Keep the present schedule if it is the best one since the search was begun anew."""
    last = len(e.value) - 1
    if makespan < e.value[last] * (1 - 1e-12):
        e.value[last], e.state[1] = makespan, s.state[0]
        e.before[last], e.after[last] = s.before, s.after


@inner
def enter(e: Elite) -> bool:
    """Let the schedule in row k be one of the others: for one that is near and worse; if none is
    near, where there is room, or for the worst one if it is better. Was it taken in?"""
    last, at = len(e.value) - 1, _near(e)
    if at < 0 and e.state[0] < last:
        at = e.state[0]
        e.state[0] += 1
    elif at < 0:
        at = int(np.argmax(e.value[:last]))
    if e.value[last] >= e.value[at]:
        return False
    e.before[at], e.after[at], e.value[at] = e.before[last], e.after[last], e.value[last]
    return True


@inner
def _near(e: Elite) -> int:
    """The best schedule that is near the one in row k, -1 for none; writes its places."""
    last, found = len(e.value) - 1, -1
    _write_places(e, last)
    for i in range(e.state[0]):
        if (found < 0 or e.value[i] < e.value[found]) and _way(e, e.after[i]) < e.state[3]:
            found = i
    return found


@inner
def begin_anew(e: Elite) -> None:
    """Forget all schedules but what the shop keeps as its best."""
    e.value[:] = np.inf
    e.state[0], e.state[2] = 0, 0


@inner
def _write_places(e: Elite, row: int) -> None:
    """Write the position of each task on its machine in the schedule of that row."""
    for t in range(len(e.place)):
        if e.before[row, t] < 0:
            x, place = t, 0
            while x >= 0:
                e.place[x] = place
                place += 1
                x = e.after[row, x]


@inner
def _way(e: Elite, after: Ints) -> int:
    """Pairs of tasks on a machine that are the other way round than the places say."""
    count = 0
    for t in range(len(after)):
        x = after[t]
        while x >= 0:
            if e.place[x] < e.place[t]:
                count += 1
            x = after[x]
    return count


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
def relink(p: Project, s: Shop, e: Elite) -> None:
    """Make the shop a schedule between two random ones of at least two."""
    a, b = np.random.randint(0, e.state[0]), np.random.randint(0, e.state[0] - 1)
    if b >= a:
        b += 1
    s.before[:], s.after[:] = e.before[a], e.after[a]
    _write_places(e, b)
    way = _way(e, s.after)
    steps = int(way * (LEAST_WAY + (MOST_WAY - LEAST_WAY) * np.random.random()))
    while steps > 0 and _step(p, s, e):
        steps -= 1
    if way < e.state[3]:
        wander(p, s, len(s.head) // 4)
