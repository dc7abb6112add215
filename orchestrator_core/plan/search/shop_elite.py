"""The best schedules of a job shop that the tabu search has met, and how far apart they are (stage
3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import inner
from orchestrator_core.plan.search.shop_state import Shop


class Elite(NamedTuple):
    """k schedules, in row k the best one since the search was last begun anew, and two rows for
    the way between two of them.

    Attributes:
        before, after: (k + 3, n) as in the shop. value: (k + 1,) seconds. place: (n,) positions on
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
    before, after = np.full((2, size + 3, n), -1, dtype=np.int64)
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
    write_places(e, last)
    for i in range(e.state[0]):
        if (found < 0 or e.value[i] < e.value[found]) and way(e, e.after[i]) < e.state[3]:
            found = i
    return found


@inner
def begin_anew(e: Elite) -> None:
    """Forget all schedules but what the shop keeps as its best."""
    e.value[:] = np.inf
    e.state[0], e.state[2] = 0, 0


@inner
def write_places(e: Elite, row: int) -> None:
    """Write the position of each task on its machine in the schedule of that row."""
    for t in range(len(e.place)):
        if e.before[row, t] < 0:
            x, place = t, 0
            while x >= 0:
                e.place[x] = place
                place += 1
                x = e.after[row, x]


@inner
def way(e: Elite, after: Ints) -> int:
    """Pairs of tasks on a machine that are the other way round than the places say."""
    count = 0
    for t in range(len(after)):
        x = after[t]
        while x >= 0:
            if e.place[x] < e.place[t]:
                count += 1
            x = after[x]
    return count
