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
from orchestrator_core.plan.engine.compiled import compiled
from orchestrator_core.plan.engine.project import Project


class Ground(NamedTuple):
    """What is taken of each worker, as linked lists of m moments; and a schedule of n tasks.

    Attributes:
        moment: (m,) seconds. after: (m,) the next moment of the same worker, -1 for none.
        taken: (m, c) from the moment on. Worker b's list begins at b.
        mark: (n,) the moment at which a task ends, -1 if it takes nothing scarce.
        start, end: (n,) seconds. chosen: (n,) alternative. spare: (s,) of the stock.
    """

    moment: Floats
    after: Ints
    taken: Floats
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
    return Ground(
        moment, after, np.zeros((most, c)), mark, start, end, chosen, np.zeros(len(project.stock))
    )


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
    w, c, s = p.limit.shape[0], p.limit.shape[1], len(p.stock)
    moment, after, taken, mark = ground.moment, ground.after, ground.taken, ground.mark
    start, end, chosen, spare = ground.start, ground.end, ground.chosen, ground.spare
    ptr, other, nbytes = p.out_ptr, p.out_task, p.out_bytes
    if forward:
        ptr, other, nbytes = p.in_ptr, p.in_task, p.in_bytes
    for b in range(w):
        moment[b], after[b] = 0.0, -1
        for d in range(c):
            taken[b, d] = 0.0
    used = w
    if s > 0:
        for d in range(s):
            spare[d] = p.stock[d]
        for t in range(len(order)):
            for d in range(s):
                o = fixed[t]
                spare[d] -= p.consumed[o, d] if o >= 0 else p.least[t, d]
    last = 0.0
    for t in order:
        low, past = p.first[t], p.first[t + 1]
        if fixed[t] >= 0:
            low, past = fixed[t], fixed[t] + 1
        best, best_start, best_o, best_node = np.inf, 0.0, low, -1
        for attempt in range(2):
            # The second attempt is for stock that no alternative leaves: any of them, then.
            for o in range(low, past):
                if s > 0 and attempt == 0 and past - low > 1:
                    fits = True
                    for d in range(s):
                        if p.consumed[o, d] - p.least[t, d] > spare[d]:
                            fits = False
                    if not fits:
                        continue
                b, seconds = p.worker[o], p.seconds[o]
                ready, node = earliest[t], b
                for k in range(ptr[t], ptr[t + 1]):
                    q = other[k]
                    a, at = p.worker[chosen[q]], end[q]
                    if a != b:
                        if forward:
                            at += p.latency[a, b] + nbytes[k] * p.per_byte[a, b]
                        else:
                            at += p.latency[b, a] + nbytes[k] * p.per_byte[b, a]
                    elif mark[q] >= 0 and moment[mark[q]] > moment[node]:
                        node = mark[q]
                    if at > ready:
                        ready = at
                begin, need, need_end = ready, p.need_ptr[o], p.need_ptr[o + 1]
                if seconds <= 0.0 or need == need_end:
                    node = -1
                else:
                    while after[node] >= 0 and moment[after[node]] <= begin:
                        node = after[node]
                    i = node
                    while True:
                        fits = True
                        for x in range(need, need_end):
                            d = p.need_column[x]
                            if taken[i, d] + p.need_amount[x] > p.limit[b, d]:
                                fits = False
                                break
                        follow = after[i]
                        if not fits:
                            node, begin = follow, moment[follow]
                            if begin + seconds >= best:
                                break
                        elif follow < 0 or moment[follow] >= begin + seconds:
                            break
                        i = follow
                if begin + seconds < best:
                    best, best_start, best_o, best_node = begin + seconds, begin, o, node
            if best < np.inf:
                break
        if s > 0 and fixed[t] < 0:
            for d in range(s):
                spare[d] -= p.consumed[best_o, d] - p.least[t, d]
        start[t], end[t], chosen[t], mark[t] = best_start, best, best_o, -1
        if best > last:
            last = best
        if best_node < 0:
            continue
        i = best_node
        if moment[i] < best_start:
            moment[used], after[used], after[i] = best_start, after[i], used
            for d in range(c):
                taken[used, d] = taken[i, d]
            i = used
            used += 1
        while True:
            follow = after[i]
            if follow < 0 or moment[follow] > best:
                moment[used], after[used], after[i] = best, follow, used
                for d in range(c):
                    taken[used, d] = taken[i, d]
                follow = used
                used += 1
            for x in range(p.need_ptr[best_o], p.need_ptr[best_o + 1]):
                taken[i, p.need_column[x]] += p.need_amount[x]
            i = follow
            if moment[i] >= best:
                break
        mark[t] = i
    return last
