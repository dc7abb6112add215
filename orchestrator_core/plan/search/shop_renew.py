"""What one move changes in a job shop: order, heads and tails of some of its tasks (stage 3).

A move changes the order only between the places of the two tasks that it is about, heads only
behind the first of them, and tails only before the last one.
"""

from __future__ import annotations

from orchestrator_core.plan.engine.compiled import inlined, inner
from orchestrator_core.plan.engine.project import Project
from orchestrator_core.plan.search.shop_state import Shop, longest_end, write_heads, write_tails

BOUND = -9
"""In `missing`: this task waits for the one that was moved, or is waited for by it."""


@inner
def renew(p: Project, s: Shop, low: int, high: int, forward: bool) -> float:
    """The makespan after task `low` was laid behind `high` on their machine (forward), or `high`
    before `low`, where the order was right before."""
    first, last = s.spot[low], s.spot[high]
    if forward:
        _carry_back(p, s, first, last)
    else:
        _carry_forth(p, s, first, last)
    for i in range(first, last + 1):
        s.missing[s.top[i]] = 0
        s.spot[s.top[i]] = i
    write_heads(p, s, first)
    write_tails(p, s, last)
    return longest_end(s)


@inlined
def _carry_back(p: Project, s: Shop, first: int, last: int) -> None:
    """Put the task at the first place, and all up to the last place that wait for it, behind what
    does not."""
    s.missing[s.top[first]] = BOUND
    kept, moved = first, 0
    for i in range(first, last + 1):
        t = s.top[i]
        bound = i == first or (s.before[t] >= 0 and s.missing[s.before[t]] == BOUND)
        for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
            bound = bound or s.missing[p.in_task[k]] == BOUND
        if bound:
            s.missing[t] = BOUND
            s.path[moved] = t
            moved += 1
        else:
            s.top[kept] = t
            kept += 1
    for i in range(moved):
        s.top[kept + i] = s.path[i]


@inlined
def _carry_forth(p: Project, s: Shop, first: int, last: int) -> None:
    """Put the task at the last place, and all down to the first place that it waits for, before
    what it does not wait for."""
    s.missing[s.top[last]] = BOUND
    kept, moved = last, 0
    for i in range(last, first - 1, -1):
        t = s.top[i]
        bound = i == last or (s.after[t] >= 0 and s.missing[s.after[t]] == BOUND)
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            bound = bound or s.missing[p.out_task[k]] == BOUND
        if bound:
            s.missing[t] = BOUND
            s.path[moved] = t
            moved += 1
        else:
            s.top[kept] = t
            kept -= 1
    for i in range(moved):
        s.top[kept - i] = s.path[i]
