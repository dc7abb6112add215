"""Moves of the walk over order, places and modes, and the tasks that they had better change."""

from __future__ import annotations

import numpy as np

from orchestrator_core.plan.engine.compiled import inner
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.placing import Placed
from orchestrator_core.plan.search.general_solution import NEXT, Walk


@inner
def _cause(p: Problem, placed: Placed, t: int) -> int:
    """The task that t seems to wait for: the producer whose output comes last, or one that ends
    later than that on its worker; -1 for none."""
    latest, cause, b, start = 0.0, -1, placed.worker[t], placed.start[t]
    for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
        q = p.in_task[k]
        a, there = placed.worker[q], placed.end[q]
        if a != b:
            there += p.latency[a, b] + p.in_bytes[k] * (p.per_byte[a, b] + p.encode[a, b])
        if there >= latest:
            latest, cause = there, q
    if cause < 0 or latest < start - 1e-9 * (1.0 + start):
        for q in range(len(p.task)):
            same = placed.worker[q] == b and placed.start[q] < start
            if same and latest <= placed.end[q] <= start + 1e-12:
                latest, cause = placed.end[q], q
    return cause


@inner
def follow(p: Problem, x: Walk, placed: Placed) -> None:
    """Walk back from the task that ends last, or latest after its deadline, along what it seems
    to wait for; write the tasks met into the chain."""
    n, t, worst = len(p.task), 0, -np.inf
    for other in range(n):
        late = placed.end[other]
        if placed.end[other] > p.deadline[other] + 1e-9:
            late += 1e9
        if late > worst:
            t, worst = other, late
    count = 0
    while t >= 0 and count < n:
        x.chain[count] = t
        count += 1
        t = _cause(p, placed, t)
    x.state[3] = count


@inner
def _shift(p: Problem, x: Walk, t: int) -> None:
    """Move task t of the next solution to a random place between producers and consumers."""
    low, high = 0, len(p.task) - 1
    for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
        low = max(low, x.place[p.in_task[k]] + 1)
    for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
        high = min(high, x.place[p.out_task[k]] - 1)
    goal = np.random.randint(low, high + 1)
    i, order = x.place[t], x.order[NEXT]
    step = 1 if goal > i else -1
    while i != goal:
        other = order[i + step]
        order[i], x.place[other] = other, i
        i += step
    order[goal], x.place[t] = t, goal


@inner
def _settle(p: Problem, x: Walk, t: int, b: int) -> None:
    """Let task t of the next solution run on worker b, if it may; b = -1 frees it."""
    if b < 0:
        x.worker[NEXT, t], x.mode[NEXT, t] = -1, -1
    elif x.home[t, b] == 1:
        x.worker[NEXT, t] = b
        m = x.mode[NEXT, t]
        if m >= 0 and p.seconds[m, b] == np.inf:
            x.mode[NEXT, t] = -1


@inner
def _change_mode(p: Problem, x: Walk, t: int) -> None:
    """Let task t of the next solution run in any of its modes, or free it to find one."""
    m = np.random.randint(p.mode_begin[t], p.mode_end[t] + 1)
    if m == p.mode_end[t]:
        x.mode[NEXT, t] = -1
        return
    b, some = x.worker[NEXT, t], False
    for other in range(len(p.worker_threads)):
        some = some or p.seconds[m, other] < np.inf
    if some:
        x.mode[NEXT, t] = m
        if b >= 0 and p.seconds[m, b] == np.inf:
            x.worker[NEXT, t] = -1


@inner
def change(p: Problem, x: Walk, t: int, placed: Placed) -> None:
    """One random change of task t: its place in the order, its worker, its mode."""
    draw, w = np.random.random(), len(p.worker_threads)
    modes = p.mode_end[t] - p.mode_begin[t]
    if draw < 0.5 or (w == 1 and modes == 1):
        _shift(p, x, t)
    elif modes > 1 and (draw < 0.65 or w == 1):
        _change_mode(p, x, t)
    elif draw < 0.75 and p.in_ptr[t + 1] > p.in_ptr[t]:
        q = p.in_task[np.random.randint(p.in_ptr[t], p.in_ptr[t + 1])]
        _settle(p, x, t, placed.worker[q])
    elif draw < 0.85:
        _settle(p, x, t, -1)
    else:
        _settle(p, x, t, np.random.randint(0, w))
