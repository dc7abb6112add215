"""Claims: what the rows of the window program are, and what they prove. Compiled (stage 3).

A row is a *claim*: numbers from which the row follows, given a state.

=======  ===================  =================================================================
claim    numbers              what it says of the split x and the makespan T
=======  ===================  =================================================================
WINDOW   kind, worker, s, u   work in the window <= T - min(s + u, known)
PATH     task                 sum over w of x times the shortest schedule with it on w <= T
=======  ===================  =================================================================

A window without a task of its own proves nothing by itself, so that s + u counts only up to what is
known anyway.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds.sweep import Flags
from orchestrator_core.plan.engine.compiled import inner

WINDOW, PATH = 0, 1


@inner
def rows_of(
    task: Ints,
    worker: Ints,
    settled: Flags,
    what: Ints,
    span: Floats,
    count: int,
    work: Floats,
    head: Floats,
    tail: Floats,
    through: Floats,
    known: float,
    ptr: Ints,
    b: Floats,
) -> tuple[Ints, Floats]:
    """(row, value) of the columns by `ptr`, and `b`, in units of `known`; of settled tasks the
    variables are put into `b`."""
    nv = len(task)
    ptr[:] = 0
    for fill in range(2):
        if fill:
            for v in range(nv):
                ptr[v + 1] += ptr[v]
            row, value = np.empty(ptr[nv], dtype=np.int64), np.empty(ptr[nv])
            at = ptr[:nv].copy()
        for k in range(count):
            b[k] = 1.0
            if what[k, 0] == WINDOW:
                b[k] -= min(1.0, (span[k, 0] + span[k, 1]) / known)
            for v in range(nv):
                t, w = task[v], worker[v]
                if what[k, 0] == WINDOW:
                    if w != what[k, 2] or head[t, w] < span[k, 0] or tail[t, w] < span[k, 1]:
                        continue
                    a = work[what[k, 1], t, w] / known
                elif t == what[k, 1]:
                    a = through[t, w] / known
                else:
                    continue
                if settled[v]:
                    b[k] -= a
                elif fill:
                    row[at[v]], value[at[v]] = k, a
                    at[v] += 1
                else:
                    ptr[v + 1] += 1
    return row, value


@inner
def proven(
    first: Ints,
    task: Ints,
    worker: Ints,
    what: Ints,
    span: Floats,
    y: Floats,
    count: int,
    work: Floats,
    head: Floats,
    tail: Floats,
    through: Floats,
    known: float,
) -> float:
    """What multipliers prove, added up anew: the prices of the cheapest worker of each task."""
    total = 0.0
    for k in range(count):
        if what[k, 0] == WINDOW:
            total += y[k] * min(known, span[k, 0] + span[k, 1])
    for t in range(len(first) - 1):
        cheapest = np.inf
        for v in range(first[t], first[t + 1]):
            p, w = task[v], worker[v]
            price = 0.0
            for k in range(count):
                if y[k] == 0.0:
                    continue
                if what[k, 0] == WINDOW:
                    if w == what[k, 2] and head[p, w] >= span[k, 0] and tail[p, w] >= span[k, 1]:
                        price += y[k] * work[what[k, 1], p, w]
                elif p == what[k, 1]:
                    price += y[k] * through[p, w]
            cheapest = min(cheapest, price)
        total += cheapest
    return total
