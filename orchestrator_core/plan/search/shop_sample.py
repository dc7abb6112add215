"""A random schedule of a job shop, to begin from (stage 3)."""

from __future__ import annotations

import numpy as np

from orchestrator_core.plan.engine.compiled import inlined, inner
from orchestrator_core.plan.engine.project import Project
from orchestrator_core.plan.search.shop_state import Shop


@inner
def scatter(p: Project, s: Shop) -> None:
    """Let each machine run its tasks in the order in which random jobs go on."""
    _draw_order(p, s)
    for i in range(len(s.top)):
        t = s.top[i]
        s.before[t], s.after[t] = -1, -1
        for k in range(i - 1, -1, -1):
            other = s.top[k]
            if s.machine[t] >= 0 and s.machine[other] == s.machine[t]:
                s.before[t], s.after[other] = other, t
                break


@inlined
def _draw_order(p: Project, s: Shop) -> None:
    """Write a random order of the tasks into `top`, producers first."""
    n, count = len(s.top), 0
    for t in range(n):
        s.missing[t] = p.in_ptr[t + 1] - p.in_ptr[t]
        if s.missing[t] == 0:
            s.row[count] = t
            count += 1
    for i in range(n):
        x = np.random.randint(0, count)
        t = s.row[x]
        count -= 1
        s.row[x] = s.row[count]
        s.top[i] = t
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            c = p.out_task[k]
            s.missing[c] -= 1
            if s.missing[c] == 0:
                s.row[count] = c
                count += 1
