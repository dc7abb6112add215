"""Claims: what the rows of the window program are, and what they prove. Compiled (stage 3).

A row is a *claim*: numbers from which the row follows, given a state.

=======  ======================  ==============================================================
claim    numbers                 what it says of the split x and the makespan T
=======  ======================  ==============================================================
WINDOW   kind, worker, s, u      work in the window <= T - min(s + u, known)
ROUNDED  kind, worker, s, u, d   d (1 - f) (whole(work) - k) <= T - known, see below
PATH     task                    sum over w of x times the shortest schedule with it on w <= T
=======  ======================  ==============================================================

A window without a task of its own proves nothing by itself, so that s + u counts only up to what is
known anyway.

A split may give a worker five and a half of eleven equal tasks; a schedule does not. A makespan as
long as what is known leaves a window room for r = known - s - u, of which k = floor(r / d) tasks of
d seconds leave f d. In any case the work in it is at most r + T - known. So for whole tasks, by
mixed-integer rounding (G. L. Nemhauser and L. A. Wolsey, A recursive procedure to generate all cuts
for 0-1 mixed integer programs, 1990), in units of d,
``sum of whole(work) <= k + (T - known) / (1 - f)`` where
``whole(a) = floor(a) + max(0, a - floor(a) - f) / (1 - f)``.

`known` may be a guess: what then proves more than the guess proves it in any case. If some schedule
were shorter than the guess, its own split would keep all rows for a makespan as long as the guess,
and nothing longer could be proven.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds.choices import Choices
from orchestrator_core.plan.engine.compiled import inner

WINDOW, PATH, ROUNDED = 0, 1, 2

MORE_ROOM = 1e-7
"""Part of what is known by which room is taken for larger, so that what fills it fits surely."""

LEAST_PART = 1e-6
"""Of a task that has no room any more: less counts as none."""


class Rounding(NamedTuple):
    """By what a claim rounds; all zeros where it does not.

    Attributes:
        unit: d, seconds. whole: k. part: f, below 1.
    """

    unit: float
    whole: float
    part: float


class Rows(NamedTuple):
    """Claims as the rows of a program.

    Attributes:
        what, span: see `Claims`. rounding: (k, 3) their `Rounding`.
    """

    what: Ints
    span: Floats
    rounding: Floats


class Times(NamedTuple):
    """What claims are about.

    Attributes:
        work: (kinds, n, w), see `Relaxation`. head, tail: (n, w), see `State`.
        through: (n, w) seconds that no schedule is shorter than in which the task runs there.
        known: seconds > 0 that no schedule is shorter than, or a guess.
    """

    work: Floats
    head: Floats
    tail: Floats
    through: Floats
    known: float


@inner
def rounding_of(known: float, since: float, until: float, unit: float) -> Rounding:
    """By what the room of a window, if the makespan is `known`, is rounded in units of `unit` > 0
    seconds."""
    room = max(0.0, known - since - until) + MORE_ROOM * known
    whole = np.floor(room / unit)
    return Rounding(unit, whole, room / unit - whole)


@inner
def in_whole_tasks(work: float, by: Rounding) -> float:
    """The seconds that a rounded claim counts of a whole task of so much work."""
    left = 1.0 - by.part
    if left < LEAST_PART:
        return 0.0
    units = work / by.unit
    whole = np.floor(units)
    return float(by.unit * (left * whole + max(0.0, units - whole - by.part)))


@inner
def claimed_rows(times: Times, what: Ints, span: Floats) -> Rows:
    """The claims, and by what they round."""
    rounding = np.zeros((len(what), 3))
    for k in range(len(what)):
        if what[k, 0] == ROUNDED:
            by = rounding_of(times.known, span[k, 0], span[k, 1], span[k, 2])
            rounding[k, 0], rounding[k, 1], rounding[k, 2] = by.unit, by.whole, by.part
    return Rows(what, span, rounding)


@inner
def rows_of(
    choices: Choices, times: Times, rows: Rows, ptr: Ints, b: Floats
) -> tuple[Ints, Floats]:
    """(row, value) of the columns by `ptr`, and `b`, in units of `known`; of settled tasks the
    variables are put into `b`."""
    for k in range(len(rows.what)):
        b[k] = 1.0 - _given(times, rows, k) / times.known
    ptr[0] = 0
    for v in range(len(choices.task)):
        ptr[v + 1] = ptr[v]
        for k in range(len(rows.what)):
            seconds = _claimed(choices, times, rows, v, k)
            if choices.settled[v]:
                b[k] -= seconds / times.known
            elif seconds > 0:
                ptr[v + 1] += 1
    row, value = np.empty(ptr[-1], dtype=np.int64), np.empty(ptr[-1])
    for v in range(len(choices.task)):
        at = ptr[v]
        for k in range(len(rows.what)):
            if at == ptr[v + 1]:
                break
            seconds = _claimed(choices, times, rows, v, k)
            if seconds > 0:
                row[at], value[at] = k, seconds / times.known
                at += 1
    return row, value


@inner
def proven(choices: Choices, times: Times, rows: Rows, y: Floats) -> float:
    """What multipliers prove, added up anew: the prices of the cheapest worker of each task."""
    total = 0.0
    for k in range(len(rows.what)):
        total += y[k] * _given(times, rows, k)
    for t in range(len(choices.first) - 1):
        cheapest = np.inf
        for v in range(choices.first[t], choices.first[t + 1]):
            price = 0.0
            for k in range(len(rows.what)):
                if y[k] != 0.0:
                    price += y[k] * _claimed(choices, times, rows, v, k)
            cheapest = min(cheapest, price)
        total += cheapest
    return total


@inner
def _given(times: Times, rows: Rows, k: int) -> float:
    """The seconds that claim k counts whatever the split is."""
    if rows.what[k, 0] == PATH:
        return 0.0
    if rows.what[k, 0] == WINDOW:
        return float(min(times.known, rows.span[k, 0] + rows.span[k, 1]))
    unit, whole, part = rows.rounding[k]
    return float(times.known - unit * (1.0 - part) * whole)


@inner
def _claimed(choices: Choices, times: Times, rows: Rows, v: int, k: int) -> float:
    """The seconds that claim k counts of variable v."""
    t, w = choices.task[v], choices.worker[v]
    if rows.what[k, 0] == PATH:
        return float(times.through[t, w]) if t == rows.what[k, 1] else 0.0
    if w != rows.what[k, 2]:
        return 0.0
    if times.head[t, w] < rows.span[k, 0] or times.tail[t, w] < rows.span[k, 1]:
        return 0.0
    work = times.work[rows.what[k, 1], t, w]
    if rows.what[k, 0] == WINDOW:
        return float(work)
    unit, whole, part = rows.rounding[k]
    return in_whole_tasks(work, Rounding(unit, whole, part))
