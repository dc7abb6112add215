"""Serial schedule generation for projects, forwards and backwards in time (stage 3).

The tasks are placed one after the other, each as early as its producers, its worker's resources and
its release allow (J. E. Kelley: The critical-path method, 1963; R. Kolisch: Serial and parallel
resource-constrained project scheduling methods revisited. EJOR 90, 1996). Backwards, time runs from
the last end to the first start, and consumers go before producers.

What a worker has given away is a linked list of moments. Moments are never taken out of it, so that
a task looks for room from the moment at which a producer ended, not from the beginning. All arrays
are handed in: the kernel is called some ten thousand times a second.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled, inlined, lent
from orchestrator_core.plan.engine.project import Project


class Ground(NamedTuple):
    """What is taken of each worker, as linked lists of m moments; and a schedule of n tasks.

    Attributes:
        moment: (m,) seconds. after: (m,) the next moment of the same worker, -1 for none.
        taken: (m, c) from the moment on. Worker b's list begins at b. used: (1,) moments so far.
        mark: (n,) the moment at which a task ends, -1 if it takes nothing scarce.
        start, end: (n,) seconds. chosen: (n,) alternative. spare: (s,) of the stock.
    """

    moment: Floats
    after: Ints
    taken: Floats
    used: Ints
    mark: Ints
    start: Floats
    end: Floats
    chosen: Ints
    spare: Floats


def empty_ground(project: Project) -> Ground:
    """Room for any schedule of the project."""
    n, (w, c) = len(project.release), project.limit.shape
    most = w + 2 * n
    mark, chosen = np.full((2, n), -1, dtype=np.int64)
    start, end = np.zeros((2, n))
    moment, after = np.zeros(most), np.full(most, -1, dtype=np.int64)
    used, spare = np.zeros(1, dtype=np.int64), np.zeros(len(project.stock))
    return Ground(moment, after, np.zeros((most, c)), used, mark, start, end, chosen, spare)


@compiled
def place_in_project(
    p: Project, order: Ints, fixed: Ints, earliest: Floats, forward: bool, ground: Ground
) -> float:
    """Place the tasks of `order`; the last end, in seconds. Writes start, end and chosen.

    Args:
        order: (n,) producers before consumers; consumers before producers if not `forward`.
        fixed: (n,) alternative of each task; -1 for the one that ends first and leaves enough of
            the stock for all others, ties to the first one.
        earliest: (n,) seconds before which no task starts, in the direction of time that is asked.
    """
    p, ground = lent(p), lent(ground)
    _clear(p, ground)
    _hold_back(p, fixed, ground)
    last = 0.0
    for t in order:
        begin, end, o, node = _place(p, t, fixed[t], earliest[t], forward, ground)
        if fixed[t] < 0:
            for d in range(len(ground.spare)):
                ground.spare[d] -= p.consumed[o, d] - p.least[t, d]
        ground.start[t], ground.end[t], ground.chosen[t], ground.mark[t] = begin, end, o, -1
        last = max(last, end)
        if node >= 0:
            ground.mark[t] = _occupy(p, o, node, begin, end, ground)
    return float(last)


@inlined
def _clear(p: Project, g: Ground) -> None:
    """Nothing is taken of any worker."""
    w, c = p.limit.shape
    for b in range(w):
        g.moment[b], g.after[b] = 0.0, -1
        for d in range(c):
            g.taken[b, d] = 0.0
    g.used[0] = w


@inlined
def _hold_back(p: Project, fixed: Ints, g: Ground) -> None:
    """Write what is left of the stock beside what is fixed, and the least for all others."""
    for d in range(len(g.spare)):
        g.spare[d] = p.stock[d]
        for t in range(len(fixed)):
            o = fixed[t]
            g.spare[d] -= p.consumed[o, d] if o >= 0 else p.least[t, d]


@inlined
def _place(
    p: Project, t: int, only: int, earliest: float, forward: bool, g: Ground
) -> tuple[float, float, int, int]:
    """(start, end, alternative, moment at or before the start) of task t where it ends first."""
    low, past = p.first[t], p.first[t + 1]
    if only >= 0:
        low, past = only, only + 1
    asks = len(g.spare) > 0 and past - low > 1
    start, end, chosen, place = 0.0, np.inf, low, -1
    for attempt in range(2):
        # The second attempt is for stock that no alternative leaves: any of them, then.
        for o in range(low, past):
            if asks and attempt == 0 and not _leaves_enough(p, t, o, g):
                continue
            ready, node = _ready(p, t, o, earliest, forward, g)
            begin, node = _first_fit(p, o, ready, node, end, g)
            if begin + p.seconds[o] < end:
                start, end, chosen, place = begin, begin + p.seconds[o], o, node
        if end < np.inf:
            break
    return start, end, chosen, place


@inlined
def _leaves_enough(p: Project, t: int, o: int, g: Ground) -> bool:
    """Does the alternative leave the least for all other tasks?"""
    enough = True
    for d in range(len(g.spare)):
        enough = enough and p.consumed[o, d] - p.least[t, d] <= g.spare[d]
    return enough


@inlined
def _ready(
    p: Project, t: int, o: int, earliest: float, forward: bool, g: Ground
) -> tuple[float, int]:
    """When the inputs are there, and a moment before that from which room can be looked for."""
    b = p.worker[o]
    ready, node = earliest, b
    first, past = p.out_ptr[t], p.out_ptr[t + 1]
    if forward:
        first, past = p.in_ptr[t], p.in_ptr[t + 1]
    for k in range(first, past):
        q = p.in_task[k] if forward else p.out_task[k]
        a, at = p.worker[g.chosen[q]], g.end[q]
        if a != b and forward:
            at += p.latency[a, b] + p.in_bytes[k] * p.per_byte[a, b]
        elif a != b:
            at += p.latency[b, a] + p.out_bytes[k] * p.per_byte[b, a]
        elif g.mark[q] >= 0 and g.moment[g.mark[q]] > g.moment[node]:
            node = g.mark[q]
        ready = max(ready, at)
    return ready, node


@inlined
def _first_fit(
    p: Project, o: int, ready: float, node: int, before: float, g: Ground
) -> tuple[float, int]:
    """(start, the moment at or before it, -1 if nothing scarce is taken); looks no further once
    the end is not `before`."""
    seconds, b, begin = p.seconds[o], p.worker[o], ready
    if seconds <= 0.0 or p.need_ptr[o] == p.need_ptr[o + 1]:
        return begin, -1
    while g.after[node] >= 0 and g.moment[g.after[node]] <= begin:
        node = g.after[node]
    i = node
    while True:
        follow = g.after[i]
        if not _fits(p, o, b, i, g):
            node, begin = follow, g.moment[follow]
            if begin + seconds >= before:
                break
        elif follow < 0 or g.moment[follow] >= begin + seconds:
            break
        i = follow
    return begin, node


@inlined
def _fits(p: Project, o: int, b: int, i: int, g: Ground) -> bool:
    """Is there room for the alternative on worker b from moment i to the next?"""
    for x in range(p.need_ptr[o], p.need_ptr[o + 1]):
        d = p.need_column[x]
        if g.taken[i, d] + p.need_amount[x] > p.limit[b, d]:
            return False
    return True


@inlined
def _occupy(p: Project, o: int, i: int, begin: float, end: float, g: Ground) -> int:
    """Take what the alternative needs, from the moment i at or before its start on; the moment at
    its end."""
    if g.moment[i] < begin:
        i = _split(i, begin, g)
    while g.moment[i] < end:
        follow = g.after[i]
        if follow < 0 or g.moment[follow] > end:
            follow = _split(i, end, g)
        for x in range(p.need_ptr[o], p.need_ptr[o + 1]):
            g.taken[i, p.need_column[x]] += p.need_amount[x]
        i = follow
    return i


@inlined
def _split(i: int, moment: float, g: Ground) -> int:
    """A new moment after the moment i, with the same taken; which one it is."""
    x = g.used[0]
    g.used[0] += 1
    g.moment[x], g.after[x], g.after[i] = moment, g.after[i], x
    for d in range(g.taken.shape[1]):
        g.taken[x, d] = g.taken[i, d]
    return int(x)
