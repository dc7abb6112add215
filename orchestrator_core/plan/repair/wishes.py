"""Wishes: the moments by which the rest is ordered, near its planned starts (stage 3, repair)."""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.repair.rest import WAITING


@compiled
def wishes(p: Problem, now: float, status: Ints, seconds: Floats, wish: Floats) -> None:
    """Complete the starts by which waiting tasks are ordered; producers never come after consumers.

    Args:
        seconds: (n,) shortest durations.
        wish: (n,) planned starts, infinity where there is none. Such a task goes before the first
            of its consumers that has one, by its own duration. If it has no such consumer, it goes
            as soon as its producers allow where it has a deadline, or else before the first planned
            task from which a shorter path leads to the end.
    """
    n = len(status)
    new, path = wish == np.inf, np.zeros(n)
    for x in range(n - 1, -1, -1):
        t = p.topological[x]
        if status[t] != WAITING:
            continue
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            other = p.out_task[k]
            if status[other] == WAITING:
                path[t] = max(path[t], path[other])
                wish[t] = min(wish[t], wish[other] - (seconds[t] if new[t] else 0.0))
        path[t] += seconds[t]
    planned = np.empty(0, dtype=np.int64)
    if ((status == WAITING) & (wish == np.inf)).any():
        planned = np.flatnonzero((status == WAITING) & (wish < np.inf))
        planned = planned[np.argsort(wish[planned])]
    for t in p.topological:
        if status[t] != WAITING or wish[t] < np.inf:
            continue
        wish[t] = now
        for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
            q = p.in_task[k]
            if status[q] == WAITING:
                wish[t] = max(wish[t], wish[q] + seconds[q])
        if p.deadline[t] == np.inf and len(planned) > 0:
            before = wish[planned[-1]] + 1.0
            for q in planned:
                if path[q] < path[t]:
                    before = wish[q]
                    break
            wish[t] = max(wish[t], before)
    for x in range(n - 1, -1, -1):
        t = p.topological[x]
        if status[t] == WAITING:
            for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
                if status[p.out_task[k]] == WAITING:
                    wish[t] = min(wish[t], wish[p.out_task[k]])
