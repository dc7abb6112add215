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

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds.choices import Choices
from orchestrator_core.plan.engine.compiled import inner

WINDOW, PATH = 0, 1


class Times(NamedTuple):
    """What claims are about.

    Attributes:
        work: (kinds, n, w), see `Relaxation`. head, tail: (n, w), see `State`.
        through: (n, w) seconds that no schedule is shorter than in which the task runs there.
        known: seconds > 0 that no schedule is shorter than.
    """

    work: Floats
    head: Floats
    tail: Floats
    through: Floats
    known: float


@inner
def rows_of(
    choices: Choices, times: Times, what: Ints, span: Floats, ptr: Ints, b: Floats
) -> tuple[Ints, Floats]:
    """(row, value) of the columns by `ptr`, and `b`, in units of `known`; of settled tasks the
    variables are put into `b`."""
    for k in range(len(what)):
        b[k] = 1.0
        if what[k, 0] == WINDOW:
            b[k] -= min(1.0, (span[k, 0] + span[k, 1]) / times.known)
    ptr[0] = 0
    for v in range(len(choices.task)):
        ptr[v + 1] = ptr[v]
        for k in range(len(what)):
            seconds = _claimed(choices, times, what, span, v, k)
            if choices.settled[v]:
                b[k] -= seconds / times.known
            elif seconds > 0:
                ptr[v + 1] += 1
    row, value = np.empty(ptr[-1], dtype=np.int64), np.empty(ptr[-1])
    for v in range(len(choices.task)):
        at = ptr[v]
        for k in range(len(what)):
            if at == ptr[v + 1]:
                break
            seconds = _claimed(choices, times, what, span, v, k)
            if seconds > 0:
                row[at], value[at] = k, seconds / times.known
                at += 1
    return row, value


@inner
def proven(choices: Choices, times: Times, what: Ints, span: Floats, y: Floats) -> float:
    """What multipliers prove, added up anew: the prices of the cheapest worker of each task."""
    total = 0.0
    for k in range(len(what)):
        if what[k, 0] == WINDOW:
            total += y[k] * min(times.known, span[k, 0] + span[k, 1])
    for t in range(len(choices.first) - 1):
        cheapest = np.inf
        for v in range(choices.first[t], choices.first[t + 1]):
            price = 0.0
            for k in range(len(what)):
                if y[k] != 0.0:
                    price += y[k] * _claimed(choices, times, what, span, v, k)
            cheapest = min(cheapest, price)
        total += cheapest
    return total


@inner
def _claimed(choices: Choices, times: Times, what: Ints, span: Floats, v: int, k: int) -> float:
    """The seconds that claim k counts of variable v."""
    t, w = choices.task[v], choices.worker[v]
    if what[k, 0] != WINDOW:
        return float(times.through[t, w]) if t == what[k, 1] else 0.0
    if w != what[k, 2] or times.head[t, w] < span[k, 0] or times.tail[t, w] < span[k, 1]:
        return 0.0
    return float(times.work[what[k, 1], t, w])
